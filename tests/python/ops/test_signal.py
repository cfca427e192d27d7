"""Fourier transforms of many lengths against NumPy, count_sketch, and checks of whole arrays."""

import numpy
import pytest

from headrace import nd, np, npx
from headrace.base import MXNetError

RANDOM = numpy.random.RandomState(13)


def paired(numbers):
    """Complex numbers as pairs of real and imaginary part."""
    return numpy.stack([numbers.real, numbers.imag], -1).reshape(*numbers.shape[:-1], -1)


@pytest.mark.parametrize("n", [1, 2, 3, 8, 12, 30, 31, 37, 64, 74, 97, 100, 210, 1009, 1024])
def test_fft_of_any_length(n):
    x = RANDOM.uniform(-1, 1, (2, 3, n))
    expected = numpy.fft.fft(x)
    spectrum = nd.contrib.fft(nd.array(x, dtype="float64"))
    assert spectrum.shape == (2, 3, 2 * n)
    numpy.testing.assert_allclose(spectrum.asnumpy(), paired(expected), atol=1e-11 * n)
    back = nd.contrib.ifft(spectrum)
    numpy.testing.assert_allclose(back.asnumpy() / n, x, atol=1e-12)


def test_ifft_takes_the_real_part():
    numbers = RANDOM.uniform(-1, 1, (2, 5)) + 1j * RANDOM.uniform(-1, 1, (2, 5))
    back = nd.contrib.ifft(nd.array(paired(numbers), dtype="float64"))
    numpy.testing.assert_allclose(back.asnumpy(), 5 * numpy.fft.ifft(numbers).real, atol=1e-12)


def test_what_has_no_transform():
    with pytest.raises(TypeError):
        nd.contrib.fft(nd.ones((2, 3), dtype="int32"))
    with pytest.raises(MXNetError, match="pairs"):
        nd.contrib.ifft(nd.ones((2, 3)))
    assert nd.contrib.fft(nd.ones((0, 3))).shape == (0, 6)


def test_count_sketch():
    x = nd.array([[1.2, 2.5, 3.4], [3.2, 5.7, 6.6]])
    sums = nd.contrib.count_sketch(x, nd.array([[0, 3, 3]]), nd.array([[1, -1, 1]]), out_dim=5).asnumpy()
    numpy.testing.assert_allclose(sums, [[1.2, 0, 0, 0.9, 0], [3.2, 0, 0, 0.9, 0]], rtol=1e-5)
    with pytest.raises(ValueError, match="places from 0 to 2"):
        nd.contrib.count_sketch(x, nd.array([[0, 3, 4]]), nd.array([[1, -1, 1]]), out_dim=3).asnumpy()
    with pytest.raises(MXNetError, match="h must hold 3 numbers"):
        nd.contrib.count_sketch(x, nd.array([[0, 3]]), nd.array([[1, -1, 1]]), out_dim=5)


@pytest.mark.parametrize(
    "a, b, keywords, expected",
    [
        ([1e10, 1e-7], [1.00001e10, 1e-8], {}, 0),
        ([1e10, 1e-8], [1.00001e10, 1e-9], {}, 1),
        ([1, numpy.nan], [1, numpy.nan], {}, 1),
        ([1, numpy.nan], [1, numpy.nan], {"equal_nan": False}, 0),
        ([1, numpy.inf], [1, numpy.inf], {}, 1),
        ([1, 2], [1, 2.5], {"rtol": 0.1, "atol": 0.3}, 1),
    ],
)
def test_allclose(a, b, keywords, expected):
    result = nd.contrib.allclose(nd.array(a, dtype="float64"), nd.array(b, dtype="float64"), **keywords)
    assert (result.dtype, result.shape, int(result.asnumpy())) == (numpy.uint8, (), expected)


def test_constraint_check():
    scale = np.array([1.0, 2.0])
    assert (scale * npx.constraint_check(scale > 0)).asnumpy().tolist() == [1, 2]
    with pytest.raises(ValueError, match="too small"):
        npx.constraint_check(scale > 1, "too small").asnumpy()
    with pytest.raises(TypeError, match="bool"):
        npx.constraint_check(scale)


def test_getnnz():
    matrix = nd.array([[1, 0, 2], [0, 0, 3]]).tostype("csr")
    assert nd.contrib.getnnz(matrix).asnumpy().tolist() == [3]
    assert nd.contrib.getnnz(matrix, axis=1).asnumpy().tolist() == [2, 1]
    assert nd.contrib.getnnz(matrix, axis=0).asnumpy().tolist() == [1, 0, 2]
    with pytest.raises(MXNetError, match="csr"):
        nd.contrib.getnnz(nd.ones((2, 2))).asnumpy()
