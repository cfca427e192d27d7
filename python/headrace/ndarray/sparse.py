"""Sparse arrays: their classes, the functions that make them, and the operators that are known here by name.

An operator that knows no way to compute on what is stored takes dense copies, and says so once.
"""

import builtins
import numbers

import numpy as _numpy

from .. import _catalogue, _core
from ..base import NotSupportedForSparseNDArray
from .ndarray import NDArray, _placed, _shape_of
from .ndarray import array as _dense_array
from .ndarray import empty as _dense_empty
from .ndarray import zeros as _dense_zeros

__all__ = [
    "BaseSparseNDArray",
    "CSRNDArray",
    "RowSparseNDArray",
    "add",
    "array",
    "csr_matrix",
    "divide",
    "empty",
    "multiply",
    "retain",
    "row_sparse_array",
    "subtract",
    "zeros",
]

# The operators that MXNet shows here, and in sym.sparse.
SHOWN = """
    ElementWiseSum Embedding FullyConnected LinearRegressionOutput LogisticRegressionOutput
    MAERegressionOutput abs adagrad_update adam_update add_n arccos arccosh arcsin arcsinh arctan arctanh
    broadcast_add broadcast_div broadcast_minus broadcast_mul broadcast_plus broadcast_sub cast_storage
    cbrt ceil clip concat cos cosh degrees dot elemwise_add elemwise_div elemwise_mul elemwise_sub exp
    expm1 fix floor ftrl_update gamma gammaln log log10 log1p log2 make_loss mean negative norm radians
    relu rint round rsqrt sgd_mom_update sgd_update sigmoid sign sin sinh slice sqrt square stop_gradient
    sum tan tanh trunc where zeros_like
"""
_operators = _catalogue.functions("nd") | _catalogue.functions("nd.sparse")
for _name in SHOWN.split():
    if _name in _operators:
        globals()[_name] = _operators[_name]
        __all__ += [_name]
retain = _operators["sparse_retain"]
_slice = _operators["slice"]
_FULL = builtins.slice(None)


class BaseSparseNDArray(NDArray):
    """What sparse arrays have in common. Their parts are copies, and wait for the array.

    Examples
    --------
    >>> a = nd.array([[0, 2], [0, 0]]).tostype("csr")
    >>> isinstance(a, nd.sparse.BaseSparseNDArray), a.stype, a.data.asnumpy()
    (True, 'csr', array([2.], dtype=float32))
    """

    __slots__ = ()

    def __repr__(self):
        return f"\n<{type(self).__name__} {'x'.join(map(str, self.shape))} @{self.context}>"

    __str__ = __repr__

    @property
    def size(self):
        """NotImplementedError: all elements could be meant, or those that are stored."""
        raise NotImplementedError(f"{type(self).__name__}.size is ambiguous; use .data.size or .shape")

    @property
    def data(self):
        """The values that are stored."""
        return _core.sparse_part(self, "data")

    @property
    def indices(self):
        """int64: where the stored values lie."""
        return _core.sparse_part(self, "indices")

    def reshape(self, *shape, **kwargs):
        """NotSupportedForSparseNDArray, always."""
        raise NotSupportedForSparseNDArray(
            f"reshape: a {self.stype} array has one shape; tostype('default') gives a dense array"
        )

    _num_aux = property(lambda self: len(self._auxiliary))
    _aux_types = property(lambda self: [_numpy.int64] * self._num_aux)

    def _data(self):
        return self.data

    def _aux_data(self, i):
        return _core.sparse_part(self, self._auxiliary[i])

    def check_format(self, full_check=True):
        """Waits for the array. ValueError: it was made of indices that no array can have."""
        self.wait_to_read()

    def __setitem__(self, key, value):
        """`array[:] = array`: copies all values, of whatever storage; of row_sparse also a number.

        ValueError: another key, or a number for a csr array.
        """
        if key != _FULL:
            raise ValueError(
                f"{type(self).__name__}: only array[:] = values can be assigned, got key {key!r}"
            )
        if isinstance(value, numbers.Number):
            if self.stype == "csr":
                raise ValueError("Assigning numeric types to CSRNDArray is not implemented yet.")
            if value == 0:
                value = _core.sparse_zeros(self.stype, self.shape, self._dtype_name)
            else:
                value = _numpy.full(self.shape, value)
        source = value if isinstance(value, NDArray) else _dense_array(value, dtype=self.dtype)
        if source is not self:
            source.copyto(self)


class CSRNDArray(BaseSparseNDArray):
    """A matrix of mostly zeros: `data` row by row, the columns `indices`, and where rows begin, `indptr`.

    Examples
    --------
    >>> x = nd.array([[0, 2], [0, 0]]).tostype("csr")
    >>> x.data, x.indices, x.indptr
    (
    [2.]
    <NDArray 1 @cpu(0)>,
    [1]
    <NDArray 1 @cpu(0)>,
    [0 1 1]
    <NDArray 3 @cpu(0)>)
    """

    __slots__ = ()
    _auxiliary = ("indptr", "indices")

    @property
    def indptr(self):
        """int64, one more than rows: the stored values of row r are from indptr[r] up to indptr[r + 1]."""
        return _core.sparse_part(self, "indptr")

    def __getitem__(self, key):
        """Rows: `matrix[i]` (one row, still a matrix), `matrix[begin:end]`, `matrix[:]` (itself).

        ValueError: steps, or several axes. IndexError: there is no such row.
        """
        if isinstance(key, tuple):
            raise ValueError("Multi-dimension indexing is not supported by CSRNDArray")
        if isinstance(key, builtins.slice):
            if key.step not in (None, 1):
                raise ValueError("CSRNDArray only supports continuous slicing on axis 0")
            return self if key == _FULL else _slice(self, begin=(key.start,), end=(key.stop,))
        if not isinstance(key, numbers.Integral):
            raise ValueError(f"CSRNDArray: expected a row or a slice of rows, got {key!r}")
        row = key + self.shape[0] if key < 0 else key
        if not 0 <= row < self.shape[0]:
            raise IndexError(f"CSRNDArray: row {key} is out of bounds for {self.shape[0]} rows")
        return _slice(self, begin=(row,), end=(row + 1,))

    def asscipy(self):
        """A `scipy.sparse.csr_matrix` with copies of the parts. ImportError: there is no SciPy."""
        from scipy.sparse import csr_matrix as scipy_matrix

        parts = self.data.asnumpy(), self.indices.asnumpy(), self.indptr.asnumpy()
        return scipy_matrix(parts, shape=self.shape, dtype=self.dtype)


class RowSparseNDArray(BaseSparseNDArray):
    """An array of which most rows are zero: `data`, the others, and their numbers `indices`.

    Examples
    --------
    >>> x = nd.array([[0, 0], [1, 2]]).tostype("row_sparse")
    >>> x.data, x.indices
    (
    [[1. 2.]]
    <NDArray 1x2 @cpu(0)>,
    [1]
    <NDArray 1 @cpu(0)>)
    """

    __slots__ = ()
    _auxiliary = ("indices",)

    def __getitem__(self, key):
        """`array[:]`: itself. Exception: another key."""
        if isinstance(key, builtins.slice) and key == _FULL:
            return self
        if isinstance(key, numbers.Integral):
            raise Exception("__getitem__ with int key is not implemented for RowSparseNDArray yet")
        raise Exception("RowSparseNDArray only supports [:] for __getitem__")

    def retain(self, *args, **kwargs):
        """The rows whose numbers are given, as an array; see `sparse.retain`."""
        return retain(self, *args, **kwargs)


_core.set_sparse_class("csr", CSRNDArray)
_core.set_sparse_class("row_sparse", RowSparseNDArray)


def _values(source, dtype):
    """A dense array of what was given, in `dtype`, or that of an array, or float32."""
    if isinstance(source, NDArray):
        return source if dtype is None else source.astype(dtype, copy=False)
    if dtype is None:
        dtype = source.dtype if isinstance(source, _numpy.ndarray) else "float32"
    return _dense_array(_numpy.ascontiguousarray(source), dtype=dtype)


def _indices(source):
    host = source.asnumpy() if isinstance(source, NDArray) else _numpy.asarray(source)
    return host.astype(_numpy.int64)


def _index_array(host):
    return _core.array(_numpy.ascontiguousarray(host), "int64", False)


def _check_shape(function, wanted, shape):
    if wanted is not None and tuple(wanted) != tuple(shape):
        raise ValueError(
            f"{function}: the source has shape {tuple(shape)}, but shape={tuple(wanted)} was given"
        )


def _is_shape(given):
    return isinstance(given, tuple) and all(isinstance(one, numbers.Integral) for one in given)


def _extent(function, indices):
    """How many entries an axis with these indices has at least."""
    if not indices.size:
        raise ValueError(f"{function}: invalid shape: it must be given where there are no indices")
    return int(indices.max()) + 1


def _csr_of_coordinates(data, rows, columns, shape, dtype):
    """A matrix of values at coordinates; those of one place are added."""
    values = _values(data if isinstance(data, NDArray) else _numpy.asarray(data), dtype)
    host, rows, columns = values.asnumpy(), _indices(rows), _indices(columns)
    if not host.shape == rows.shape == columns.shape or host.ndim != 1:
        raise ValueError(
            f"csr_matrix: values, rows and columns must be of one length, got {host.shape}, {rows.shape} and "
            f"{columns.shape}"
        )
    shape = shape or (_extent("csr_matrix", rows), _extent("csr_matrix", columns))
    if rows.size and (
        rows.min() < 0 or rows.max() >= shape[0] or columns.min() < 0 or columns.max() >= shape[1]
    ):
        raise ValueError(f"csr_matrix: coordinates are out of bounds for shape {tuple(shape)}")
    places, inverse = _numpy.unique(rows * shape[1] + columns, return_inverse=True)
    sums = _numpy.zeros(places.size, host.dtype)
    _numpy.add.at(sums, inverse, host)
    counts = _numpy.bincount(places // max(1, shape[1]), minlength=shape[0])
    begin = _numpy.concatenate([[0], _numpy.cumsum(counts)])
    return _core.csr(
        _values(sums, values.dtype), _index_array(places % max(1, shape[1])), _index_array(begin), shape
    )


def csr_matrix(arg1, shape=None, ctx=None, dtype=None):
    """A CSRNDArray.

    Parameters
    ----------
    arg1 : `(rows, columns)`, of zeros; `(data, indices, indptr)`; `(data, (rows, columns))`, values at
        coordinates, added up where they meet; a sparse matrix, of SciPy too; or a dense one.
    shape : tuple of int, optional. As large as the indices need unless given.
    ctx : Context, on the host.
    dtype : that of the source unless given; float32 for lists, that of NumPy for lists at coordinates.

    Raises
    ------
    ValueError
        When parts and shape do not go together; for indices out of bounds also when the result is read.

    Examples
    --------
    >>> a = nd.sparse.csr_matrix(([5, 7], [1, 0], [0, 1, 2]), shape=(2, 2))  # data, indices, indptr
    >>> a.asnumpy()
    array([[0., 5.],
           [7., 0.]], dtype=float32)
    >>> nd.sparse.csr_matrix(([5, 7], ([0, 1], [1, 0])), shape=(2, 2)).indptr  # data, (rows, columns)
    [0 1 2]
    <NDArray 3 @cpu(0)>
    """
    if isinstance(arg1, tuple):
        made = _csr_of_tuple(arg1, shape, dtype)
    else:
        made = _converted("csr_matrix", "csr", arg1, shape, dtype)
    return _placed(made, ctx)


def _csr_of_tuple(parts, shape, dtype):
    if len(parts) == 2 and _is_shape(parts):
        _check_shape("csr_matrix", shape, parts)
        return _core.sparse_zeros("csr", parts, dtype or "float32")
    if len(parts) == 2:
        data, coordinates = parts
        if len(coordinates) != 2:
            raise ValueError(
                f"csr_matrix: expected (data, (rows, columns)), got {len(coordinates)} lists of coordinates"
            )
        return _csr_of_coordinates(data, *coordinates, shape, dtype)
    if len(parts) != 3:
        raise ValueError(f"Unexpected length of input tuple: {len(parts)}")
    indices, indptr = _indices(parts[1]), _indices(parts[2])
    shape = shape or (indptr.size - 1, _extent("csr_matrix", indices))
    return _core.csr(_values(parts[0], dtype), _index_array(indices), _index_array(indptr), shape)


def row_sparse_array(arg1, shape=None, ctx=None, dtype=None):
    """A RowSparseNDArray.

    Parameters
    ----------
    arg1 : a shape, of zeros; `(data, indices)`, rows and their numbers; a row_sparse array; or a dense one.
    shape, ctx, dtype : as for `csr_matrix`.

    Raises
    ------
    ValueError
        When parts and shape do not go together; for indices out of bounds also when the result is read.

    Examples
    --------
    >>> a = nd.sparse.row_sparse_array(([[1, 2], [3, 4]], [0, 2]), shape=(4, 2))  # data, indices
    >>> a.asnumpy()
    array([[1., 2.],
           [0., 0.],
           [3., 4.],
           [0., 0.]], dtype=float32)
    """
    if isinstance(arg1, tuple):
        made = _rows_of_tuple(arg1, shape, dtype)
    else:
        made = _converted("row_sparse_array", "row_sparse", arg1, shape, dtype)
    return _placed(made, ctx)


def _rows_of_tuple(parts, shape, dtype):
    if len(parts) >= 2 and _is_shape(parts):
        _check_shape("row_sparse_array", shape, parts)
        return _core.sparse_zeros("row_sparse", parts, dtype or "float32")
    if len(parts) != 2:
        raise ValueError(f"Unexpected length of input tuple: {len(parts)}")
    data, indices = parts
    values, indices = _values(data, dtype), _indices(indices)
    if shape is None:
        shape = (_extent("row_sparse_array", indices), *values.shape[1:])
    return _core.row_sparse(values, _index_array(indices), shape)


def _converted(function, stype, source, shape, dtype):
    if hasattr(source, "tocsr"):
        source = array(source, dtype=dtype)
    if isinstance(source, BaseSparseNDArray) and source.stype != stype:
        raise ValueError(f"{function}: Unexpected input type: {type(source).__name__}")
    made = _values(source, dtype)
    _check_shape(function, shape, made.shape)
    return made.tostype(stype)


def zeros(stype, shape, ctx=None, dtype=None, **kwargs):
    """Zeros, float32 by default, stored as `stype`. ValueError: there is no such storage type.

    Examples
    --------
    >>> nd.sparse.zeros("row_sparse", (4, 2))
    <RowSparseNDArray 4x2 @cpu(0)>
    """
    return _dense_zeros(_shape_of(shape), ctx=ctx, dtype=dtype, stype=stype, **kwargs)


def empty(stype, shape, ctx=None, dtype=None):
    """An array whose values are undefined, stored as `stype`: sparse ones are zeros.

    Examples
    --------
    >>> nd.sparse.empty("csr", (2, 3)).stype
    'csr'
    """
    return _dense_empty(_shape_of(shape), ctx=ctx, dtype=dtype, stype=stype)


def array(source_array, ctx=None, dtype=None):
    """A copy of a sparse array, or of a matrix of SciPy as a CSRNDArray. ValueError: the source is dense.

    Examples
    --------
    >>> a = nd.array([[0, 2], [0, 0]]).tostype("csr")
    >>> copy = nd.sparse.array(a, dtype="float64")
    >>> copy.stype, copy.dtype
    ('csr', <class 'numpy.float64'>)
    """
    if isinstance(source_array, BaseSparseNDArray):
        made = source_array.astype(dtype) if dtype is not None else source_array.copy()
    elif hasattr(source_array, "tocsr"):
        matrix = source_array.tocsr().copy()
        matrix.sum_duplicates()
        made = csr_matrix((matrix.data, matrix.indices, matrix.indptr), matrix.shape, dtype=dtype)
    else:
        raise ValueError("sparse.array: the source is dense; use mx.nd.array")
    return _placed(made, ctx)


def add(lhs, rhs):
    """`lhs + rhs`; arrays of one storage type give that, others a dense array. ValueError: the shapes do not
    broadcast together.

    Examples
    --------
    >>> a = nd.array([[0, 2], [0, 0]]).tostype("csr")
    >>> nd.sparse.add(a, a)
    <CSRNDArray 2x2 @cpu(0)>
    >>> nd.sparse.add(a, a).asnumpy()
    array([[0., 4.],
           [0., 0.]], dtype=float32)
    """
    return lhs + rhs


def subtract(lhs, rhs):
    """`lhs - rhs`; storage types and errors as of `add`.

    Examples
    --------
    >>> a = nd.array([[0, 2], [0, 0]]).tostype("csr")
    >>> nd.sparse.subtract(a, a).stype
    'csr'
    """
    return lhs - rhs


def multiply(lhs, rhs):
    """`lhs * rhs`, element by element; storage types and errors as of `add`.

    Examples
    --------
    >>> a = nd.array([[0, 2], [0, 0]]).tostype("csr")
    >>> nd.sparse.multiply(a, a).asnumpy()
    array([[0., 4.],
           [0., 0.]], dtype=float32)
    """
    return lhs * rhs


def divide(lhs, rhs):
    """`lhs / rhs`, element by element, which is dense unless `rhs` is a number.

    Examples
    --------
    >>> a = nd.array([[0, 2], [0, 0]]).tostype("csr")
    >>> nd.sparse.divide(a, 4).asnumpy()
    array([[0. , 0.5],
           [0. , 0. ]], dtype=float32)
    """
    return lhs / rhs
