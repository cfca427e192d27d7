"""Functions of MXNet's C interface that programs call by ctypes. They return 0, and raise what goes wrong."""

import ctypes
import functools

import numpy as np

from .. import _generator, engine, operator
from .. import ndarray as nd
from ..base import ArrayAttributeError, ArrayValueError
from ..libinfo import __version__ as MXNET_VERSION
from ..ndarray.handles import array_of, number_of

# Of the functions of Python's own interface that programs take capsules apart with, as MXNet has them.
ctypes.pythonapi.PyCapsule_GetPointer.restype = ctypes.c_void_p
ctypes.pythonapi.PyCapsule_New.restype = ctypes.py_object
ctypes.pythonapi.PyCapsule_New.argtypes = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)

_made = {}  # arrays that functions of this module gave handles of, until MXNDArrayFree
_DLTENSOR = b"dltensor"  # capsules point to it


def __getattr__(name):
    raise ArrayAttributeError(
        f"mx.base._LIB.{name}: there is no C library of MXNet in Headrace; call the Python functions"
    )


def _number(given):
    """Of ctypes, or an int."""
    return getattr(given, "value", given)


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
    array, size = array_of(handle), _number(size)
    if array.size != size:
        raise ArrayValueError(f"mx.base._LIB: memory of {size} elements for an array of {array.size}")
    return array


def MXNDArrayWaitAll():
    """Waits for all operations."""
    engine.waitall()
    return 0


def MXRandomSeed(seed):
    """Seeds the random numbers of all devices."""
    _generator.seed(_number(seed))
    return 0


def MXGetVersion(out):
    """Writes 10901 for version 1.9.1 to the int at `out`."""
    major, minor, patch = map(int, MXNET_VERSION.split("."))
    ctypes.cast(out, ctypes.POINTER(ctypes.c_int))[0] = 10000 * major + 100 * minor + patch
    return 0


def MXNDArrayFromDLPack(tensor, out):
    """Writes the handle of an array over the memory of the DLManagedTensor at `tensor`, which it takes.

    The array lives until MXNDArrayFree, as other arrays of its memory do beside it.
    """
    array = nd.from_dlpack(ctypes.pythonapi.PyCapsule_New(tensor, _DLTENSOR, None))
    number = number_of(array)
    _made[number] = array
    ctypes.cast(out, ctypes.POINTER(ctypes.c_void_p))[0] = number
    return 0


def MXNDArrayFree(handle):
    """Lets go of an array that a function here made."""
    _made.pop(_number(handle), None)
    return 0


def MXRecordIOReaderTell(handle, out):
    """Writes where the next record of a reader begins."""
    ctypes.cast(out, ctypes.POINTER(ctypes.c_size_t))[0] = handle.tell()
    return 0


def MXSetNumOMPThreads(thread_num):
    """Takes the number of threads for an operator, which changes nothing: the engine divides the cores."""
    return 0


def MXListAllOpNames(out_count, out_names):
    """Writes how many operators there are, and where their names lie, which stay there."""
    names = _operator_names()
    ctypes.cast(out_count, ctypes.POINTER(ctypes.c_uint))[0] = len(names)
    first = ctypes.cast(names, ctypes.POINTER(ctypes.c_char_p))
    ctypes.cast(out_names, ctypes.POINTER(ctypes.POINTER(ctypes.c_char_p)))[0] = first
    return 0


@functools.cache
def _operator_names():
    names = sorted(operator.get_all_registered_operators())
    return (ctypes.c_char_p * len(names))(*(name.encode() for name in names))


def MXSetSubgraphPropertyOpNames(backend, num_ops, op_names):
    """Takes the names of operators that a backend is to run as parts of their own, which changes no result.

    There are no such parts here: a graph is compiled as a whole.
    """
    return 0


def MXRemoveSubgraphPropertyOpNames(backend):
    """Forgets the names again."""
    return 0


MXSetSubgraphPropertyOpNamesV2 = MXSetSubgraphPropertyOpNames
MXRemoveSubgraphPropertyOpNamesV2 = MXRemoveSubgraphPropertyOpNames
