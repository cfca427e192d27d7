"""Arrays by their handles, as callbacks written for MXNet's C interface make them."""

import ctypes
import gc

import numpy as np
import pytest

import headrace as mx
from headrace.mxnet._c_names import NDArrayHandle


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
