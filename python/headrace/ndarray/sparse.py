"""Sparse arrays by name: classes for programs to ask about, and functions that say there are none yet."""

from ..base import NotSupportedForSparseNDArray
from .ndarray import NDArray

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


def refuse(operation, stype):
    """Raises the error for a sparse storage type, 'csr' or 'row_sparse'. ValueError: another one."""
    if stype not in ("csr", "row_sparse"):
        raise ValueError(f"{operation}: unknown storage type {stype!r}; use 'default'")
    raise NotSupportedForSparseNDArray(
        f"{operation}: storage type {stype!r} was asked for, and sparse arrays are not in Headrace yet; use "
        "stype='default'"
    )


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
    from . import zeros as dense_zeros

    return dense_zeros(shape, ctx=ctx, dtype=dtype, **kwargs)


def empty(stype, shape, ctx=None, dtype=None):
    """An array whose values are undefined. NotSupportedForSparseNDArray: another `stype` than 'default'."""
    if stype != "default":
        refuse("sparse.empty", stype)
    from . import empty as dense_empty

    return dense_empty(shape, ctx=ctx, dtype=dtype)


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
