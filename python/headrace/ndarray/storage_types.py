"""How arrays may be stored, as MXNet's programs ask for it: there are dense arrays only."""

from ..base import NotSupportedForSparseNDArray

__all__ = ["refuse"]


def refuse(operation, stype):
    """Raises the error for a sparse storage type, 'csr' or 'row_sparse'. ValueError: another one."""
    if stype not in ("csr", "row_sparse"):
        raise ValueError(f"{operation}: unknown storage type {stype!r}; use 'default'")
    raise NotSupportedForSparseNDArray(
        f"{operation}: storage type {stype!r} was asked for, and sparse arrays are not in Headrace yet; use "
        "stype='default'"
    )
