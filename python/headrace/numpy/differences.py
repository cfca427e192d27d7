"""np functions of neighbours, polynomials and repetition that are put together from operators."""

import math

import numpy as _numpy

from .. import _core
from ..ndarray.ndarray import NDArray
from .multiarray import array
from .multiarray import front_end as _np
from .statistics import normalized_axes

__all__ = [
    "broadcast_arrays",
    "diff",
    "ediff1d",
    "in1d",
    "msort",
    "polyval",
    "resize",
    "trapz",
]


_diff = _core.function("_npi_diff", True)
_ediff1d = _core.function("_npi_ediff1d", True)
_polyval = _core.function("_npi_polyval", True)


def _array(values, dtype=None, ctx=None):
    return values if isinstance(values, NDArray) else array(values, dtype=dtype, ctx=ctx)


def _neighbours(a, axis):
    """All but the first and all but the last along an axis, counted from the front."""
    before = (slice(None),) * axis
    return a[before + (slice(1, None),)], a[before + (slice(None, -1),)]


def _edge(values, a, axis):
    """What goes before or after an array along an axis: a scalar is one element at each place."""
    values = _array(values, a.dtype, a.ctx)
    if values.ndim > 0:
        return values
    return _np().broadcast_to(values, tuple(1 if i == axis else n for i, n in enumerate(a.shape)))


def diff(a, n=1, axis=-1, prepend=None, append=None):
    """The n-th differences of neighbours along an axis.

    Parameters
    ----------
    a : array of at least one dimension.
    n : how often differences are taken; 0 gives the array itself.
    axis : of the differences; its extent becomes smaller by n.
    prepend, append : array or scalar that goes before or after ``a`` along the axis first.

    Raises
    ------
    ValueError
        For a scalar array, a negative n or an axis out of range.
    """
    a = _array(a)
    if a.ndim == 0:
        raise ValueError("diff: expected an array of at least one dimension, got a scalar")
    (axis,) = normalized_axes(axis, a.ndim, "diff")
    if n == 0:
        return a
    before, after = [[] if v is None else [_edge(v, a, axis)] for v in (prepend, append)]
    if before or after:
        a = _np().concatenate([*before, a, *after], axis=axis)
    return _diff(a, n=n, axis=axis)


def ediff1d(ary, to_end=None, to_begin=None):
    """Differences of neighbours of the flattened array, between the values of ``to_begin`` and ``to_end``."""
    ary = _array(ary)
    around = [_array(v, ary.dtype, ary.ctx) for v in (to_begin, to_end) if v is not None]
    return _ediff1d(
        ary, *around, to_begin_arr_given=to_begin is not None, to_end_arr_given=to_end is not None
    )


def trapz(y, x=None, dx=1.0, axis=-1):
    """The integral of ``y`` along an axis by the trapezoidal rule.

    Parameters
    ----------
    y : values.
    x : places of the values: of the shape of ``y``, or one-dimensional along the axis; None: ``dx`` apart.
    dx : distance of the values without ``x``.
    axis : along which to integrate.

    Raises
    ------
    ValueError
        For an axis out of range.
    """
    y = _array(y)
    (axis,) = normalized_axes(axis, y.ndim, "trapz")
    later, earlier = _neighbours(y, axis)
    if x is not None:
        x = _array(x, ctx=y.ctx)
        dx = diff(x, axis=axis if x.ndim > 1 else 0)
        if x.ndim == 1:
            dx = dx.reshape([-1 if i == axis else 1 for i in range(y.ndim)])
    return _np().sum((later + earlier) * dx * 0.5, axis=axis)


def polyval(p, x):
    """The polynomial with the coefficients ``p``, that of the highest power first, at ``x``.

    Raises
    ------
    ValueError
        Unless ``p`` has one dimension.
    """
    x = _array(x)
    return _polyval(_array(p, ctx=x.ctx), x)


def broadcast_arrays(*args):
    """The arrays, each stretched to the shape that all of them have together."""
    arrays = [_array(a) for a in args]
    shape = _numpy.broadcast_shapes(*(a.shape for a in arrays))
    return [_np().broadcast_to(a, shape) for a in arrays]


def resize(a, new_shape):
    """The elements of ``a`` in order, again and again, in a new shape."""
    a = _array(a)
    shape = (new_shape,) if isinstance(new_shape, int) else tuple(new_shape)
    count = math.prod(shape)
    if a.size == 0 or count == 0:
        return _np().zeros(shape, dtype=a.dtype)
    return _np().tile(a.ravel(), -(-count // a.size))[:count].reshape(shape)


def msort(a):
    """A copy of ``a`` sorted along its first axis."""
    return _np().sort(_array(a), axis=0)


def in1d(ar1, ar2, assume_unique=False, invert=False):
    """Whether each element of the flattened ``ar1`` is among ``ar2``."""
    return _np().isin(_array(ar1).ravel(), ar2, assume_unique=assume_unique, invert=invert)
