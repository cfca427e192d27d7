"""The generators of random numbers: seeding, and which kind."""

from . import _core

__all__ = ["seed", "set_generator", "generator"]


def seed(seed_state, ctx="all"):
    """Seeds the generator, which serves all devices: ``ctx``, a context of MXNet's programs, changes nothing.

    Raises
    ------
    ValueError
        When ``seed_state`` is not an integer.

    Examples
    --------
    >>> mx.random.seed(42)
    >>> first = nd.random.uniform(shape=(3,))
    >>> mx.random.seed(42)
    >>> (nd.random.uniform(shape=(3,)) == first).asnumpy().all().item()
    True
    """
    if isinstance(seed_state, bool) or not hasattr(seed_state, "__index__"):
        raise ValueError(f"seed: the seed must be an integer, got {seed_state!r}")
    number = seed_state.__index__()
    if not -(2**63) <= number < 2**63:
        raise ValueError(f"seed: the seed must be from -2^63 to 2^63 - 1, got {number}")
    _core.seed(number)


def set_generator(name):
    """Chooses the generator of the whole process.

    'philox' (default): counter-based; a seed gives the same numbers whatever the number of threads.
    'mt19937': the streams of MXNet 1.9.1 on the CPU, which give its uniform, normal and integer numbers, one
    by one (default under ``python -m headrace.mxnet``).

    Examples
    --------
    >>> mx.random.set_generator("mt19937")
    >>> mx.random.seed(0)
    >>> nd.random.uniform(shape=(3,))  # what MXNet 1.9.1 gives on a CPU
    [0.5488135  0.5928446  0.71518934]
    <NDArray 3 @cpu(0)>
    >>> mx.random.set_generator("philox")
    """
    _core.set_generator(name)


def generator():
    """Name of the process's generator: 'philox' or 'mt19937'; see `set_generator`.

    Examples
    --------
    >>> mx.random.set_generator("philox")
    >>> mx.random.generator()
    'philox'
    """
    return _core.generator()
