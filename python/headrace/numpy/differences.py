"""np functions of neighbours and polynomials, and places that are left out or put in."""

import math

import numpy as _numpy

from .. import _core
from ..base import ArrayIndexError
from ..ndarray.ndarray import NDArray
from ._axes import normalized_axes
from ._operands import is_symbol, operand, shape_of
from .multiarray import array, call_on_host
from .multiarray import front_end as _np

__all__ = ["delete", "diag_indices_from", "diff", "ediff1d", "insert", "msort", "polyval", "unravel_index"]

_delete = _core.function("_npi_delete", True)
_diag_indices_from = _core.function("_npi_diag_indices_from", True)
_diff = _core.function("_npi_diff", True)
_ediff1d = _core.function("_npi_ediff1d", True)
_insert = {kind: _core.function("_npi_insert_" + kind, True) for kind in ("scalar", "slice", "tensor")}
_polyval = _core.function("_npi_polyval", True)
_unravel_index = _core.function("_unravel_index", True)


def _edge(values, a, axis):
    """What goes before or after an array along an axis: a scalar is one element at each place."""
    if is_symbol(values) or is_symbol(a):
        return operand(values)
    values = operand(values, a.dtype, a)
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
    prepend, append : array or scalar that goes before or after ``a`` along the axis first; of symbols a
        symbol.

    Raises
    ------
    ValueError
        For a scalar array, a negative n or an axis out of range.

    Examples
    --------
    >>> np.diff(np.array([1, 4, 9, 16])), np.diff(np.array([1, 4, 9, 16]), n=2)
    (array([3., 5., 7.]), array([2., 2.]))
    """
    a = operand(a)
    if n != 0 and (prepend is not None or append is not None):
        if shape_of(a) is not None:
            (axis,) = normalized_axes(axis, a.ndim, "diff")
        before, after = [[] if v is None else [_edge(v, a, axis)] for v in (prepend, append)]
        a = _np().concatenate([*before, a, *after], axis=axis)
    return _diff(a, n=n, axis=axis)


def ediff1d(ary, to_end=None, to_begin=None):
    """Differences of neighbours of the flattened array, between the values of ``to_begin`` and ``to_end``.

    Examples
    --------
    >>> np.ediff1d(np.array([[1, 2], [4, 7]]), to_begin=0)
    array([0., 1., 2., 3.])
    """
    ary = operand(ary)
    operands, attributes = [ary], {}
    for name, values in (("to_begin", to_begin), ("to_end", to_end)):
        is_number = values is None or _numpy.isscalar(values)
        if not is_number:
            operands.append(operand(values, getattr(ary, "dtype", None), ary))
        attributes |= {name + "_arr_given": not is_number, name + "_scalar": values if is_number else None}
    return _ediff1d(*operands, **attributes)


def polyval(p, x):
    """The polynomial with the coefficients ``p``, that of the highest power first, at ``x``.

    Raises
    ------
    ValueError
        Unless ``p`` has one dimension.

    Examples
    --------
    >>> np.polyval(np.array([3, 0, 1]), np.array([0, 1, 2]))  # 3 x^2 + 1
    array([ 1.,  4., 13.])
    """
    x = operand(x)
    return _polyval(operand(p, beside=x), x)


def msort(a):
    """A copy of ``a`` sorted along its first axis. ValueError: it has no axis.

    Examples
    --------
    >>> np.msort(np.array([[3, 1], [2, 4]]))
    array([[2., 1.],
           [3., 4.]])
    """
    return _np().sort(operand(a), axis=0)


def _is_whole(obj, host):
    """Whether an array, which np.array([1, 3]) makes of float32, holds integers all the same."""
    return isinstance(obj, NDArray) and (host == host.astype("int64")).all()


def _places(obj, arr, name):
    """(kind, operands, attributes) of places: a number, a slice, or an array of them, bools among them."""
    if isinstance(obj, slice):
        step = 1 if obj.step is None else obj.step
        return "slice", (), {"start": obj.start, "stop": obj.stop, "step": step}
    if is_symbol(obj):
        return "tensor", (obj,), {}
    if hasattr(obj, "__index__") and not isinstance(obj, (NDArray, bool)) and _numpy.ndim(obj) == 0:
        return "scalar", (), {"int_ind": int(obj)}
    host = obj.asnumpy() if isinstance(obj, NDArray) else _numpy.asarray(obj)
    if host.dtype == bool:
        host = _numpy.flatnonzero(host)
    elif host.size > 0 and host.dtype.kind not in "iu" and not _is_whole(obj, host):
        raise TypeError(f"{name}: places must be integers, a slice or an array of them, got {host.dtype}")
    return "tensor", (array(host.reshape(-1), "int64", getattr(arr, "ctx", None)),), {}


def delete(arr, obj, axis=None):
    """The array without the places ``obj`` along an axis; None: of the flattened array.

    Parameters
    ----------
    obj : an integer, a slice, an array of integers or, of arrays, of bools. Its values are waited for.
        Those of an np array that are out of range count for nothing, as in MXNet.

    Raises
    ------
    IndexError
        For another place out of range.
    TypeError
        For places of another kind.

    Examples
    --------
    >>> np.delete(np.array([[1, 2, 3], [4, 5, 6]]), 1, axis=1)
    array([[1., 3.],
           [4., 6.]])
    """
    arr = operand(arr)
    kind, places, attributes = _places(obj, arr, "delete")
    if kind == "tensor" and isinstance(places[0], NDArray) and not isinstance(obj, NDArray):
        _check_places(places[0].asnumpy(), arr, axis)
    return _delete(arr, *places, **attributes, axis=axis)


def _check_places(places, arr, axis):
    shape = shape_of(arr)
    if shape is None:
        return
    extent = math.prod(shape) if axis is None else shape[axis]
    outside = places[(places < -extent) | (places >= extent)]
    if outside.size > 0:
        raise ArrayIndexError(f"delete: index {outside[0]} is out of bounds for an axis of extent {extent}")


def insert(arr, obj, values, axis=None):
    """The array with ``values`` before the places ``obj`` along an axis; see `delete`.

    ``values`` are a number, or an array that broadcasts to what goes in; they take the dtype of ``arr``.
    IndexError: a place is out of bounds.

    Examples
    --------
    >>> np.insert(np.array([1, 2, 3]), 1, 9)
    array([1., 9., 2., 3.])
    """
    arr = operand(arr)
    if isinstance(obj, slice) and isinstance(arr, NDArray):
        extent = arr.size if axis is None else arr.shape[axis]
        places = range(extent)[obj]
        obj = [places[0]] if len(places) == 1 else obj  # before one place any number of values may go
    kind, places, attributes = _places(obj, arr, "insert")
    if _numpy.isscalar(values):
        attributes["val"] = values
    else:
        values = operand(values, getattr(arr, "dtype", None), arr)
        if isinstance(values, NDArray) and isinstance(arr, NDArray):
            while values.ndim > (1 if axis is None else arr.ndim) and values.shape[0] == 1:
                values = values[0]  # as assignments leave leading extents of 1 out of account
        if kind == "tensor" and isinstance(arr, NDArray) and places[0].size == 1:
            extents = (1,) * (arr.ndim - values.ndim) + values.shape
            places = (_np().repeat(places[0], extents[-1 if axis is None else axis]),)
        places = (values, *places)
    return _insert[kind](arr, *places, **attributes, axis=axis)


def unravel_index(indices, shape, order="C"):
    """Places in an array of ``shape`` for flat indices: a tuple with an array for each axis, of symbols a
    symbol with a row for each.

    Raises
    ------
    NotImplementedError
        For symbols, an ``order`` other than row-major.
    ValueError
        For an index out of range in an array, which is waited for.

    Examples
    --------
    >>> np.unravel_index(np.array([1, 5], dtype="int64"), (2, 3))
    (array([0, 1], dtype=int64), array([1, 2], dtype=int64))
    """
    if not is_symbol(indices):
        found = call_on_host(_numpy.unravel_index, (indices, shape), {"order": order})
        return (
            tuple(operand(one, "int64", indices) for one in found) if isinstance(indices, NDArray) else found
        )
    if order != "C":
        raise NotImplementedError("unravel_index: only order='C', row-major, is there")
    return _unravel_index(indices, shape=shape)


def diag_indices_from(arr):
    """Places of the main diagonal of ``arr``: a tuple with an array for each axis, of a symbol a symbol with
    a row for each.

    Raises
    ------
    ValueError
        Unless there are two or more dimensions, of one extent.

    Examples
    --------
    >>> a = np.arange(9).reshape(3, 3)
    >>> a[np.diag_indices_from(a)]
    array([0., 4., 8.])
    """
    found = _diag_indices_from(operand(arr))
    return found if is_symbol(arr) else tuple(found)
