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


def rand_sparse_ndarray(shape, stype, density=None, dtype=None, distribution=None, data_init=None,
                        rsp_indices=None, modifier_func=None, shuffle_csr_indices=False,
                        ctx=None):  # fmt: skip
    """A sparse array and its parts: NumPy arrays `(data, indices)`, or of csr nd arrays `(indptr, indices,
    data)`.

    Drawn from NumPy's generator. Of csr the numbers are MXNet's for one seed where SciPy is, which both ask.

    Parameters
    ----------
    density : about how much of it is stored; anything between 0 and 1 unless given.
    distribution : 'uniform', or of csr 'powerlaw': rows with 2, 4, 8... elements until there are enough, and
        one in the others.
    data_init : the value of all elements that are stored; uniform in [0, 1) unless given, of a power law in
        [1, 3), whatever is given.
    rsp_indices : the rows that are stored.
    modifier_func : computes the values from those drawn, one by one; of row_sparse.
    shuffle_csr_indices : no effect; the columns of a row always ascend.

    Raises
    ------
    AssertionError
        For another storage type, shape or distribution than there is.
    ValueError
        For a density of csr outside [0, 1] or that a power law does not reach, and an extent of 0.

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
    if not 0 <= density <= 1 or min(shape) <= 0:
        raise ValueError(f"csr matrices need a density in [0, 1] and extents, got {density} and {shape}")
    if distribution == "powerlaw":
        array = nd.array(_powerlaw(shape, density, dtype), ctx=ctx).tostype("csr")
    else:
        parts = _uniform(shape, density, dtype)
        if data_init is not None:
            parts[0].fill(data_init)
        array = nd.sparse.csr_matrix(parts, shape=tuple(shape), dtype=dtype, ctx=ctx)
    return array, (array.indptr, array.indices, array.data)


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


def _uniform(shape, density, dtype):
    """(data, indices, indptr) of a csr matrix with as many elements as the density says."""
    try:
        from scipy import sparse
    except ImportError:
        places = np.sort(np.random.permutation(shape[0] * shape[1])[: round(density * shape[0] * shape[1])])
        rows, columns = np.divmod(places, shape[1])
        indptr = np.searchsorted(rows, np.arange(shape[0] + 1))
        return np.random.rand(places.size).astype(dtype), columns, indptr
    drawn = sparse.rand(*shape, density, format="csr", dtype=dtype)
    return drawn.data, drawn.indices, drawn.indptr


def _powerlaw(shape, density, dtype):
    """A dense matrix: one element in each row, then up to 2, 4, 8... in the first ones, at the beginning."""
    rows, columns = shape
    left = int(rows * columns * density)
    if left < 2 * rows:
        raise ValueError(
            f"a power law of shape {shape} needs a density of {2 / columns} or more, got {density}"
        )
    matrix = np.zeros(shape, dtype=dtype)

    def draw():
        return 1 + np.random.uniform(0.001, 2)

    for row in range(rows):
        matrix[row, 0] = draw()
    left -= rows
    count = 2
    for row in range(rows):
        count = min(count, columns)
        if left <= 0:
            break
        if count == columns and left > columns:
            matrix[row] = draw()  # one number for all
            left -= columns - 1
            continue
        more = min(count - 1, left)
        for column in range(1, more + 1):
            matrix[row, column] = draw()
        left -= more
        count *= 2
    if left > 0:
        raise ValueError(f"a power law of shape {shape} does not reach a density of {density}")
    return matrix


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
