"""What NumPy and PyTorch users reach for, beside MXNet's own words."""

import numpy
import pytest

import headrace
from headrace import nd, np

MODULES = pytest.mark.parametrize("module", [nd, np], ids=["nd", "np"])


def host(dtype="float32"):
    return numpy.arange(12, dtype=dtype).reshape(3, 4)


@MODULES
def test_what_programs_of_numpy_and_pytorch_reach_for(module):
    array = module.array(host())
    assert array.nbytes == host().nbytes
    assert module.ones((2, 3), dtype="float64").nbytes == 48
    numpy.testing.assert_array_equal(array.numpy(), host())
    assert array.to(headrace.cpu()) is array
    assert array.to("cpu(0)") is array
    for name in ("tpu", "gpu(x)", "", None, "cpu:"):
        with pytest.raises(ValueError, match="device|Context"):
            array.to(name)


def test_names_of_devices():
    found = [headrace.context.named_context(name) for name in ("gpu", "gpu(1)", "cuda:1", "cuda", "cpu(2)")]
    assert found == [headrace.gpu(i) for i in (0, 1, 1, 0)] + [headrace.cpu(2)]


def test_np_from_dlpack_gives_np_arrays():
    source = numpy.arange(6, dtype="float32")
    array = np.from_dlpack(source)
    assert type(array) is np.ndarray
    source[0] = 7
    assert array[0] == 7


def test_fourier_transforms_are_those_of_numpy():
    x = numpy.random.default_rng(3).normal(size=(4, 8))
    numpy.testing.assert_allclose(np.fft.rfft(np.array(x)), numpy.fft.rfft(x), rtol=1e-5)
    back = np.fft.irfft(numpy.fft.rfft(x).astype("complex64"))
    numpy.testing.assert_allclose(back, x, rtol=1e-4, atol=1e-5)
    assert type(np.fft.fftfreq(8)).__name__ == "ndarray"


def test_names_of_python_2():
    x = nd.array([4, 8])
    same = x.__idiv__(2)
    assert same is x and x.asnumpy().tolist() == [2, 4]
    assert x.__div__(2).asnumpy().tolist() == [1, 2] and x.__rdiv__(8).asnumpy().tolist() == [4, 2]
    assert nd.array([1]).__nonzero__() is True


@MODULES
def test_copies_lie_row_after_row(module):
    whole = module.array([[1, 2, 3], [4, 5, 6]])
    copy = whole.T.copy()
    copy.reshape((-1,))[:2] = 0
    assert copy.asnumpy().tolist() == [[0, 0], [2, 5], [3, 6]]
    assert whole.asnumpy().tolist() == [[1, 2, 3], [4, 5, 6]]


def test_bfloat16_arrays_show_their_values():
    values = [1.5, -2, 0.25]
    assert repr(np.array(values, dtype="bfloat16")) == "array([ 1.5 , -2.  ,  0.25], dtype=bfloat16)"
    assert str(np.array(values, dtype="bfloat16")) == "[ 1.5  -2.    0.25]"
    assert repr(nd.array(values, dtype="bfloat16")) == "\n[ 1.5  -2.    0.25]\n<NDArray 3 @cpu(0)>"
    long = repr(np.zeros((60,), dtype="bfloat16"))
    assert "16" not in long.replace("dtype=bfloat16", "") and long.endswith("dtype=bfloat16)")
    assert np.array(values, dtype="bfloat16").tolist() == values
