"""Names that MXNet's modules have because they call a C library, and that programs import from there.

There is no such library here: the types and helpers are real, and `_LIB` has a few functions in Python.
"""

import builtins
import ctypes

import numpy as np

from ..base import MXNetError
from ..context import Context, _ContextType
from ..ndarray.handles import DTYPE_NUMBERS, shared_values
from ..ndarray.ndarray import from_numpy
from . import _c_library

_LIB = _c_library

py_slice = builtins.slice

# Programs give the class of Context, whose property default_ctx is, another `__setattr__`.
_MXClassPropertyMetaClass, _MXClassPropertyDescriptor = _ContextType, builtins.property

mx_int, mx_uint, mx_int64, mx_float = ctypes.c_int, ctypes.c_uint, ctypes.c_int64, ctypes.c_float
mx_float_p = ctypes.POINTER(mx_float)
c_int_p = ctypes.POINTER(ctypes.c_int)
NDArrayHandle = FunctionHandle = OpHandle = CachedOpHandle = SymbolHandle = ExecutorHandle = ctypes.c_void_p
DataIterCreatorHandle = DataIterHandle = KVStoreHandle = RecordIOHandle = RtcHandle = ctypes.c_void_p
CudaModuleHandle = CudaKernelHandle = ProfileHandle = DLPackHandle = ctypes.c_void_p

# Numbers in MXNet's files and interfaces.
_STORAGE_TYPE_UNDEFINED, _STORAGE_TYPE_DEFAULT, _STORAGE_TYPE_ROW_SPARSE, _STORAGE_TYPE_CSR = -1, 0, 1, 2
_STORAGE_TYPE_STR_TO_ID = {"undefined": -1, "default": 0, "row_sparse": 1, "csr": 2}
_STORAGE_TYPE_ID_TO_STR = {number: name for name, number in _STORAGE_TYPE_STR_TO_ID.items()}
_GRAD_REQ_MAP = {"null": 0, "write": 1, "add": 3}
_DTYPE_NP_TO_MX = DTYPE_NUMBERS
_DTYPE_MX_TO_NP = {number: dtype for dtype, number in _DTYPE_NP_TO_MX.items()}


def _new_from_shared_mem(shared_pid, shared_id, shape, dtype):
    """The array that `_to_shared_mem()` of another one copied to shared memory."""
    return from_numpy(shared_values(shared_id, shape, dtype)).as_in_context(Context("cpu_shared", 0))


class DLContext(ctypes.Structure):
    """DLPack: where memory is."""

    _fields_ = (("device_type", ctypes.c_int), ("device_id", ctypes.c_int))


class DLDataType(ctypes.Structure):
    """DLPack: what an element is. `TYPE_MAP`: (code, bits, lanes) of NumPy's names."""

    _fields_ = (("type_code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16))
    TYPE_MAP = {
        name: (code, np.dtype(name).itemsize * 8 if name != "bool" else 1, 1)
        for code, names in enumerate(
            ("int32 int64", "bool uint8 uint32 uint64", "float16 float32 float64"),
        )
        for name in names.split()
    }


class DLTensor(ctypes.Structure):
    """DLPack: an array; `strides` are in elements, null for row-major ones."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("ctx", DLContext),
        ("ndim", ctypes.c_int),
        ("dtype", DLDataType),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


class DLManagedTensor(ctypes.Structure):
    """DLPack: an array with the function that releases it."""


DLManagedTensor._fields_ = (
    ("dl_tensor", DLTensor),
    ("manager_ctx", ctypes.c_void_p),
    ("deleter", ctypes.CFUNCTYPE(None, ctypes.POINTER(DLManagedTensor))),
)


class _NullType:
    """The type of `_Null`: an argument that was not given."""

    def __repr__(self):
        return "_Null"


_Null = _NullType()


class MXCallbackList(ctypes.Structure):
    """Functions with their contexts, as MXNet's C interface takes them."""

    _fields_ = [
        ("num_callbacks", ctypes.c_int),
        ("callbacks", ctypes.POINTER(ctypes.CFUNCTYPE(ctypes.c_int))),
        ("contexts", ctypes.POINTER(ctypes.c_void_p)),
    ]


def check_call(ret):
    """MXNetError: the status of a call is not 0."""
    if ret != 0:
        raise MXNetError(f"a call of the C interface failed with status {ret}")


def c_str(string):
    """A str as a C string."""
    return ctypes.c_char_p(string.encode("utf-8"))


def c_str_array(strings):
    """A list of str as an array of C strings."""
    return (ctypes.c_char_p * len(strings))(*[string.encode("utf-8") for string in strings])


def c_array(ctype, values):
    """A list as a C array."""
    return (ctype * len(values))(*values)


def c_array_buf(ctype, buf):
    """A writable buffer as a C array over the same memory."""
    return (ctype * len(buf)).from_buffer(buf)


def ctypes2buffer(cptr, length):
    """A copy of `length` chars at a C pointer, as a bytearray. TypeError: it is no pointer of chars."""
    if not isinstance(cptr, ctypes.POINTER(ctypes.c_char)):
        raise TypeError("expected char pointer")
    return bytearray(ctypes.string_at(cptr, length))


def ctypes2numpy_shared(cptr, shape):
    """A NumPy array over the floats at a C pointer. TypeError: it is no pointer of floats."""
    if not isinstance(cptr, mx_float_p):
        raise TypeError("expected float pointer")
    return np.ctypeslib.as_array(cptr, shape=tuple(shape))


def _as_list(obj):
    """A list or tuple as it is, anything else in a list."""
    return obj if isinstance(obj, (list, tuple)) else [obj]


def with_metaclass(meta, *bases):
    """A base class with a metaclass, in the spelling of Python 2 and 3."""
    return meta("NewBase", bases, {})
