"""Sparse arrays to test with, drawn from NumPy's global generator."""

import numpy as np

from ... import ndarray as nd
from .arrays import assign_each, random_arrays
from .tolerances import default_dtype

__all__ = [
    "create_sparse_array",
    "create_sparse_array_zd",
    "rand_ndarray",
    "rand_sparse_ndarray",
    "shuffle_csr_column_indices",
]


def rand_ndarray(
    shape,
    stype="default",
    density=None,
    dtype=None,
    modifier_func=None,
    shuffle_csr_indices=False,
    distribution=None,
    ctx=None,
):
    """An nd array of random values: normal ones, or a sparse one of `rand_sparse_ndarray`.

    Examples
    --------
    >>> from headrace.mxnet import test_utils
    >>> test_utils.rand_ndarray((3, 2), "csr", density=0.5)
    <CSRNDArray 3x2 @cpu(0)>
    """
    if stype == "default":
        return nd.array(random_arrays(shape), dtype=dtype, ctx=ctx)
    return rand_sparse_ndarray(
        shape, stype, density, dtype, distribution, None, None, modifier_func, shuffle_csr_indices, ctx
    )[0]


def rand_sparse_ndarray(
    shape,
    stype,
    density=None,
    dtype=None,
    distribution=None,
    data_init=None,
    rsp_indices=None,
    modifier_func=None,
    shuffle_csr_indices=False,
    ctx=None,
):
    """A sparse array and its parts as NumPy arrays: `(data, indices)`, or `(indptr, indices, data)` of csr.

    Parameters
    ----------
    density : about how much of it is stored; anything between 0 and 1 unless given.
    distribution : 'uniform', or of csr 'powerlaw': rows with 1, 2, 4... elements until there are enough.
    data_init : the value of all elements that are stored; uniform in [0, 1) unless given.
    rsp_indices : the rows that are stored.
    modifier_func : computes the values from those drawn, one by one; of row_sparse.
    shuffle_csr_indices : no effect; the columns of a row always ascend.

    Raises
    ------
    AssertionError
        For another storage type, shape or distribution than there is.

    Examples
    --------
    >>> from headrace.mxnet import test_utils
    >>> a, (indptr, indices, data) = test_utils.rand_sparse_ndarray((3, 2), "csr", density=1, data_init=5)
    >>> a.asnumpy()
    array([[5., 5.],
           [5., 5.],
           [5., 5.]], dtype=float32)
    """
    density = np.random.rand() if density is None else density
    dtype = default_dtype() if dtype is None else dtype
    if stype == "row_sparse":
        assert distribution in (None, "uniform"), f"unknown distribution {distribution} of rows"
        return _random_rows(shape, density, dtype, data_init, rsp_indices, modifier_func, ctx)
    assert stype == "csr", f"unknown storage type {stype}"
    assert len(shape) == 2
    assert distribution in (None, "uniform", "powerlaw"), f"unknown distribution {distribution}"
    places = _powerlaw(shape, density) if distribution == "powerlaw" else _uniform(shape, density)
    data = np.random.rand(places.size).astype(dtype)
    if data_init is not None:
        data.fill(data_init)
    rows, columns = np.divmod(places, max(1, shape[1]))
    array = nd.sparse.csr_matrix((data, (rows, columns)), shape=tuple(shape), dtype=dtype, ctx=ctx)
    return array, (array.indptr.asnumpy(), array.indices.asnumpy(), array.data.asnumpy())


def _random_rows(shape, density, dtype, data_init, indices, modifier, ctx):
    if indices is None:
        indices = np.flatnonzero(np.random.rand(shape[0]) < density)
    assert len(indices) <= shape[0]
    data = np.random.rand(len(indices), *shape[1:]).astype(dtype)
    if data_init is not None:
        data.fill(data_init)
    if modifier is not None:
        data = assign_each(data, modifier).astype(dtype)
    array = nd.sparse.row_sparse_array((data, indices), shape=tuple(shape), dtype=dtype, ctx=ctx)
    return array, (data, np.asarray(indices))


def _uniform(shape, density):
    """Numbers of elements, ascending, so many as the density says."""
    size = shape[0] * shape[1]
    return np.sort(np.random.permutation(size)[: round(density * size)])


def _powerlaw(shape, density):
    wanted = round(density * shape[0] * shape[1])
    places, row, count = [], 0, 1
    while wanted > 0 and row < shape[0]:
        count = min(count, wanted, shape[1])
        places.append(row * shape[1] + np.arange(count))
        wanted, row, count = wanted - count, row + 1, 2 * count
    return np.concatenate(places) if places else np.zeros(0, np.int64)


def create_sparse_array(
    shape,
    stype,
    data_init=None,
    rsp_indices=None,
    dtype=None,
    modifier_func=None,
    density=0.5,
    shuffle_csr_indices=False,
):
    """A random sparse array, see `rand_sparse_ndarray`; `rsp_indices` may come in any order.

    Examples
    --------
    >>> from headrace.mxnet import test_utils
    >>> a = test_utils.create_sparse_array((3, 2), "row_sparse", data_init=5, rsp_indices=[2, 0], density=1)
    >>> a.asnumpy()
    array([[5., 5.],
           [0., 0.],
           [5., 5.]], dtype=float32)
    """
    rows = None if rsp_indices is None else np.sort(np.asarray(rsp_indices))
    return rand_sparse_ndarray(
        shape, stype, density, dtype, None, data_init, rows, modifier_func, shuffle_csr_indices
    )[0]


def create_sparse_array_zd(
    shape,
    stype,
    density,
    data_init=None,
    rsp_indices=None,
    dtype=None,
    modifier_func=None,
    shuffle_csr_indices=False,
):
    """A random sparse array as of `create_sparse_array`; of row_sparse, `rsp_indices` alone say which rows
    are stored.

    Examples
    --------
    >>> from headrace.mxnet import test_utils
    >>> test_utils.create_sparse_array_zd((3, 2), "row_sparse", 1, data_init=5, rsp_indices=[1]).asnumpy()
    array([[0., 0.],
           [5., 5.],
           [0., 0.]], dtype=float32)
    """
    density = 0.0 if stype == "row_sparse" else density
    return create_sparse_array(
        shape, stype, data_init, rsp_indices, dtype, modifier_func, density, shuffle_csr_indices
    )


def shuffle_csr_column_indices(csr):
    """Shuffles in place the column indices of every row of a matrix with `indptr` and `indices` (SciPy's).

    Examples
    --------
    >>> from headrace.mxnet import test_utils
    >>> import types, numpy
    >>> matrix = types.SimpleNamespace(indptr=numpy.array([0, 3]), indices=numpy.array([0, 2, 5]))
    >>> test_utils.shuffle_csr_column_indices(matrix)
    >>> sorted(matrix.indices.tolist())
    [0, 2, 5]
    """
    for begin, end in zip(csr.indptr, csr.indptr[1:]):
        row = np.array(csr.indices[begin:end])
        np.random.shuffle(row)
        csr.indices[begin:end] = row
