"""``npx.random``: seeding, and samples for batches of parameters."""

from .. import _core
from .. import _generator as _seeds
from .._catalogue import populate as _populate
from ..numpy import random as _random
from ..numpy.multiarray import ndarray

__all__ = ["seed", "bernoulli", "uniform_n", "normal_n"]

_sigmoid = _core.function("sigmoid", True)


def seed(seed, ctx="all"):
    """Begins the random numbers anew, on one device or on all, as `random.seed` does."""
    _seeds.seed(seed, ctx)


def bernoulli(prob=None, logit=None, size=None, dtype=None, ctx=None, out=None):
    """Zeros and ones, ones with probability ``prob`` or ``sigmoid(logit)``; float32 unless ``dtype`` says
    otherwise.

    Raises
    ------
    ValueError
        Unless exactly one of ``prob`` and ``logit`` is given, or for a probability outside [0, 1].
    """
    if (prob is None) == (logit is None):
        raise ValueError("random.bernoulli: give either prob or logit")
    if prob is None:
        if not isinstance(logit, ndarray):
            logit = _random.array(logit)
        prob = _sigmoid(logit)
    return _random._distribution("bernoulli", (prob,), size, dtype, ctx, out)


def _batch(batch_shape, *parameters):
    return (() if batch_shape is None else _random._shape(batch_shape)) + _random._shape(None, *parameters)


def uniform_n(low=0.0, high=1.0, batch_shape=None, dtype=None, ctx=None):
    """Uniform samples of shape ``batch_shape`` followed by the shape that the parameters broadcast to."""
    return _random.uniform(low, high, _batch(batch_shape, low, high), dtype, ctx)


def normal_n(loc=0.0, scale=1.0, batch_shape=None, dtype=None, ctx=None):
    """Normal samples of shape ``batch_shape`` followed by the shape that the parameters broadcast to."""
    return _random.normal(loc, scale, _batch(batch_shape, loc, scale), dtype, ctx)


__all__ += _populate(globals(), "npx.random")
