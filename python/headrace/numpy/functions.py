"""np functions that make arrays or symbols of one value, choose between two, or give axes to several."""

import numpy as _numpy

from .. import _core
from ._operands import is_symbol, operand
from .multiarray import NDArray
from .multiarray import front_end as _np

__all__ = [
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "full",
    "full_like",
    "linspace",
    "ones_like",
    "where",
    "zeros_like",
]

_atleast = {axes: _core.function(f"_np_atleast_{axes}d", True) for axes in (1, 2, 3)}
_broadcast_to = _core.function("_npi_broadcast_to", True)
_full = _core.function("_npi_full", True)
_full_like = _core.function("_npi_full_like", True)
_linspace = _core.function("_npi_linspace", True)
_where = {
    kind: _core.function(name, True)
    for kind, name in {
        (False, False): "_npi_where",
        (True, False): "_npi_where_lscalar",
        (False, True): "_npi_where_rscalar",
        (True, True): "_npi_where_scalar2",
    }.items()
}


def full(shape, fill_value, dtype=None, order="C", ctx=None, out=None):
    """An array of one value, or of an array's values repeated to ``shape``; float32, of a bool bool, unless
    ``dtype``.

    Raises ValueError for a negative extent or an array that does not broadcast to ``shape``, TypeError for
    None.

    Examples
    --------
    >>> np.full((2, 2), 7)
    array([[7., 7.],
           [7., 7.]])
    """
    if _core.is_operand(fill_value):
        result = _broadcast_to(fill_value, shape)
        result = result if dtype is None else result.astype(dtype)
        return result if out is None else result.copyto(out)
    if fill_value is None:
        raise TypeError("np.full: expected a number or an array as fill_value, got None")
    if dtype is None:
        dtype = "bool" if isinstance(fill_value, (bool, _numpy.bool_)) else "float32"
    if isinstance(fill_value, (bool, _numpy.bool_)):
        fill_value = int(fill_value)
    return _full(shape, fill_value, dtype, order, ctx, out=out)


def linspace(start, stop, num=50, endpoint=True, retstep=False, dtype=None, axis=0, ctx=None):
    """``num`` evenly spaced values from ``start`` to ``stop``, which is one of them unless
    ``endpoint=False``; float32, unless ``dtype``.

    With ``retstep=True`` a tuple of the values and of their distance, a float: nan where there is none.
    ``axis`` is 0 or -1, as ``start`` and ``stop`` are numbers. Raises ValueError for a negative ``num``.

    Examples
    --------
    >>> np.linspace(0, 1, 5)
    array([0.  , 0.25, 0.5 , 0.75, 1.  ])
    >>> np.linspace(0, 1, 2, endpoint=False, retstep=True)
    (array([0. , 0.5]), 0.5)
    """
    values = _linspace(start, stop, num, endpoint, dtype, axis, ctx)
    if not retstep:
        return values
    gaps = num - 1 if endpoint else num
    return values, (stop - start) / gaps if gaps > 0 else _numpy.nan


def full_like(a, fill_value, dtype=None, order="C", ctx=None, out=None):
    """An array of one value with the shape of ``a``, and its dtype and device where none are given.

    A symbol's is where its array will be, whatever ``ctx`` says.

    Examples
    --------
    >>> np.full_like(np.array([1, 2], dtype="int32"), 7)
    array([7, 7], dtype=int32)
    """
    if ctx is not None and not is_symbol(a) and ctx != a.ctx:
        a = _np().empty(a.shape, dtype=a._dtype_name, ctx=ctx)
    if isinstance(fill_value, (bool, _numpy.bool_)):
        fill_value = int(fill_value)
    if isinstance(a, NDArray) and _is_beyond_floats(fill_value):
        return full(a.shape, fill_value, a._dtype_name if dtype is None else dtype, order, a.ctx, out)
    return _full_like(a, fill_value, dtype=dtype, order=order, out=out)


def zeros_like(a, dtype=None, order="C", ctx=None, out=None):
    """Zeros in the shape of ``a``, and its dtype and device where none are given; see `full_like`.

    Examples
    --------
    >>> np.zeros_like(np.array([5, 6], dtype="int32"))
    array([0, 0], dtype=int32)
    """
    return full_like(a, 0, dtype, order, ctx, out)


def ones_like(a, dtype=None, order="C", ctx=None, out=None):
    """Ones in the shape of ``a``, and its dtype and device where none are given; see `full_like`.

    Examples
    --------
    >>> np.ones_like(np.array([5, 6], dtype="int32"))
    array([1, 1], dtype=int32)
    """
    return full_like(a, 1, dtype, order, ctx, out)


def _is_number(value):
    return not isinstance(value, NDArray) and _numpy.isscalar(value)  # the first of them is soon said


def _is_beyond_floats(number):
    """Whether it is a whole number that no float64, as which numbers go to operators, holds."""
    return isinstance(number, (int, _numpy.integer)) and int(float(number)) != number


def _exact(number, other):
    return full((), number, other._dtype_name, ctx=other.ctx) if _is_beyond_floats(number) else number


def where(condition, x=None, y=None):
    """x where the condition is not zero, y elsewhere; the shapes are broadcast against each other.

    x and y may be numbers, which take the dtype of the other one. The gradient goes to what was chosen.
    Without both, of an array: the indices of the elements that are not zero, one array per axis. A number as
    condition, beside symbols, chooses one of the two as it is. Raises ValueError when only one is given, or
    none beside a symbol.

    Examples
    --------
    >>> np.where(np.array([True, False]), np.array([1, 2]), np.array([10, 20]))
    array([ 1., 20.])
    >>> np.where(np.array([0, 3, 0, 4]))
    (array([1, 3], dtype=int64),)
    """
    if x is None and y is None and not is_symbol(condition):
        return _np().nonzero(condition)
    if x is None or y is None:
        raise ValueError("where: give both x and y, or, beside an array with values, neither")
    if _is_number(condition) and (is_symbol(x) or is_symbol(y)):
        return x if condition else y
    if isinstance(y, NDArray):
        x = _exact(x, y)
    elif isinstance(x, NDArray):
        y = _exact(y, x)
    kind = (_is_number(x), _is_number(y))
    chosen = [one for one, is_number in zip((x, y), kind) if not is_number]
    numbers = [float(one) for one, is_number in zip((x, y), kind) if is_number]
    return _where[kind](condition, *chosen, *numbers)


def _with_axes(count, arrays):
    views = [_atleast[count](operand(one)) for one in arrays]
    return views[0] if len(views) == 1 else views


def atleast_1d(*arys):
    """Views of the arrays or symbols with at least one axis: one, or a list.

    A number becomes an array of shape (1,).

    Examples
    --------
    >>> np.atleast_1d(np.array(3)), np.atleast_1d(np.zeros((2, 2))).shape
    (array([3.]), (2, 2))
    """
    return _with_axes(1, arys)


def atleast_2d(*arys):
    """Views of the arrays or symbols with at least two axes: one, or a list.

    Shape (n,) becomes (1, n).

    Examples
    --------
    >>> np.atleast_2d(np.array([1, 2])).shape
    (1, 2)
    """
    return _with_axes(2, arys)


def atleast_3d(*arys):
    """Views of the arrays or symbols with at least three axes: one, or a list.

    Shape (n,) becomes (1, n, 1), and (m, n) becomes (m, n, 1).

    Examples
    --------
    >>> np.atleast_3d(np.array([[1, 2]])).shape
    (1, 2, 1)
    """
    return _with_axes(3, arys)
