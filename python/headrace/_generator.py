"""The generators of random numbers: seeding, and which kind."""

from . import _core

__all__ = ["seed", "set_generator", "generator"]


def seed(seed_state, ctx="all"):
    """Seeds the generators of all devices, or of one.

    Raises
    ------
    ValueError
        When ``seed_state`` is not an integer.
    """
    if isinstance(seed_state, bool) or not hasattr(seed_state, "__index__"):
        raise ValueError(f"seed: the seed must be an integer, got {seed_state!r}")
    number = seed_state.__index__()
    if not -(2**63) <= number < 2**63:
        raise ValueError(f"seed: the seed must be from -2^63 to 2^63 - 1, got {number}")
    _core.seed(number, -1 if isinstance(ctx, str) else ctx.device_id)


def set_generator(name):
    """Chooses the generator of the whole process.

    'philox' (default): counter-based; a seed gives the same numbers whatever the number of threads.
    'mt19937': the streams of MXNet 1.9.1 on the CPU, which give its uniform, normal and integer numbers, one
    by one (default under ``python -m headrace.mxnet``).
    """
    _core.set_generator(name)


def generator():
    """Name of the generator in use: 'philox' or 'mt19937'."""
    return _core.generator()
