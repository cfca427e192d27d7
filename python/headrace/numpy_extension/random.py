"""``npx.random``: seeding, and samples for batches of parameters."""

from .. import _generator as _seeds
from .._catalogue import populate as _populate
from ..numpy.random import _sample

__all__ = ["seed", "bernoulli", "uniform_n", "normal_n"]


def seed(seed, ctx="all"):
    """Begins the random numbers anew, on all devices, as `random.seed` does. ValueError: `seed` is not an
    integer.

    Examples
    --------
    >>> npx.seed(1)
    >>> first = np.random.uniform(size=4)
    >>> npx.seed(1)
    >>> bool((np.random.uniform(size=4) == first).all())
    True
    """
    _seeds.seed(seed, ctx)


def bernoulli(prob=None, logit=None, size=None, dtype=None, ctx=None, out=None):
    """Zeros and ones, ones with probability ``prob`` or ``sigmoid(logit)``; float32 unless ``dtype`` says
    otherwise.

    Raises
    ------
    ValueError
        Unless exactly one of ``prob`` and ``logit`` is given, or for a probability outside [0, 1].

    Examples
    --------
    >>> samples = npx.random.bernoulli(prob=0.3, size=10000)
    >>> np.unique(samples), round(samples.mean().item(), 1)
    (array([0., 1.]), 0.3)
    """
    if (prob is None) == (logit is None):
        raise ValueError("random.bernoulli: give either prob or logit")
    attributes = {"dtype": dtype or "float32", "is_logit": prob is None}
    return _sample("_npi_bernoulli", {"prob": prob, "logit": logit}, size, ctx, out, **attributes)


def uniform_n(low=0.0, high=1.0, batch_shape=None, dtype=None, ctx=None):
    """Uniform samples of shape ``batch_shape`` followed by the shape that the parameters broadcast to.

    Examples
    --------
    >>> npx.random.uniform_n(np.array([0, 10]), np.array([1, 20]), batch_shape=(5,)).shape
    (5, 2)
    """
    parameters = {"low": low, "high": high}
    return _sample("_npi_uniform_n", parameters, batch_shape, ctx, dtype=dtype or "float32")


def normal_n(loc=0.0, scale=1.0, batch_shape=None, dtype=None, ctx=None):
    """Normal samples of shape ``batch_shape`` followed by the shape that the parameters broadcast to.

    Examples
    --------
    >>> npx.random.normal_n(np.array([0, 10]), 1, batch_shape=(5,)).shape
    (5, 2)
    """
    parameters = {"loc": loc, "scale": scale}
    return _sample("_npi_normal_n", parameters, batch_shape, ctx, dtype=dtype or "float32")


__all__ += _populate(globals(), "npx.random")
