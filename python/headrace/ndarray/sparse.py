"""Sparse arrays by name: classes for programs to ask about, and functions that say there are none yet."""

from .ndarray import NDArray
from .ndarray import empty as _dense_empty
from .ndarray import zeros as _dense_zeros
from .storage_types import refuse

__all__ = [
    "BaseSparseNDArray",
    "CSRNDArray",
    "RowSparseNDArray",
    "array",
    "csr_matrix",
    "empty",
    "row_sparse_array",
    "zeros",
]


class BaseSparseNDArray(NDArray):
    """Base of sparse arrays; there are none."""

    __slots__ = ()


class CSRNDArray(BaseSparseNDArray):
    """A matrix that holds the values of each row with their columns; there are none."""

    __slots__ = ()


class RowSparseNDArray(BaseSparseNDArray):
    """An array that holds some of its rows; there are none."""

    __slots__ = ()


def zeros(stype, shape, ctx=None, dtype=None, **kwargs):
    """Zeros. NotSupportedForSparseNDArray: another `stype` than 'default'."""
    if stype != "default":
        refuse("sparse.zeros", stype)
    return _dense_zeros(shape, ctx=ctx, dtype=dtype, **kwargs)


def empty(stype, shape, ctx=None, dtype=None):
    """An array whose values are undefined. NotSupportedForSparseNDArray: another `stype` than 'default'."""
    if stype != "default":
        refuse("sparse.empty", stype)
    return _dense_empty(shape, ctx=ctx, dtype=dtype)


def csr_matrix(arg1, shape=None, ctx=None, dtype=None):
    """NotSupportedForSparseNDArray, always."""
    refuse("sparse.csr_matrix", "csr")


def row_sparse_array(arg1, shape=None, ctx=None, dtype=None):
    """NotSupportedForSparseNDArray, always."""
    refuse("sparse.row_sparse_array", "row_sparse")


def array(source_array, ctx=None, dtype=None):
    """A sparse array of a sparse one: NotSupportedForSparseNDArray. ValueError: the source is dense."""
    if isinstance(source_array, NDArray) or not hasattr(source_array, "tocsr"):
        raise ValueError("sparse.array: the source is dense; use mx.nd.array")
    refuse("sparse.array", "csr")
