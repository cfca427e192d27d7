"""sort, argsort, topk, unique and counting, against NumPy."""

import numpy
import pytest

from headrace import autograd, nd, np, npx

RNG = numpy.random.RandomState(13)
DTYPES = ["float32", "float64", "float16", "int8", "uint8", "int32", "int64"]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    "shape,axis", [((7,), -1), ((3, 50), 1), ((50, 3), 0), ((4, 30, 5), 1), ((2, 3), None)]
)
def test_sort_and_argsort(dtype, shape, axis):
    x = RNG.randint(0, 100, shape).astype(dtype)
    array = np.array(x)
    numpy.testing.assert_array_equal(np.sort(array, axis=axis).asnumpy(), numpy.sort(x, axis=axis))
    positions = np.argsort(array, axis=axis)
    assert positions.dtype == numpy.int64
    numpy.testing.assert_array_equal(positions.asnumpy(), numpy.argsort(x, axis=axis, kind="stable"))


@pytest.mark.parametrize("size", [100, 1000, 32769, 200001])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int64"])
def test_long_rows(size, dtype):
    x = RNG.uniform(-1000, 1000, size).astype(dtype)
    if dtype != "int64":
        x[::9] = numpy.nan
        x[1::9] = -numpy.inf
        x[2::9] = -0.0
    numpy.testing.assert_array_equal(np.sort(np.array(x)).asnumpy(), numpy.sort(x))
    numpy.testing.assert_array_equal(np.argsort(np.array(x)).asnumpy(), numpy.argsort(x, kind="stable"))


def test_descending():
    x = nd.array([3, 1, 2, 3])
    assert nd.sort(x, is_ascend=False).asnumpy().tolist() == [3, 3, 2, 1]
    assert nd.argsort(x, is_ascend=False).asnumpy().tolist() == [0, 3, 2, 1]
    assert nd.argsort(x).dtype == numpy.float32
    assert nd.argsort(x, dtype="int32").dtype == numpy.int32


@pytest.mark.parametrize("ascending", [False, True])
@pytest.mark.parametrize("k", [1, 3, 20])
@pytest.mark.parametrize("shape,axis", [((300000,), 0), ((5, 400), -1), ((400, 20), 0), ((40, 2, 3), 0)])
def test_topk(shape, axis, k, ascending):
    x = RNG.randint(0, 1000, shape).astype("float32")
    order = numpy.argsort(x if ascending else -x, axis=axis, kind="stable").take(range(k), axis=axis)
    expected = numpy.take_along_axis(x, order, axis)
    options = {"axis": axis, "k": k, "is_ascend": ascending}
    values, indices = npx.topk(np.array(x), ret_typ="both", dtype="int64", **options)
    numpy.testing.assert_array_equal(values.asnumpy(), expected)
    numpy.testing.assert_array_equal(indices.asnumpy(), order)
    mask = npx.topk(np.array(x), ret_typ="mask", **options).asnumpy()
    expected_mask = numpy.zeros_like(x)
    numpy.put_along_axis(expected_mask, order, 1, axis)
    numpy.testing.assert_array_equal(mask, expected_mask)


def test_topk_refuses():
    with pytest.raises(ValueError, match="k=5 is more than the 3"):
        nd.topk(nd.array([1, 2, 3]), k=5)
    with pytest.raises(ValueError, match="one of"):
        nd.topk(nd.array([1, 2, 3]), ret_typ="all")
    with pytest.raises(ValueError, match="axis"):
        nd.sort(nd.array([1, 2, 3]), axis=1)
    assert np.sort(np.zeros((0, 3))).shape == (0, 3)


def test_nan_is_the_largest():
    x = np.array([1, numpy.nan, 3, 2])
    assert npx.topk(x, k=2, dtype="int32").asnumpy().tolist() == [1, 2]
    many = numpy.arange(5000, dtype="float32")
    many[[10, 3000]] = numpy.nan
    assert npx.topk(np.array(many), k=3, dtype="int32").asnumpy().tolist() == [10, 3000, 4999]
    assert npx.topk(np.array(many), k=2, is_ascend=True, dtype="int32").asnumpy().tolist() == [0, 1]


@pytest.mark.parametrize("axis", [0, -1, None])
def test_gradients_follow_the_elements(axis):
    x = RNG.permutation(24).reshape(4, 6).astype("float32")
    for function in (lambda a: nd.sort(a, axis=axis), lambda a: nd.topk(a, axis=axis, k=3, ret_typ="value")):
        array = nd.array(x)
        array.attach_grad()
        with autograd.record():
            y = function(array)
        weights = RNG.uniform(0.5, 1.5, y.shape).astype("float32")
        y.backward(nd.array(weights))
        by_value = dict(zip(y.asnumpy().ravel(), weights.ravel()))
        expected = numpy.array([by_value.get(v, 0.0) for v in x.ravel()]).reshape(x.shape)
        numpy.testing.assert_allclose(array.grad.asnumpy(), expected, rtol=1e-6)


@pytest.mark.parametrize("axis", [None, 0, 1])
def test_unique(axis):
    x = RNG.randint(0, 3, (6, 4)).astype("float32")
    options = {"return_index": True, "return_inverse": True, "return_counts": True, "axis": axis}
    for got, expected in zip(np.unique(np.array(x), **options), numpy.unique(x, **options)):
        numpy.testing.assert_array_equal(got.asnumpy(), expected.reshape(got.shape))
    assert np.unique(np.zeros((0,))).shape == (0,)
    assert type(np.unique(np.zeros((2,)), return_counts=True)) is tuple


def test_counting():
    x = numpy.array([1, 1, 3])
    array = np.array(x, dtype="int32")
    assert np.bincount(array, minlength=6).asnumpy().tolist() == [0, 2, 0, 1, 0, 0]
    for dtype in ("int32", "int64"):
        assert np.bincount(np.array([1, 3], dtype=dtype)).dtype == dtype
    assert np.bincount(array, np.array([0.5, 1.0, 2.0])).asnumpy().tolist() == [0, 1.5, 0, 2]
    with pytest.raises(ValueError, match="negative"):
        np.bincount(np.array([-1], dtype="int32"))
    data = RNG.uniform(-3, 3, 200).astype("float32")
    for got, expected in zip(np.histogram(np.array(data), 7, (-2, 2)), numpy.histogram(data, 7, (-2, 2))):
        numpy.testing.assert_allclose(got.asnumpy(), expected, rtol=1e-6)
    assert type(np.histogram(np.array(data))) is list
    assert nd.histogram(nd.array(data), bins=3)[0].dtype == numpy.float32
    assert nd.histogram(nd.array(data), bins=3, range=(0, 1))[0].dtype == numpy.int64
    counts, edges = nd.histogram(nd.array(data), bins=nd.array([-1, 0, 2]))
    numpy.testing.assert_array_equal(counts.asnumpy(), numpy.histogram(data, [-1, 0, 2])[0])
    for dtype in ("int8", "int64", "float16", "float64"):
        found = np.histogram(np.array([1, 2, 3], dtype="int8"), np.array([0, 2, 4], dtype=dtype))[1]
        assert found.dtype == dtype and found.tolist() == [0, 2, 4]
    assert edges.asnumpy().tolist() == [-1, 0, 2]


def test_counts_beyond_memory_are_refused():
    for most in (2**62, 2**63 - 1):
        with pytest.raises(MemoryError, match="bincount"):
            np.bincount(np.array([1, most], dtype="int64"))
        with pytest.raises(MemoryError, match="bincount"):
            np.bincount(np.array([1], dtype="int64"), minlength=most)
    with pytest.raises(ValueError, match="beyond 64 bits"):
        np.bincount(np.array([2**63], dtype="uint64"))


def test_the_last_bin_holds_the_largest_element():
    x = numpy.array([-(2**63), 1, -(2**63)])
    counts, _ = np.histogram(np.array(x, dtype="int64"))
    numpy.testing.assert_array_equal(counts.asnumpy(), numpy.histogram(x)[0])
