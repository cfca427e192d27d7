"""np functions that are put together from operators, or whose arguments the catalogue cannot express."""

import numpy as _numpy

from .. import _core
from ..context import current_context
from ..ndarray.ndarray import NDArray
from .multiarray import array, ndarray
from .multiarray import front_end as _np

__all__ = [
    "asarray",
    "shape",
    "ndim",
    "size",
    "meshgrid",
    "may_share_memory",
    "shares_memory",
    "array_equal",
    "allclose",
    "isscalar",
    "result_type",
    "full",
    "full_like",
    "zeros_like",
    "ones_like",
    "empty_like",
    "unique",
    "where",
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
]

_full = _core.function("_npi_full", True)
_full_like = _core.function("_npi_full_like", True)
_atleast = {axes: _core.function(f"_np_atleast_{axes}d", True) for axes in (1, 2, 3)}
_unique = _core.function("_npi_unique", True)
_where = {
    kind: _core.function(name, True)
    for kind, name in {
        (False, False): "_npi_where",
        (True, False): "_npi_where_lscalar",
        (False, True): "_npi_where_rscalar",
        (True, True): "_npi_where_scalar2",
    }.items()
}


def asarray(a, dtype=None, ctx=None):
    """The array itself when it is an np array of that dtype already, a new array otherwise."""
    if isinstance(a, ndarray) and (dtype is None or _core.dtype_name(dtype) == a._dtype_name):
        return a
    return array(a, dtype=dtype, ctx=ctx or current_context())


def shape(a):
    """Tuple of extents of an array or nested sequence."""
    return a.shape if isinstance(a, NDArray) else _numpy.shape(a)


def ndim(a):
    """Number of dimensions of an array or nested sequence."""
    return a.ndim if isinstance(a, NDArray) else _numpy.ndim(a)


def size(a, axis=None):
    """Number of elements, or the extent of one axis."""
    if not isinstance(a, NDArray):
        return _numpy.size(a, axis)
    return a.size if axis is None else a.shape[axis]


def isscalar(element):
    """Whether ``element`` is a Python or NumPy scalar."""
    return _numpy.isscalar(element)


def full(shape, fill_value, dtype=None, order="C", ctx=None, out=None):
    """An array of one value, or of an array's values repeated to ``shape``; float32, of a bool bool, unless
    ``dtype``.

    Raises ValueError for a negative extent or an array that does not broadcast to ``shape``.
    """
    if isinstance(fill_value, NDArray):
        result = _np().broadcast_to(fill_value, shape).astype(dtype or fill_value.dtype)
        return result if out is None else result.copyto(out)
    if dtype is None and isinstance(fill_value, (bool, _numpy.bool_)):
        dtype = "bool"
    return _full(shape, fill_value, dtype, order, ctx, out=out)


def full_like(a, fill_value, dtype=None, order="C", ctx=None, out=None):
    """An array of one value with the shape of ``a``, and its dtype and device where none are given."""
    if ctx is not None and ctx != a.ctx:
        a = _np().empty(a.shape, dtype=a._dtype_name, ctx=ctx)
    return _full_like(a, fill_value, dtype=dtype, order=order, out=out)


def zeros_like(a, dtype=None, order="C", ctx=None, out=None):
    """Zeros, as ``full_like``."""
    return full_like(a, 0, dtype, order, ctx, out)


def ones_like(a, dtype=None, order="C", ctx=None, out=None):
    """Ones, as ``full_like``."""
    return full_like(a, 1, dtype, order, ctx, out)


def empty_like(prototype, dtype=None, order="C", subok=False, shape=None):
    """An array with undefined values, with the dtype and the device of ``prototype``, and its shape unless
    ``shape`` says otherwise.
    """
    dtype = prototype._dtype_name if dtype is None else dtype
    return _np().empty(prototype.shape if shape is None else shape, dtype=dtype, ctx=prototype.ctx)


def unique(ar, return_index=False, return_inverse=False, return_counts=False, axis=None):
    """The sorted different elements of an array; along an axis its different slices.

    With a request for more a tuple, which then has, as int64, where each first occurs, the place of every
    element among them, and how often each occurs. Waits for the array. ValueError: the axis is out of range.
    """
    found = _unique(ar, return_index, return_inverse, return_counts, axis)
    return tuple(found) if isinstance(found, list) else found


def where(condition, x=None, y=None):
    """x where the condition is not zero, y elsewhere; the shapes are broadcast against each other.

    x and y may be numbers, which take the dtype of the other one. Without both: the indices of the elements
    that are not zero, one array per axis. The gradient goes to what was chosen. Raises ValueError when only
    one is
    given.
    """
    if x is None and y is None:
        return _np().nonzero(condition)
    if x is None or y is None:
        raise ValueError("where: give both x and y, or neither")
    kind = (_numpy.isscalar(x), _numpy.isscalar(y))
    arrays = [a for a in (x, y) if not _numpy.isscalar(a)]
    numbers = [float(a) for a in (x, y) if _numpy.isscalar(a)]
    return _where[kind](condition, *arrays, *numbers)


def result_type(*arrays_and_dtypes):
    """NumPy's common dtype of arrays and dtypes."""
    return _numpy.result_type(*(a.dtype if isinstance(a, NDArray) else a for a in arrays_and_dtypes))


def meshgrid(*xi, **kwargs):
    """Coordinate matrices from coordinate vectors.

    ``indexing``: 'xy' (default) or 'ij'; ``sparse`` and ``copy`` as in NumPy. Returns a list of arrays.
    """
    indexing, sparse, copy = (
        kwargs.pop("indexing", "xy"),
        kwargs.pop("sparse", False),
        kwargs.pop("copy", True),
    )
    if kwargs:
        raise TypeError(f"meshgrid: unexpected arguments {sorted(kwargs)}")
    if indexing not in ("xy", "ij"):
        raise ValueError(f"meshgrid: indexing must be 'xy' or 'ij', got {indexing!r}")
    np, count = _np(), len(xi)
    grids = []
    for i, x in enumerate(xi):
        axis = {0: 1, 1: 0}.get(i, i) if indexing == "xy" and count > 1 else i
        grids.append(x.reshape((1,) * axis + (-1,) + (1,) * (count - axis - 1)))
    if sparse:
        return [g.copy() for g in grids] if copy else grids
    extents = [1] * count
    for g in grids:
        extents = [max(a, b) for a, b in zip(extents, g.shape)]
    return [np.broadcast_to(g, tuple(extents)) for g in grids]


def may_share_memory(a, b, max_work=None):
    """Whether two arrays are views of the same storage."""
    return _core.share_storage(a, b)


shares_memory = may_share_memory


def array_equal(a1, a2):
    """Whether two arrays have the same shape and values. Waits for both."""
    return _numpy.array_equal(_host(a1), _host(a2))


def allclose(a, b, rtol=1e-05, atol=1e-08, equal_nan=False):
    """Whether all values are equal within ``atol + rtol * abs(b)``. Waits for both."""
    return _numpy.allclose(_host(a), _host(b), rtol, atol, equal_nan)


def _host(a):
    return a.asnumpy() if isinstance(a, NDArray) else a


def _with_axes(count, arrays):
    views = [_atleast[count](asarray(one)) for one in arrays]
    return views[0] if len(views) == 1 else views


def atleast_1d(*arys):
    """Views of the arrays with at least one axis: one, or a list."""
    return _with_axes(1, arys)


def atleast_2d(*arys):
    """Views of the arrays with at least two axes: one, or a list."""
    return _with_axes(2, arys)


def atleast_3d(*arys):
    """Views of the arrays with at least three axes: one, or a list."""
    return _with_axes(3, arys)
