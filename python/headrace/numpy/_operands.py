"""What np functions, which take arrays or symbols alike, ask of what they are given."""

from .. import _core
from ..ndarray.ndarray import NDArray
from .multiarray import array

__all__ = ["is_symbol", "listed", "operand", "shape_of", "size_of"]

is_symbol = _core.is_symbol


def operand(values, dtype=None, beside=None):
    """Arrays and symbols as they are; anything else as an array, on the device of the array `beside`."""
    if _core.is_operand(values):
        return values
    return array(values, dtype=dtype, ctx=beside.ctx if isinstance(beside, NDArray) else None)


def shape_of(value):
    """The shape of an array, and None of a symbol, which has none."""
    return None if is_symbol(value) else value.shape


def listed(results):
    """The results of an operator as a list, one, too."""
    return list(results) if isinstance(results, (list, tuple)) else [results]


def size_of(size):
    """An extent or a shape as a shape; None stays None."""
    if size is None or hasattr(size, "__index__"):
        return size if size is None else (size,)
    return tuple(size)
