"""Functions of MXNet's C interface that programs call by ctypes. They return 0, and raise what goes wrong."""

import ctypes

import numpy as np

from .. import _generator, engine
from ..base import ArrayAttributeError, ArrayValueError
from ..libinfo import __version__ as MXNET_VERSION
from ..ndarray.handles import array_of


def __getattr__(name):
    raise ArrayAttributeError(
        f"mx.base._LIB.{name}: there is no C library of MXNet in Headrace; call the Python functions"
    )


def MXNDArraySyncCopyToCPU(handle, data, size):
    """Writes the elements of an array, all `size` of them, to the memory at `data`."""
    elements = np.ascontiguousarray(_array_of_size(handle, size).asnumpy())
    ctypes.memmove(data, elements.ctypes.data, elements.nbytes)
    return 0


def MXNDArraySyncCopyFromCPU(handle, data, size):
    """Reads the elements of an array, all `size` of them, from the memory at `data`."""
    array = _array_of_size(handle, size)
    elements = np.empty(array.shape, array.dtype)
    ctypes.memmove(elements.ctypes.data, data, elements.nbytes)
    array[:] = elements
    return 0


def _array_of_size(handle, size):
    array, size = array_of(handle), getattr(size, "value", size)  # of ctypes or an int
    if array.size != size:
        raise ArrayValueError(f"mx.base._LIB: memory of {size} elements for an array of {array.size}")
    return array


def MXNDArrayWaitAll():
    """Waits for all operations."""
    engine.waitall()
    return 0


def MXRandomSeed(seed):
    """Seeds the random numbers of all devices."""
    _generator.seed(getattr(seed, "value", seed))
    return 0


def MXGetVersion(out):
    """Writes 10901 for version 1.9.1 to the int at `out`."""
    major, minor, patch = map(int, MXNET_VERSION.split("."))
    ctypes.cast(out, ctypes.POINTER(ctypes.c_int))[0] = 10000 * major + 100 * minor + patch
    return 0
