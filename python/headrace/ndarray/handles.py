"""Numbers that name arrays: what programs for MXNet pass to and get from functions of its C interface."""

import ctypes
import os
import weakref

import numpy

from .. import _core
from .._shared_memory import Segment
from ..base import ArrayTypeError, ArrayValueError

_BFLOAT16 = numpy.dtype([("bfloat16", numpy.uint16)])
_KINDS = (
    *(numpy.float32, numpy.float64, numpy.float16, numpy.uint8),
    *(numpy.int32, numpy.int8, numpy.int64, numpy.bool_, _BFLOAT16),
)
# How MXNet's interfaces and files number the dtypes that it has.
DTYPE_NUMBERS = {None: -1, **{kind: _core.dtype_flag(kind) for kind in _KINDS}}

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


_lent = {}  # open file descriptors of memory that arrays are copied to, by number: what closes them


def share(array):
    """(process, file descriptor, shape, number of the dtype): a copy of the values in memory that other
    processes may map. The descriptor is open while the array lives.
    """
    values = array.asnumpy()
    segment, descriptor = Segment.create(max(1, values.nbytes))
    _lent[descriptor] = weakref.finalize(array, _close, descriptor)
    segment.numpy_bytes[: values.nbytes] = values.reshape(-1).view(numpy.uint8)
    return os.getpid(), descriptor, array.shape, DTYPE_NUMBERS[array.dtype]


def shared_values(descriptor, shape, number):
    """The values that `share` has copied, in a NumPy array over that memory. Closes the descriptor, unless
    this process has lent it.
    """
    dtype = next(dtype for dtype, known in DTYPE_NUMBERS.items() if known == number)
    count = numpy.prod(shape, dtype=numpy.int64)
    segment = Segment(descriptor, max(1, int(count) * numpy.dtype(dtype).itemsize))
    if descriptor not in _lent:
        os.close(descriptor)
    return numpy.frombuffer(segment.numpy_bytes, dtype, count).reshape(shape)


def _close(descriptor):
    del _lent[descriptor]
    os.close(descriptor)
