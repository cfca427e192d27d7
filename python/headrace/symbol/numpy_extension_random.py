"""``npx.random`` on symbols: samples for batches of parameters."""

import math

from . import calls, numpy_random

__all__ = ["bernoulli", "normal_n", "uniform_n"]


def bernoulli(prob=None, logit=None, size=None, dtype=None, ctx=None, out=None):
    """Zeros and ones, ones with probability ``prob`` or ``sigmoid(logit)``; float32 unless ``dtype`` says
    otherwise.

    Raises
    ------
    ValueError
        Unless exactly one of ``prob`` and ``logit`` is given.
    """
    if (prob is None) == (logit is None):
        raise ValueError("random.bernoulli: give either prob or logit")
    if prob is None:
        if calls.is_symbol(logit):
            prob = calls.function("sigmoid", np=True)(logit)
        else:
            prob = 1 / (1 + math.exp(-logit))
    return numpy_random._distribution("bernoulli", (prob,), size, dtype, ctx)


def _batch(sample, parameters, batch_shape, dtype, ctx):
    """Samples of shape ``batch_shape`` followed by that of the parameters."""
    batch = numpy_random._shape(batch_shape)
    if not any(map(calls.is_symbol, parameters)):
        return sample(*parameters, batch, dtype, ctx)
    common = numpy_random._common(parameters, None)
    if batch:
        rows = [calls.function("expand_dims", np=True)(one, axis=0) for one in common]
        common = [calls.function("repeat", np=True)(one, repeats=math.prod(batch), axis=0) for one in rows]
    samples = sample(*common, None, dtype, ctx)
    for i, extent in enumerate(batch[:-1]):  # the first axis is cut into those of the batch
        codes = (*(-2,) * i, -6, extent, -1, -4)
        samples = calls.function("_npx_reshape", "reshape", True)(samples, newshape=codes)
    return samples


def uniform_n(low=0.0, high=1.0, batch_shape=None, dtype=None, ctx=None):
    """Uniform samples of shape ``batch_shape`` followed by the shape that the parameters broadcast to."""
    return _batch(numpy_random.uniform, (low, high), batch_shape, dtype, ctx)


def normal_n(loc=0.0, scale=1.0, batch_shape=None, dtype=None, ctx=None):
    """Normal samples of shape ``batch_shape`` followed by the shape that the parameters broadcast to."""
    return _batch(numpy_random.normal, (loc, scale), batch_shape, dtype, ctx)
