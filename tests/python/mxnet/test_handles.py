"""Arrays by their handles, as callbacks written for MXNet's C interface make them."""

import ctypes
import gc

import numpy as np
import pytest

import headrace as mx
from headrace.mxnet._c_names import _LIB, NDArrayHandle, check_call


def test_a_handle_names_the_array():
    x = mx.nd.ones((2, 3))
    same = mx.nd.NDArray(x.handle, writable=False)
    x[:] = 5
    assert type(same) is mx.nd.NDArray and (same.asnumpy() == 5).all()
    assert (mx.nd.NDArray(handle=NDArrayHandle(x.handle)).asnumpy() == 5).all()
    assert type(mx.np.ndarray(x.handle)) is mx.np.ndarray


def test_arrays_are_cast_to_handles():
    x = mx.nd.arange(4)
    handle = ctypes.cast(x, NDArrayHandle)
    assert handle.value == x.handle
    assert (mx.nd.NDArray(handle, writable=False).asnumpy() == np.arange(4)).all()


def test_sparse_arrays_stay_sparse():
    x = mx.nd.array([[0, 2], [0, 0]]).tostype("csr")
    assert mx.nd.NDArray(x.handle).stype == "csr"


def test_an_array_is_its_own_handle():
    x = mx.nd.ones((2,))
    x.attach_grad()
    with mx.autograd.record():
        y = mx.nd.NDArray(x) * 3
    y.backward()
    assert (x.grad.asnumpy() == 3).all()


def test_without_a_handle_there_are_no_elements():
    assert mx.nd.NDArray().size == 0


def test_what_is_no_handle():
    for wrong in ("x", [1.0, 2.0], (2, 3)):
        with pytest.raises(TypeError, match="nd.array"):
            mx.nd.NDArray(wrong)
    x = mx.nd.ones((2,))
    handle = x.handle
    del x
    gc.collect()
    with pytest.raises(ValueError, match="no array has the handle"):
        mx.nd.NDArray(handle)


def test_monitors_cast_what_they_are_given():
    seen = {}

    def note(name, arr):
        array = mx.nd.NDArray(ctypes.cast(arr, NDArrayHandle), writable=False)
        seen[name.decode()] = array.asnumpy().tolist()

    executor = mx.sym.relu(mx.sym.var("x"), name="relu").bind(mx.cpu(), {"x": mx.nd.array([-1, 3])})
    executor.set_monitor_callback(note)
    executor.forward()
    assert seen == {"relu_output": [0, 3]}


class TestFunctionsOfTheLibrary:
    @pytest.mark.parametrize("dtype", ["float32", "float16", "int64", "uint8", "bfloat16"])
    def test_elements_are_copied_by_pointers(self, dtype):
        x = mx.nd.array([[1, 2], [3, 4]], dtype=dtype).T
        out = np.zeros(4, x.dtype)
        place, size = out.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(x.size)
        check_call(_LIB.MXNDArraySyncCopyToCPU(x.handle, place, size))
        assert (out.reshape(2, 2) == x.asnumpy()).all()
        y = mx.nd.zeros((2, 2), dtype=dtype)
        check_call(_LIB.MXNDArraySyncCopyFromCPU(y.handle, place, size))
        assert (y.asnumpy() == x.asnumpy()).all() and y.dtype == x.dtype

    def test_pointers_of_every_kind(self):
        x, floats = mx.np.array([1.0, 2.0]), (ctypes.c_float * 2)()
        for place in (floats, ctypes.byref(floats), ctypes.pointer(floats), ctypes.addressof(floats)):
            floats[:] = [0, 0]
            check_call(_LIB.MXNDArraySyncCopyToCPU(NDArrayHandle(x.handle), place, 2))
            assert floats[:] == [1, 2]
        empty = mx.nd.zeros((0, 2))
        check_call(_LIB.MXNDArraySyncCopyToCPU(empty.handle, None, 0))
        check_call(_LIB.MXNDArraySyncCopyFromCPU(empty.handle, None, 0))

    def test_memory_of_another_size_is_left_alone(self):
        x, floats = mx.nd.ones((3,)), (ctypes.c_float * 2)()
        for copy in (_LIB.MXNDArraySyncCopyToCPU, _LIB.MXNDArraySyncCopyFromCPU):
            with pytest.raises(mx.MXNetError, match="memory of 2 elements for an array of 3"):
                copy(x.handle, floats, ctypes.c_size_t(2))
        assert floats[:] == [0, 0] and (x.asnumpy() == 1).all()

    def test_waiting_seeds_and_the_version(self):
        check_call(_LIB.MXNDArrayWaitAll())
        drawn = []
        for seed in (7, ctypes.c_int(7)):
            check_call(_LIB.MXRandomSeed(seed))
            drawn.append(mx.nd.random.uniform(shape=(3,)).asnumpy().tolist())
        assert drawn[0] == drawn[1]
        version = ctypes.c_int()
        check_call(_LIB.MXGetVersion(ctypes.byref(version)))
        assert version.value == 10901

    def test_places_of_records(self, tmp_path):
        path, position = str(tmp_path / "some.rec"), ctypes.c_size_t()
        writer = mx.recordio.MXRecordIO(path, "w")
        writer.write(b"abc")
        writer.close()
        reader = mx.recordio.MXRecordIO(path, "r")
        for expected in (0, 12):
            check_call(_LIB.MXRecordIOReaderTell(reader.handle, ctypes.byref(position)))
            assert position.value == expected
            reader.read()
        check_call(_LIB.MXSetNumOMPThreads(ctypes.c_int(2)))

    def test_arrays_over_memory_of_dlpack(self):
        x = mx.nd.array([[1, 2], [3, 4]])
        capsule = ctypes.py_object(mx.nd.to_dlpack_for_write(x))
        tensor = ctypes.pythonapi.PyCapsule_GetPointer(capsule, b"dltensor")
        handle = NDArrayHandle()
        check_call(_LIB.MXNDArrayFromDLPack(ctypes.c_void_p(tensor), ctypes.byref(handle)))
        ctypes.pythonapi.PyCapsule_SetName(capsule, b"used_dltensor")
        ctypes.pythonapi.PyCapsule_SetDestructor(capsule, None)
        y = mx.nd.NDArray(handle=handle)
        y[:] = 5
        assert (x.asnumpy() == 5).all()
        check_call(_LIB.MXNDArrayFree(handle))

    def test_names_of_operators(self):
        count, names = ctypes.c_uint(), ctypes.POINTER(ctypes.c_char_p)()
        check_call(_LIB.MXListAllOpNames(ctypes.byref(count), ctypes.byref(names)))
        assert {"Convolution", "_npi_add"} < {names[i].decode() for i in range(count.value)}

    def test_parts_of_graphs_may_be_named_for_a_backend(self):
        names = (ctypes.c_char_p * 1)(b"exp")
        y = mx.sym.exp(mx.sym.var("x")) + 1
        x = mx.nd.array([0, 1])
        for of in ("", "V2"):
            check_call(
                getattr(_LIB, f"MXSetSubgraphPropertyOpNames{of}")(b"default", ctypes.c_uint(1), names)
            )
            part = y.optimize_for("default")
            check_call(getattr(_LIB, f"MXRemoveSubgraphPropertyOpNames{of}")(b"default"))
            assert (part.eval(x=x)[0].asnumpy() == y.eval(x=x)[0].asnumpy()).all()

    def test_other_functions_are_errors(self):
        with pytest.raises(AttributeError, match="_LIB.MXSymbolFree: there is no C library of MXNet"):
            _LIB.MXSymbolFree(0)
