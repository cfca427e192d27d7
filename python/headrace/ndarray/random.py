"""Random arrays of the legacy front end. Parameters may be numbers, or arrays that give one distribution each."""

from .. import _core
from .._catalogue import populate as _populate
from .ndarray import NDArray

_populated = _populate(globals(), "nd.random")


def _draw(distribution, parameters, shape, dtype, ctx, out):
    """Samples of `_random_<distribution>`, or of `_sample_<distribution>` when parameters are arrays."""
    arrays = [value for value in parameters.values() if isinstance(value, NDArray)]
    options = {}
    if shape is not None:
        options["shape"] = shape
    if dtype is not None:
        options["dtype"] = dtype
    if arrays:
        if len(arrays) != len(parameters):
            raise ValueError(
                f"random.{distribution}: the parameters {', '.join(parameters)} must all be numbers or all be arrays"
            )
        return _core.function("_sample_" + distribution, False)(*parameters.values(), out=out, **options)
    if ctx is not None:
        options["ctx"] = ctx
    return _core.function("_random_" + distribution, False)(**parameters, out=out, **options)


def uniform(low=0, high=1, shape=None, dtype=None, ctx=None, out=None, **kwargs):
    """Samples of the uniform distribution on [low, high)."""
    return _draw("uniform", {"low": low, "high": high}, shape, dtype, ctx, out)


def normal(loc=0, scale=1, shape=None, dtype=None, ctx=None, out=None, **kwargs):
    """Samples of the normal distribution with mean ``loc`` and standard deviation ``scale``."""
    if isinstance(loc, NDArray) or isinstance(scale, NDArray):
        return _draw("normal", {"mu": loc, "sigma": scale}, shape, dtype, ctx, out)
    return _draw("normal", {"loc": loc, "scale": scale}, shape, dtype, ctx, out)


def randn(*shape, **kwargs):
    """Samples of the normal distribution; ``loc``, ``scale``, ``dtype``, ``ctx`` and ``out`` are keywords."""
    return normal(shape=shape or (1,), **kwargs)


__all__ = ["uniform", "normal", "randn", *_populated]
