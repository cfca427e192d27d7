"""Memory that nd and np arrays share with NumPy and other libraries: buffers, from_numpy, DLPack."""

import ctypes
import gc

import numpy
import pytest
from array_kinds import DTYPES, MODULES, host, same

from headrace import nd, np


@MODULES
@pytest.mark.parametrize("dtype", DTYPES)
def test_buffer_protocol(module, dtype):
    array = module.array(host(), dtype=dtype)
    view = memoryview(array)
    assert view.shape == (2, 3)
    assert view.nbytes == host(dtype).nbytes
    assert numpy.dtype(view.format) == dtype
    numpy.testing.assert_array_equal(numpy.array(view), host(dtype))
    shared = numpy.frombuffer(view, dtype).reshape(2, 3)
    array[0, 0] = 1
    array.wait_to_read()
    assert shared[0, 0] == 1
    shared[1, 2] = 0
    assert array.asnumpy()[1, 2] == 0


def test_buffers_of_views_and_of_the_departed():
    array = np.array(host())
    strided = memoryview(array[:, ::2])
    assert strided.strides == (12, 8)
    assert strided.tolist() == host()[:, ::2].tolist()
    del array
    gc.collect()
    assert strided.tolist() == host()[:, ::2].tolist()
    with pytest.raises(TypeError, match="bfloat16"):
        memoryview(np.zeros((2,), dtype="bfloat16"))


# Of C and of Fortran order, of any of the two, and without strides: what a consumer in C asks for.
@pytest.mark.parametrize(
    ("order", "granted"),
    [("C", "C"), ("F", "F"), ("A", "CF"), ("packed", "C")],
)
def test_buffers_in_the_order_that_is_asked_for(order, granted):
    flags = {"C": 0x38, "F": 0x58, "A": 0x98, "packed": 0x0}[order]
    rows = np.array(host())
    for array, its_order in ((rows, "C"), (rows.T, "F"), (rows[:, ::2], None)):
        view = (ctypes.c_byte * 256)()  # as large as a Py_buffer of any Python
        get_buffer = ctypes.pythonapi.PyObject_GetBuffer
        if its_order and its_order in granted:
            assert get_buffer(ctypes.py_object(array), ctypes.byref(view), flags) == 0
            ctypes.pythonapi.PyBuffer_Release(ctypes.byref(view))
        else:
            with pytest.raises(BufferError, match="copy"):
                get_buffer(ctypes.py_object(array), ctypes.byref(view), flags)


def test_from_numpy():
    source = host()
    array = nd.from_numpy(source)
    assert not source.flags.writeable
    same(array, host())
    array[0, 0] = 5
    array.wait_to_read()
    assert source[0, 0] == 5
    with pytest.raises(ValueError):
        source[0, 0] = 1
    del source
    gc.collect()
    assert array.asnumpy()[0, 0] == 5
    with pytest.raises(ValueError, match="contiguous"):
        nd.from_numpy(host()[:, ::2])


def test_from_numpy_with_a_copy():
    source = host("float64")
    array = nd.from_numpy(source, zero_copy=False)
    source[:] = -1
    same(array, host("float64"))
    same(nd.from_numpy(host()[:, ::2], zero_copy=False), host()[:, ::2])


# NumPy exchanges bool through DLPack from 1.25 on.
OLD_NUMPY = numpy.lib.NumpyVersion(numpy.__version__) < "1.25.0"
DLPACK_DTYPES = [dtype for dtype in DTYPES if not (OLD_NUMPY and dtype == "bool")]


@MODULES
@pytest.mark.parametrize("dtype", DLPACK_DTYPES)
def test_numpy_from_dlpack_shares_memory(module, dtype):
    array = module.array(host(), dtype=dtype)
    shared = numpy.from_dlpack(array)
    assert shared.dtype == dtype
    numpy.testing.assert_array_equal(shared, host(dtype))
    array[0, 0] = 1
    array.wait_to_read()
    assert shared[0, 0] == 1
    del array
    gc.collect()
    assert shared[1, 0] == host(dtype)[1, 0]
    numpy.testing.assert_array_equal(numpy.from_dlpack(module.array(host())[:, ::2]), host()[:, ::2])


@pytest.mark.parametrize("dtype", DLPACK_DTYPES)
def test_from_dlpack_shares_memory(dtype):
    source = host(dtype)
    array = nd.from_dlpack(source)
    same(array, source)
    array[0, 0] = 1
    array.wait_to_read()
    assert source[0, 0] == 1
    same(nd.from_dlpack(host(dtype)[:, ::2]), host(dtype)[:, ::2])


@MODULES
def test_capsules_are_used_once(module):
    array = module.array(host())
    for export in (array.to_dlpack_for_read, array.to_dlpack_for_write, array.__dlpack__):
        capsule = export()
        shared = nd.from_dlpack(capsule)
        same(shared, host())
        with pytest.raises(ValueError, match="once"):
            nd.from_dlpack(capsule)
        unused = export()
        del unused
    for wrong in (5, host().tolist(), None):
        with pytest.raises(TypeError, match=f"__dlpack__, got {type(wrong).__name__}"):
            nd.from_dlpack(wrong)
    assert array.__dlpack_device__() == (1, 0)


@pytest.mark.skipif(OLD_NUMPY, reason="NumPy's asarray takes no copy")
def test_numpy_is_told_where_it_gets_no_view():
    with pytest.raises(ValueError, match="memoryview"):
        np.ones((2,)).__array__(copy=False)
    assert np.ones((2,)).__array__(copy=True).tolist() == [1, 1]
