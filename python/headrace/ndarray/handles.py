"""Numbers that name arrays: what programs for MXNet pass to and get from functions of its C interface."""

import ctypes
import weakref

from ..base import ArrayTypeError, ArrayValueError

_named = weakref.WeakValueDictionary()  # those whose number somebody asked for


def number_of(array):
    """The number of the array, which names it while it lives."""
    number = id(array)
    _named[number] = array
    return number


def array_of(handle):
    """The array of a number or of a pointer with its value; an array is its own.

    ArrayTypeError: it is neither. ArrayValueError: no living array has the number.
    """
    if hasattr(handle, "_as_parameter_"):
        return handle
    number = handle.value if isinstance(handle, ctypes.c_void_p) else handle
    if not isinstance(number, int):
        raise ArrayTypeError(
            f"NDArray: a handle is an array's `handle`, got {type(handle).__name__}; "
            "make arrays of values by nd.array"
        )
    array = _named.get(number)
    if array is None:
        raise ArrayValueError(
            f"NDArray: no array has the handle {number}; an array's `handle` is valid while it lives"
        )
    return array
