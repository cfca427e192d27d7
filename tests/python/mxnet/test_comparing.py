"""headrace.mxnet.test_utils: whether results are equal, and what is said when they are not."""

import numpy as np
import pytest

import headrace as mx
from headrace.mxnet import test_utils as tools


@pytest.mark.parametrize("make", [np.asarray, mx.nd.array, mx.np.array])
def test_kinds_of_arrays_mix(make):
    a = np.array([1.0, 2.0], dtype="float32")
    tools.assert_almost_equal(make(a), a)
    tools.assert_almost_equal(a * np.float32(1.00001), make(a))
    with pytest.raises(AssertionError, match="exceeds tolerance"):
        tools.assert_almost_equal(make(a), a + 1)
    assert tools.same(make(a), a) and not tools.same(make(a), a[:1])


def test_tolerances_are_those_of_the_less_precise_dtype():
    a = np.ones(2)
    assert tools.get_tols(a.astype("float16"), a, None, None) == (1e-2, 1e-1)
    assert tools.get_tols(mx.nd.ones(2), a, None, 0.5) == (1e-4, 0.5)
    assert tools.get_tols(1, 2.0, {np.dtype("float64"): 0.25}, None) == (0.25, 1e-20)
    assert tools.get_rtol() == 1e-5 and tools.get_atol(None, np.float32) == 1e-3 and tools.get_rtol(3) == 3
    assert tools.get_etol() == 0 and tools.default_dtype() is np.float32
    assert tools.default_numeric_eps()[np.dtype("float32")] == 2**-9
    with pytest.raises(AssertionError):
        tools.assert_almost_equal(np.array([5]), np.array([6]))  # integers must be equal


def test_the_text_names_the_largest_error(capsys):
    a, b = np.zeros((2, 3)), np.zeros((2, 3))
    b[1, 2], b[0, 1] = 4, 1
    with pytest.raises(AssertionError) as caught:
        tools.assert_almost_equal(a, b, rtol=0, atol=0.5, names=("found", "wanted"), mismatches=(1, 10))
    text = str(caught.value)
    assert "Error 8.000000 exceeds tolerance rtol=0.000000e+00, atol=5.000000e-01 (mismatch 33.3" in text
    assert "Location of maximum error: (1, 2), found=0.00000000, wanted=4.00000000" in text
    printed = capsys.readouterr().out
    assert "  1: Error 8.000000" in printed and "  2: " not in printed


def test_shapes_and_infinities():
    inf, nan = float("inf"), float("nan")
    tools.assert_almost_equal(np.array([inf, -inf, 1]), np.array([inf, -inf, 1]))
    tools.assert_almost_equal(np.ones((2, 3)), 1.0)
    tools.assert_almost_equal(np.zeros((0, 3)), np.zeros((0, 3)))
    with pytest.raises(AssertionError, match="are not equal"):
        tools.assert_almost_equal(np.ones((2, 3)), np.ones(3), use_broadcast=False)
    with pytest.raises(AssertionError, match="exceeds"):
        tools.assert_almost_equal(np.array([inf]), np.array([-inf]))
    with pytest.raises(AssertionError, match="exceeds"):
        tools.assert_almost_equal(np.array([nan]), np.array([nan]))
    tools.assert_almost_equal(np.array([nan]), np.array([nan]), equal_nan=True)
    tools.assert_allclose(np.array([nan]), np.array([nan]))
    tools.assert_almost_equal_ignore_nan(np.array([nan, 1]), np.array([3, 1.0]))
    with pytest.raises(AssertionError, match="exceeds"):
        tools.assert_almost_equal_ignore_nan(np.array([nan, 2]), np.array([3, 1.0]))
    tools.assert_almost_equal(np.array([True]), np.array([True]))
    with pytest.raises(AssertionError):
        tools.assert_almost_equal(np.array([True]), np.array([False]))


def test_a_share_of_elements_may_differ():
    a, b = np.zeros(10), np.zeros(10)
    b[0] = 1
    tools.assert_almost_equal_with_err(a, b, etol=0.1)
    with pytest.raises(AssertionError, match="mismatch 10"):
        tools.assert_almost_equal_with_err(a, b, etol=0.05)
    with pytest.raises(AssertionError):
        tools.assert_almost_equal_with_err(a, b)


def test_shared_memory():
    x = mx.nd.array([0.1, 0.2])
    assert tools.same_array(x, x.reshape((2, 1)).reshape((2,)))
    assert not tools.same_array(x, x.copy())
    assert x.asnumpy().tolist() == np.array([0.1, 0.2], dtype="float32").tolist()


def test_exceptions_and_tuples():
    tools.assert_exception(int, ValueError, "x")
    with pytest.raises(AssertionError, match="raised no"):
        tools.assert_exception(int, ValueError, "1")
    with pytest.raises(ValueError):
        tools.assert_exception(int, KeyError, "x")
    one = mx.nd.ones(2)
    tools.compare_ndarray_tuple((one, (None, one)), (one, (one, one)))
    with pytest.raises(AssertionError):
        tools.compare_ndarray_tuple((one, (one,)), (one, (one + 1,)))
