"""NumPy's arrays and numbers beside arrays: operators in both orders, and what libraries that plot call."""

import operator

import numpy
import pytest

from headrace import autograd, nd, np
from headrace.base import MXNetError

ARITHMETIC = ["add", "sub", "mul", "truediv", "mod", "pow"]
COMPARISONS = ["eq", "ne", "lt", "le", "gt", "ge"]
MODULES = pytest.mark.parametrize("module", [nd, np], ids=["nd", "np"])
OWN = numpy.array([[3, 4, 5], [2, 7, 1]], "float32")
OTHERS = {
    "float32": OWN[::-1].copy(),
    "float64": numpy.array([[2.0, 4.0, 0.5], [2.0, 3.0, 1.0]]),
    "int64": numpy.array([[2, 4, 1], [2, 3, 1]]),
    "row": numpy.array([2.0, 4.0, 1.0]),
    "column": numpy.array([[2.0], [4.0]]),
    "strided": numpy.arange(1.0, 13.0).reshape(2, 6)[:, ::2],
    "read-only": numpy.broadcast_to(numpy.float32(2), (2, 3)),
    "scalar": numpy.float64(2),
    "integer": numpy.int64(2),
}


def check(got, kind, expected, dtype):
    assert type(got) is kind
    assert numpy.dtype(got.dtype) == dtype
    numpy.testing.assert_allclose(got.asnumpy(), expected, rtol=1e-6)


@MODULES
@pytest.mark.parametrize("other", OTHERS)
@pytest.mark.parametrize("name", ARITHMETIC + COMPARISONS)
def test_operators_in_both_orders(name, other, module):
    operate, values = getattr(operator, name), OTHERS[other]
    array = module.array(OWN)
    dtype = "float32"
    if module is np:
        is_wide = isinstance(values, numpy.ndarray) and values.dtype == "float64"
        dtype = "bool" if name in COMPARISONS else "float64" if is_wide else "float32"
    check(operate(array, values), type(array), operate(OWN, values), dtype)
    check(operate(values, array), type(array), operate(values, OWN), dtype)


@MODULES
@pytest.mark.parametrize("other", OTHERS)
@pytest.mark.parametrize("name", ["iadd", "isub", "imul", "itruediv", "imod", "ipow"])
def test_operators_in_place(name, other, module):
    operate, values = getattr(operator, name), OTHERS[other]
    array = module.array(OWN)
    alias, expected = array, OWN.copy()
    array = operate(array, values)
    if name == "ipow":  # a new array, as in MXNet
        assert array is not alias
        dtype = numpy.dtype((module.array(OWN) ** values).dtype)
    else:
        assert array is alias
        dtype = "float32"
    check(array, type(array), operate(expected, values), dtype)


def test_numpy_arrays_change_in_place():
    host = OWN.copy()
    alias = host
    host += np.array(OWN)
    assert host is alias and type(host) is numpy.ndarray
    numpy.testing.assert_array_equal(host, 2 * OWN)
    numbers = numpy.array([1, 2, 3])
    with pytest.raises(TypeError, match="[Cc]annot cast"):
        numbers += np.array([0.5, 0.5, 0.5])
    numpy.multiply(host, np.array(OWN), out=host)
    numpy.testing.assert_array_equal(host, 2 * OWN * OWN)


def test_nd_arrays_keep_their_dtype():
    for dtype in ("float16", "float64", "int32", "uint8"):
        array = nd.array([1, 2], dtype=dtype)
        for other in (numpy.array([3, 4]), numpy.array([True, False])):
            assert (array + other).dtype == (other + array).dtype == numpy.dtype(dtype)
    with pytest.raises(MXNetError, match="int32 and float64"):
        nd.array([1, 2], dtype="int32") + numpy.array([0.5, 1.0])
    for call in (lambda: nd.ones(2) + numpy.array(2.0), lambda: numpy.array(2.0) - nd.ones(2)):
        with pytest.raises(TypeError, match="item"):
            call()
    with pytest.raises((ValueError, MXNetError)):
        nd.ones(2) + numpy.ones(3)


def test_gradients_pass_operators_with_numpy_arrays():
    for module in (nd, np):
        array = module.array(OWN)
        array.attach_grad()
        with autograd.record():
            loss = (OTHERS["float32"] * array + array * OTHERS["float32"]).sum()
        loss.backward()
        numpy.testing.assert_array_equal(array.grad.asnumpy(), 2 * OTHERS["float32"])


@pytest.mark.parametrize("shape", [(4, 3), [4, 3], numpy.array([4, 3]), (numpy.int64(4), numpy.int32(3))])
def test_shapes_may_be_numpy_arrays(shape):
    assert nd.ones((1, 3)).broadcast_to(shape).shape == (4, 3)
    assert nd.zeros(shape).shape == np.zeros(shape).shape == (4, 3)
    assert nd.arange(12).reshape(shape=shape).shape == np.arange(12).reshape(shape).shape == (4, 3)
    assert nd.zeros(numpy.array(4)).shape == nd.zeros(numpy.int64(4)).shape == (4,)


def test_numpy_functions_of_nd_arrays_see_copies():
    array = nd.array(OWN)
    for call in (numpy.sin, numpy.isfinite, numpy.add.reduce, numpy.all, numpy.any):
        result, expected = call(array), call(OWN.astype("float32"))
        assert isinstance(result, (numpy.ndarray, numpy.generic))
        numpy.testing.assert_array_equal(result, expected)
    assert numpy.all(array == array) and not numpy.any(array != array)
    out = numpy.zeros(OWN.shape, "float32")
    assert numpy.maximum(array, 3, out=out) is out
    numpy.testing.assert_array_equal(out, numpy.maximum(OWN, 3))
    array.attach_grad()
    with autograd.record(), pytest.raises(MXNetError, match="sin: NumPy computes this function"):
        numpy.sin(array * 2)


def test_a_numpy_array_that_is_added_to_becomes_an_nd_array():
    values = numpy.ones(2, "float32")
    values += nd.array([1.0, 2.0])
    assert isinstance(values, nd.NDArray)
    assert values.asnumpy().tolist() == [2, 3]


# --- what matplotlib calls ---


def test_arrays_are_broadcast_beside_what_np_arrays_cannot_be():
    words = numpy.array(["a", "b", "c"])
    got = numpy.broadcast_arrays(np.array([1, 2, 3]), 0.5, None, words, np.ones((2, 1)))
    assert [one.shape for one in got] == [(2, 3)] * 5
    assert isinstance(got[0], np.ndarray) and isinstance(got[4], np.ndarray)
    numpy.testing.assert_array_equal(got[0].asnumpy(), [[1, 2, 3]] * 2)
    assert got[2][0, 0] is None and got[3][1].tolist() == ["a", "b", "c"]


def test_several_arrays_at_least_of_some_dimensions():
    arrays = [np.array(2.0), np.ones(3), np.ones((2, 2, 2))]
    hosts = [one.asnumpy() for one in arrays]
    for name in ("atleast_1d", "atleast_2d", "atleast_3d"):
        for module in (np, numpy):
            got = getattr(module, name)(*arrays)
            expected = getattr(numpy, name)(*hosts)
            assert [one.shape for one in got] == [one.shape for one in expected]
            assert all(isinstance(one, np.ndarray) for one in got)
            assert type(got) is (list if module is np else type(expected))
        assert getattr(np, name)(arrays[0]).shape == getattr(numpy, name)(hosts[0]).shape
    assert np.atleast_1d(3).shape == (1,)
    array = np.ones(2)
    array.attach_grad()
    with autograd.record():
        first, _ = np.atleast_2d(array, array)
        (first * 3).backward()
    numpy.testing.assert_array_equal(array.grad.asnumpy(), [3, 3])


def test_arguments_that_only_numpy_knows():
    array = np.array(OWN)
    numpy.testing.assert_allclose(numpy.mean(array, where=OWN > 2), OWN[OWN > 2].mean(), rtol=1e-6)
    masked = numpy.ma.masked_greater(OWN, 4)
    numpy.testing.assert_array_equal(numpy.ma.filled(masked * array, 0), numpy.ma.filled(masked * OWN, 0))
    with pytest.raises(TypeError):
        numpy.mean(array, axis="first")
    array.attach_grad()
    with autograd.record(), pytest.raises(MXNetError, match="recorded"):
        numpy.mean(array * 2, where=OWN > 2)


DRAWINGS = {
    "plot": lambda axes, x, y, z: axes.plot(x, y),
    "scatter": lambda axes, x, y, z: axes.scatter(x, y, c=x, s=y),
    "bar": lambda axes, x, y, z: axes.bar(x, y),
    "bar with labels": lambda axes, x, y, z: axes.bar(["a", "b", "c"], y),
    "barh": lambda axes, x, y, z: axes.barh(x, y),
    "quiver": lambda axes, x, y, z: axes.quiver(x, y, x, y),
    "imshow": lambda axes, x, y, z: axes.imshow(z),
    "hist": lambda axes, x, y, z: axes.hist(x, bins=3),
    "fill_between": lambda axes, x, y, z: axes.fill_between(x, y, x),
    "errorbar": lambda axes, x, y, z: axes.errorbar(x, y, yerr=x),
    "contour": lambda axes, x, y, z: axes.contour(z),
}


@MODULES
@pytest.mark.parametrize("name", DRAWINGS)
def test_pictures_are_those_of_numpy_arrays(name, module):
    reason = "matplotlib is not installed: it draws arrays, but nothing needs it"
    figure_module = pytest.importorskip("matplotlib.figure", reason=reason)
    agg = pytest.importorskip("matplotlib.backends.backend_agg", reason=reason)
    hosts = [numpy.array(v, "float32") for v in ([1, 2, 3], [4, 2, 6], [[1, 2], [3, 5]])]

    def picture(*arrays):
        figure = figure_module.Figure((2, 2), 40)
        DRAWINGS[name](figure.subplots(), *arrays)
        canvas = agg.FigureCanvasAgg(figure)
        canvas.draw()
        return numpy.asarray(canvas.buffer_rgba())

    numpy.testing.assert_array_equal(picture(*map(module.array, hosts)), picture(*hosts))


def test_numpy_s_functions_give_what_they_give_for_its_own_arrays():
    assert type(numpy.count_nonzero(np.array(OWN))) is int
    assert numpy.count_nonzero(np.array(OWN), axis=0).asnumpy().tolist() == [2, 2, 2]
    assert isinstance(numpy.histogram(np.array(OWN), bins=2), tuple)


def test_numpy_knows_the_dtype_of_an_array():
    dense = nd.ones((2, 2))
    for array in (dense, np.ones(3), dense.tostype("csr"), dense.tostype("row_sparse")):
        assert numpy.dtype(array) == numpy.float32
    halves = nd.ones(3, dtype="bfloat16")
    assert numpy.dtype(halves) == halves.dtype


@pytest.mark.parametrize("dtype", [">i2", ">i4", ">i8", ">f4", ">f8", ">u4"])
def test_numpy_arrays_of_the_other_byte_order(dtype):
    source = numpy.array([[1, 2], [3, 40]], dtype)
    for made in (np.array(source), nd.array(source), np.zeros((2, 2)) + source, np.asarray(source)):
        assert made.asnumpy().tolist() == source.tolist()
    assert np.array(source).dtype == numpy.dtype(dtype).newbyteorder("=")
    for target in (np.zeros((2, 2)), nd.zeros((2, 2))):
        target[:] = source
        assert target.asnumpy().tolist() == source.tolist()
