"""Random arrays of the NumPy front end."""

from .. import _core
from .._catalogue import populate as _populate

_populated = _populate(globals(), "np.random")


def _call(name, **options):
    return _core.function(name, True)(**{key: value for key, value in options.items() if value is not None})


def uniform(low=0.0, high=1.0, size=None, dtype=None, ctx=None, out=None):
    """Samples of the uniform distribution on [low, high)."""
    return _call("_npi_uniform", low=low, high=high, size=size, dtype=dtype, ctx=ctx, out=out)


def normal(loc=0.0, scale=1.0, size=None, dtype=None, ctx=None, out=None):
    """Samples of the normal distribution. Raises ValueError for a negative scale."""
    return _call("_npi_normal", loc=loc, scale=scale, size=size, dtype=dtype, ctx=ctx, out=out)


def rand(*size, **kwargs):
    """Samples of the uniform distribution on [0, 1)."""
    return uniform(size=size, **kwargs)


def randn(*size, **kwargs):
    """Samples of the standard normal distribution."""
    return normal(size=size, **kwargs)


__all__ = ["uniform", "normal", "rand", "randn", *_populated]
