"""np functions of what arrays have and symbols do not: values, shapes, memory of their own."""

import numpy as _numpy

from .. import _core
from ..context import current_context
from ..ndarray.ndarray import NDArray
from ._axes import normalized_axes
from ._operands import operand
from .differences import diff
from .multiarray import array, ndarray
from .multiarray import front_end as _np

__all__ = [
    "allclose",
    "argwhere",
    "array_equal",
    "asarray",
    "broadcast_arrays",
    "empty_like",
    "flatnonzero",
    "in1d",
    "isscalar",
    "may_share_memory",
    "meshgrid",
    "ndim",
    "nonzero",
    "result_type",
    "shape",
    "shares_memory",
    "size",
    "trapz",
    "unique",
]

_nonzero = _core.function("_npx_nonzero", True)
_unique = _core.function("_npi_unique", True)


# --- what arrays are ---


def asarray(a, dtype=None, ctx=None):
    """The array itself when it is an np array of that dtype already, a new array otherwise.

    Examples
    --------
    >>> a = np.array([1, 2])
    >>> np.asarray(a) is a, np.asarray(a, dtype="int32")
    (True, array([1, 2], dtype=int32))
    """
    if isinstance(a, ndarray) and (dtype is None or _core.dtype_name(dtype) == a._dtype_name):
        return a
    return array(a, dtype=dtype, ctx=ctx or current_context())


def shape(a):
    """Tuple of extents of an array or nested sequence.

    Examples
    --------
    >>> np.shape([[1, 2, 3], [4, 5, 6]])
    (2, 3)
    """
    return a.shape if isinstance(a, NDArray) else _numpy.shape(a)


def ndim(a):
    """Number of dimensions of an array or nested sequence, an int.

    Examples
    --------
    >>> np.ndim([[1, 2], [3, 4]])
    2
    """
    return a.ndim if isinstance(a, NDArray) else _numpy.ndim(a)


def size(a, axis=None):
    """Number of elements, or the extent of one axis, an int. IndexError: the axis is out of range.

    Examples
    --------
    >>> np.size(np.zeros((2, 3))), np.size(np.zeros((2, 3)), axis=1)
    (6, 3)
    """
    if not isinstance(a, NDArray):
        return _numpy.size(a, axis)
    return a.size if axis is None else a.shape[axis]


def isscalar(element):
    """Whether ``element`` is a Python or NumPy scalar.

    Examples
    --------
    >>> np.isscalar(3.5), np.isscalar(np.array(3.5))
    (True, False)
    """
    return _numpy.isscalar(element)


def result_type(*arrays_and_dtypes):
    """The NumPy dtype that arrays and dtypes have in common, by NumPy's rules.

    Examples
    --------
    >>> np.result_type(np.ones(2, dtype="int32"), "float64")
    dtype('float64')
    """
    return _numpy.result_type(*(a.dtype if isinstance(a, NDArray) else a for a in arrays_and_dtypes))


def may_share_memory(a, b, max_work=None):
    """Whether two arrays are views of one storage, and the stretches of it that they lie in overlap.

    Examples
    --------
    >>> a = np.arange(6)
    >>> np.may_share_memory(a, a[2:4]), np.may_share_memory(a[:2], a[2:4])
    (True, False)
    """
    return _core.may_share_memory(a, b)


shares_memory = may_share_memory


def array_equal(a1, a2, equal_nan=False):
    """Whether two arrays have the same shape and values. Waits for both.

    Examples
    --------
    >>> a = np.array([1, 2])
    >>> np.array_equal(a, a.copy()), np.array_equal(a, np.array([[1, 2]]))
    (True, False)
    """
    return _numpy.array_equal(_host(a1), _host(a2), equal_nan)


def allclose(a, b, rtol=1e-05, atol=1e-08, equal_nan=False):
    """Whether all values are equal within ``atol + rtol * abs(b)``. Waits for both.

    Examples
    --------
    >>> np.allclose(np.array([1, 2]), np.array([1.000001, 2]))
    True
    """
    return _numpy.allclose(_host(a), _host(b), rtol, atol, equal_nan)


def _host(a):
    return a.asnumpy() if isinstance(a, NDArray) else a


# --- arrays whose shapes follow from values ---


def unique(ar, return_index=False, return_inverse=False, return_counts=False, axis=None):
    """The sorted different elements of an array; along an axis its different slices.

    With a request for more a tuple, which then has, as int64, where each first occurs, the place of every
    element among them, and how often each occurs. Waits for the array. ValueError: the axis is out of range.

    Examples
    --------
    >>> np.unique(np.array([3, 1, 3, 2]))
    array([1., 2., 3.])
    >>> values, counts = np.unique(np.array([3, 1, 3, 2]), return_counts=True)
    >>> counts
    array([1, 1, 2], dtype=int64)
    """
    found = _unique(ar, return_index, return_inverse, return_counts, axis)
    return tuple(found) if isinstance(found, list) else found


def nonzero(a):
    """Coordinates of the elements that are not 0: one int64 array for each dimension. Waits for the array.

    Examples
    --------
    >>> rows, columns = np.nonzero(np.array([[0, 5], [7, 0]]))
    >>> rows, columns
    (array([0, 1], dtype=int64), array([1, 0], dtype=int64))
    """
    a = operand(a)
    found = _nonzero(a.reshape((-1,)) if a.ndim == 0 else a)
    return tuple(found[:, d] for d in range(found.shape[1]))


def flatnonzero(a):
    """Positions in the flattened array of the elements that are not 0, as int64. Waits for the array.

    Examples
    --------
    >>> np.flatnonzero(np.array([[0, 5], [7, 0]]))
    array([1, 2], dtype=int64)
    """
    return nonzero(operand(a).reshape((-1,)))[0]


def argwhere(a):
    """Coordinates of the elements that are not 0: int64 (count, dimensions). Waits for the array.

    Examples
    --------
    >>> np.argwhere(np.array([[0, 5], [7, 0]]))
    array([[0, 1],
           [1, 0]], dtype=int64)
    """
    a = operand(a)
    found = _nonzero(a)
    return found if a.ndim > 0 else found[:, :0]


# --- arrays whose shapes follow from shapes ---


def empty_like(prototype, dtype=None, order="C", subok=False, shape=None):
    """An array with undefined values, with the dtype and the device of ``prototype``, and its shape unless
    ``shape`` says otherwise.

    Examples
    --------
    >>> np.empty_like(np.zeros((2, 3), dtype="int32")).dtype
    dtype('int32')
    """
    dtype = prototype._dtype_name if dtype is None else dtype
    return _np().empty(prototype.shape if shape is None else shape, dtype=dtype, ctx=prototype.ctx)


def meshgrid(*xi, **kwargs):
    """Coordinate matrices from coordinate vectors: a list of arrays with an axis for each vector.

    ``indexing``: 'xy' (default), where the first vector runs along the second axis, or 'ij'; ``sparse`` and
    ``copy`` as in NumPy. ValueError: another ``indexing``.

    Examples
    --------
    >>> x, y = np.meshgrid(np.array([1, 2, 3]), np.array([10, 20]))
    >>> x, y
    (array([[1., 2., 3.],
           [1., 2., 3.]]), array([[10., 10., 10.],
           [20., 20., 20.]]))
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
    count = len(xi)
    grids = []
    for i, x in enumerate(map(operand, xi)):
        axis = {0: 1, 1: 0}.get(i, i) if indexing == "xy" and count > 1 else i
        grids.append(x.reshape((1,) * axis + (-1,) + (1,) * (count - axis - 1)))
    if sparse:
        return [g.copy() for g in grids] if copy else grids
    return broadcast_arrays(*grids)


def broadcast_arrays(*args):
    """A list of the arrays, each stretched to the shape that all of them have together.

    ValueError: the shapes do not fit.

    Examples
    --------
    >>> np.broadcast_arrays(np.array([1, 2]), np.array([[0], [5]]))
    [array([[1., 2.],
           [1., 2.]]), array([[0., 0.],
           [5., 5.]])]
    """
    arrays = [operand(a) for a in args]
    shape = _numpy.broadcast_shapes(*(a.shape for a in arrays))
    return [_np().broadcast_to(a, shape) for a in arrays]


def _neighbours(a, axis):
    """All but the first and all but the last along an axis, counted from the front."""
    before = (slice(None),) * axis
    return a[before + (slice(1, None),)], a[before + (slice(None, -1),)]


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

    Examples
    --------
    >>> np.trapz(np.array([1, 2, 3])), np.trapz(np.array([1, 2, 3]), x=np.array([0, 2, 3]))
    (array(4.), array(5.5))
    """
    y = operand(y)
    (axis,) = normalized_axes(axis, y.ndim, "trapz")
    later, earlier = _neighbours(y / 2, axis)  # floats, also of integers
    if x is not None:
        x = operand(x, beside=y)
        dx = diff(x, axis=axis if x.ndim > 1 else 0)
        if x.ndim == 1:
            dx = dx.reshape([-1 if i == axis else 1 for i in range(y.ndim)])
    return _np().sum((later + earlier) * dx, axis=axis)


def in1d(ar1, ar2, assume_unique=False, invert=False):
    """Whether each element of the flattened ``ar1`` is among ``ar2``: bool, of shape (ar1.size,).

    Examples
    --------
    >>> np.in1d(np.array([[1, 2], [3, 4]]), np.array([2, 4]))
    array([False,  True, False,  True])
    """
    return _np().isin(operand(ar1).ravel(), ar2, assume_unique=assume_unique, invert=invert)
