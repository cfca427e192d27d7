"""Exchange of memory with libraries that read DLPack capsules: DGL, PyTorch."""

import ctypes

import numpy
import pytest

from headrace import nd, np, util

MODULES = pytest.mark.parametrize("module", [nd, np], ids=["nd", "np"])


class Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device", ctypes.c_int * 2),
        ("ndim", ctypes.c_int),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class Managed(ctypes.Structure):
    _fields_ = [("tensor", Tensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


DELETER = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


def test_empty_arrays_need_no_memory():
    shape, freed = (ctypes.c_int64 * 1)(0), []
    deleter = DELETER(freed.append)
    tensor = Tensor(None, (1, 0), 1, 0, 64, 1, shape, None, 0)
    managed = Managed(tensor, None, ctypes.cast(deleter, ctypes.c_void_p))
    make = ctypes.pythonapi.PyCapsule_New
    make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    with util.np_shape(True):
        array = nd.from_dlpack(make(ctypes.addressof(managed), b"dltensor", None))
        assert freed == [ctypes.addressof(managed)]
        assert array.shape == (0,) and array.dtype == numpy.int64
        assert (array + 1).shape == array.copy().shape == (0,)
        assert nd.from_dlpack(array.to_dlpack_for_read()).shape == (0,)


@MODULES
def test_what_is_read_lies_one_after_another(module):
    array = module.array(numpy.arange(12).reshape(3, 4))
    for view in (array.T, array[:, ::2], array[:, 1]):
        shared = nd.from_dlpack(view.to_dlpack_for_read())
        assert shared._is_contiguous and (shared.asnumpy() == view.asnumpy()).all()
    shared = nd.from_dlpack(array.to_dlpack_for_read())
    array[0, 0] = 9
    assert shared.asnumpy()[0, 0] == 9
