"""Sums, products, extremes and moments."""

import numpy as _numpy

from .. import numpy as _np
from ._creation import asarray

__all__ = [
    "all",
    "any",
    "argmax",
    "argmin",
    "count_nonzero",
    "cumulative_prod",
    "cumulative_sum",
    "diff",
    "max",
    "mean",
    "min",
    "prod",
    "std",
    "sum",
    "var",
]


def _accumulator(x, dtype):
    """Small integers add up in 64 bits."""
    if dtype is not None:
        return _numpy.dtype(dtype)
    return _numpy.dtype({"i": "int64", "u": "uint64", "b": "int64"}.get(x.dtype.kind, x.dtype))


def sum(x, /, *, axis=None, dtype=None, keepdims=False):
    """The sum over axes; of integers in 64 bits."""
    return _np.sum(x.astype(_accumulator(x, dtype)), axis=axis, keepdims=keepdims)


def prod(x, /, *, axis=None, dtype=None, keepdims=False):
    """The product over axes; of integers in 64 bits."""
    return _np.prod(x.astype(_accumulator(x, dtype)), axis=axis, keepdims=keepdims)


def max(x, /, *, axis=None, keepdims=False):
    """The largest element over axes."""
    return _np.max(x, axis=axis, keepdims=keepdims)


def min(x, /, *, axis=None, keepdims=False):
    """The smallest element over axes."""
    return _np.min(x, axis=axis, keepdims=keepdims)


def mean(x, /, *, axis=None, keepdims=False):
    """The arithmetic mean over axes."""
    return _np.mean(x, axis=axis, keepdims=keepdims)


def var(x, /, *, axis=None, correction=0.0, keepdims=False):
    """The variance over axes: squares add up to N - correction of it."""
    return _np.var(x, axis=axis, ddof=correction, keepdims=keepdims)


def std(x, /, *, axis=None, correction=0.0, keepdims=False):
    """The square root of `var`."""
    return _np.std(x, axis=axis, ddof=correction, keepdims=keepdims)


def all(x, /, *, axis=None, keepdims=False):
    """Whether all elements are true, over axes; None: over all of them. Gives bool."""
    return _np.all(x, axis=axis, keepdims=keepdims)


def any(x, /, *, axis=None, keepdims=False):
    """Whether one element is true, over axes; None: over all of them. Gives bool."""
    return _np.any(x, axis=axis, keepdims=keepdims)


def count_nonzero(x, /, *, axis=None, keepdims=False):
    """How many elements are not zero, over axes: int64."""
    return sum((x != 0).astype("int64"), axis=axis, keepdims=keepdims)


def _place(compute, x, axis, keepdims):
    found = compute(x, axis=axis)
    if not keepdims:
        return found
    return found.reshape((1,) * x.ndim) if axis is None else _np.expand_dims(found, axis)


def argmax(x, /, *, axis=None, keepdims=False):
    """Where the first of the largest elements is along an axis, or in all of the flattened array: int64."""
    return _place(_np.argmax, x, axis, keepdims)


def argmin(x, /, *, axis=None, keepdims=False):
    """Where the first of the smallest elements is along an axis, or in all of the flattened array: int64."""
    return _place(_np.argmin, x, axis, keepdims)


def _cumulative(compute, start, x, axis, dtype, include_initial):
    axis = 0 if axis is None else axis
    values = compute(x.astype(_accumulator(x, dtype)), axis)
    if not include_initial:
        return values
    shape = list(x.shape)
    shape[axis] = 1
    return _np.concatenate([_np.full(shape, start, dtype=values.dtype, ctx=x.ctx), values], axis=axis)


def cumulative_sum(x, /, *, axis=None, dtype=None, include_initial=False):
    """Sums of the elements up to each, along an axis; with 0 in front if asked for.

    Examples
    --------
    >>> from headrace import array_api as xp
    >>> xp.cumulative_sum(xp.asarray([2, 3, 4]))
    array([2, 5, 9], dtype=int64)
    """
    return _cumulative(lambda values, a: _np.cumsum(values, axis=a), 0, x, axis, dtype, include_initial)


def cumulative_prod(x, /, *, axis=None, dtype=None, include_initial=False):
    """Products of the elements up to each, along an axis, computed by NumPy; with 1 in front if asked for.

    Examples
    --------
    >>> from headrace import array_api as xp
    >>> xp.cumulative_prod(xp.asarray([2, 3, 4]), include_initial=True)
    array([ 1,  2,  6, 24], dtype=int64)
    """

    def compute(values, along):
        return asarray(_numpy.cumprod(values.asnumpy(), axis=along, dtype=values.dtype), device=x.ctx)

    return _cumulative(compute, 1, x, axis, dtype, include_initial)


def diff(x, /, *, axis=-1, n=1, prepend=None, append=None):
    """The n-th differences of neighbours along an axis, whose extent becomes smaller by n."""
    return _np.diff(x, n=n, axis=axis, prepend=prepend, append=append)
