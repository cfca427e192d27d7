"""Indexing operators, against NumPy and finite differences."""

import numpy
import pytest

from headrace import _core, autograd, nd, np, npx

RNG = numpy.random.RandomState(11)
DTYPES = ["float32", "float64", "float16", "int8", "uint8", "int32", "int64", "bool"]


def same(got, expected):
    got, expected = got.asnumpy(), numpy.asarray(expected)
    assert got.shape == expected.shape
    numpy.testing.assert_array_equal(got, expected)


def gradient_of(function, x):
    """The gradient of sum(function(x) * weights), and the weights."""
    x.attach_grad()
    with autograd.record():
        y = function(x)
    weights = RNG.uniform(0.5, 1.5, y.shape).astype(y.dtype)
    y.backward((np if isinstance(y, np.ndarray) else nd).array(weights, dtype=y.dtype))
    return x.grad.asnumpy(), weights


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_take(dtype, axis):
    x = RNG.randint(0, 2, (3, 4, 5)).astype(dtype)
    index = RNG.randint(0, 3, (2, 3))
    got = np.take(np.array(x, dtype=dtype), np.array(index, dtype="int32"), axis=axis)
    same(got, numpy.take(x, index, axis=axis))


def test_take_out_of_range():
    x = np.arange(4)
    index = np.array([-1, 5, 2], dtype="int64")
    assert np.take(x, index, mode="clip").asnumpy().tolist() == [0, 3, 2]
    assert np.take(x, index, mode="wrap").asnumpy().tolist() == [3, 1, 2]
    with pytest.raises(IndexError, match="index 5 is out of bounds for axis 0 with size 4"):
        np.take(x, index, mode="raise").asnumpy()
    with pytest.raises(IndexError, match="size 0"):
        np.take(np.zeros((0,)), index, mode="clip").asnumpy()
    with pytest.raises(ValueError, match="one of"):
        np.take(x, index, mode="sometimes")
    assert np.take(x, np.zeros((0,), dtype="int64")).shape == (0,)


@pytest.mark.parametrize("axis", [0, 1])
def test_take_gradient_adds_up(axis):
    x = np.array(RNG.uniform(-1, 1, (5, 6)), dtype="float64")
    index = numpy.array([[0, 2, 2], [4, 0, 2]])
    got, weights = gradient_of(lambda a: np.take(a, np.array(index, dtype="int64"), axis=axis), x)
    expected = numpy.zeros((5, 6))
    for at in numpy.ndindex(2, 3):
        if axis == 0:
            expected[index[at]] += weights[at]
        else:
            expected[:, index[at]] += weights[(slice(None), *at)]
    numpy.testing.assert_allclose(got, expected)


def test_embedding():
    weight = nd.array(RNG.uniform(-1, 1, (50, 8)).astype("float32"))
    data = numpy.array([[1, 7, 1], [49, 60, -3]])
    clipped = data.clip(0, 49)
    same(nd.Embedding(nd.array(data), weight, input_dim=50, output_dim=8), weight.asnumpy()[clipped])
    got, weights = gradient_of(lambda w: nd.Embedding(nd.array(data), w, input_dim=50, output_dim=8), weight)
    expected = numpy.zeros((50, 8))
    numpy.add.at(expected, clipped, weights)
    numpy.testing.assert_allclose(got, expected, rtol=1e-6)
    with pytest.raises(ValueError, match="expected a weight of shape \\(5, 8\\)"):
        nd.Embedding(nd.array(data), weight, input_dim=5, output_dim=8)


@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_pick(axis, keepdims):
    x = RNG.uniform(-1, 1, (3, 4, 5))
    index = RNG.randint(0, 3, numpy.delete(x.shape, axis))
    expected = numpy.take_along_axis(x, numpy.expand_dims(index, axis), axis)
    expected = expected if keepdims else expected.squeeze(axis)
    array, indices = np.array(x), np.array(index, dtype="int32")
    same(npx.pick(array, indices, axis=axis, keepdims=keepdims), expected)
    got, weights = gradient_of(lambda a: npx.pick(a, indices, axis=axis, keepdims=keepdims), array)
    scattered = numpy.zeros(x.shape)
    weights = weights if keepdims else numpy.expand_dims(weights, axis)
    numpy.put_along_axis(scattered, numpy.expand_dims(index, axis), weights, axis)
    numpy.testing.assert_allclose(got, scattered)


def test_pick_refuses_other_shapes():
    with pytest.raises(ValueError, match="one index per row"):
        npx.pick(np.ones((3, 4)), np.ones((4,)))


@pytest.mark.parametrize("dtype", ["float32", "int32", "float16", "bool"])
def test_one_hot(dtype):
    got = npx.one_hot(np.array([[0, 2], [5, -1]], dtype="int32"), 3, dtype=dtype)
    assert got.dtype == numpy.dtype(dtype)
    same(got, numpy.array([[[1, 0, 0], [0, 0, 1]], [[0, 0, 0], [0, 0, 0]]], dtype))


def test_gather_and_scatter():
    x = RNG.uniform(-1, 1, (3, 4, 2))
    index = numpy.array([[0, 2, 0, -1], [1, 3, 1, 0]])
    array, indices = np.array(x), np.array(index, dtype="int64")
    same(npx.gather_nd(array, indices), x[index[0], index[1]])
    got, weights = gradient_of(lambda a: npx.gather_nd(a, indices), array)
    expected = numpy.zeros_like(x)
    numpy.add.at(expected, (index[0], index[1]), weights)
    numpy.testing.assert_allclose(got, expected)
    same(nd.scatter_nd(nd.array([5, 6]), nd.array([[1, 0]]), shape=(3,)), [6, 5, 0])
    with pytest.raises(IndexError, match="index 3 is out of bounds for axis 0 with size 3"):
        npx.gather_nd(array, np.array([[3]], dtype="int64")).asnumpy()
    with pytest.raises(ValueError, match="expected indices"):
        npx.gather_nd(array, np.zeros((4, 2), dtype="int64"))


def test_masks():
    x = RNG.uniform(-1, 1, (4, 3)).astype("float32")
    mask = numpy.array([1, 0, 1, 0])
    same(nd.contrib.boolean_mask(nd.array(x), nd.array(mask)), x[mask == 1])
    got, weights = gradient_of(lambda a: nd.contrib.boolean_mask(a, nd.array(mask)), nd.array(x))
    expected = numpy.zeros_like(x)
    expected[mask == 1] = weights
    numpy.testing.assert_array_equal(got, expected)
    same(npx.nonzero(np.array(x > 0, dtype="bool")), numpy.argwhere(x > 0))
    # A number is a row of one; NumPy's argwhere leaves the axis out.
    assert npx.nonzero(np.array(3)).tolist() == [[0]] and npx.nonzero(np.array(0)).shape == (0, 1)
    for got, expected in zip(np.nonzero(np.array(x > 0, dtype="bool")), numpy.nonzero(x > 0)):
        same(got, expected)
    with pytest.raises(ValueError, match="boolean_mask"):
        nd.contrib.boolean_mask(nd.array(x), nd.array([1, 0]))


KEYS = [
    ([0, 2],),
    (slice(None), [1, 3, 1]),
    ([0, 1], [2, 3]),
    ([0, 1], slice(None), [4, 0]),
    (slice(None), [[0, 1], [2, 3]], [[1], [2]]),
    (1, [0, 2]),
    (slice(None, None, -1), [0, -1], slice(1, 4)),
    (Ellipsis, [0, -5]),
    (None, [1, 2], 0),
]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("start, shape", [(0, (3, 4)), (1, (4,)), (1, (4, 2))])
def test_masked_assignment(dtype, start, shape):
    x = RNG.randint(0, 2, (3, 4, 2)).astype(dtype)
    mask = RNG.randint(0, 2, shape).astype(bool)
    key = (slice(None),) * start + (mask,)
    value = RNG.randint(0, 2, x[key].shape).astype(dtype)
    attrs = {"start_axis": start}
    inputs = [np.array(x, dtype=dtype), np.array(mask, dtype="bool"), np.array(value, dtype=dtype)]
    (got,) = _core.invoke("_npi_boolean_mask_assign_tensor", inputs, attrs, True)
    (ones,) = _core.invoke("_npi_boolean_mask_assign_scalar", inputs[:2], {"value": 1, **attrs}, True)
    same(inputs[0], x)
    expected = x.copy()
    expected[key] = value
    same(got, expected)
    expected[key] = 1
    same(ones, expected)


@pytest.mark.parametrize("key", KEYS, ids=str)
def test_advanced_index(key):
    x = RNG.uniform(-1, 1, (3, 4, 5))
    host = key[0] if len(key) == 1 else key
    same(np.array(x)[host], x[host])
    got, weights = gradient_of(lambda a: a[host], np.array(x))
    expected = numpy.zeros_like(x)
    numpy.add.at(expected, key, weights)
    numpy.testing.assert_allclose(got, expected)


@pytest.mark.parametrize("key", [k for k in KEYS if None not in k], ids=str)
def test_advanced_index_assignment(key):
    x = RNG.uniform(-1, 1, (3, 4, 5))
    host = key[0] if len(key) == 1 else key
    array, expected = np.array(x), x.copy()
    array[host] = 2.5
    expected[host] = 2.5
    same(array, expected)
    value = RNG.uniform(-1, 1, expected[host].shape[-1:])
    array[host] = np.array(value)
    expected[host] = value
    same(array, expected)


def test_advanced_index_out_of_bounds():
    x = np.zeros((3, 4))
    with pytest.raises(IndexError, match="index 4 is out of bounds for axis 1 with size 4"):
        x[:, [0, 4]].asnumpy()
    with pytest.raises(IndexError, match="index -4 is out of bounds for axis 0 with size 3"):
        x[[-4]].asnumpy()
    with pytest.raises(ValueError, match="do not broadcast"):
        x[[0, 1]] = np.zeros((3, 3))


def test_gradients_do_not_depend_on_threads():
    index = np.array(RNG.randint(0, 100, 20000), dtype="int64")
    weight = np.array(RNG.uniform(-1, 1, (100, 64)).astype("float32"))
    head = np.array(RNG.uniform(-1, 1, (20000, 64)).astype("float32"))
    weight.attach_grad()
    results = []
    for _ in range(3):
        with autograd.record():
            y = np.take(weight, index, axis=0)
        y.backward(head)
        results.append(weight.grad.asnumpy())
    assert all((r == results[0]).all() for r in results)


def test_index_arithmetic():
    flat = numpy.array([5, 11, 0])
    coordinates = numpy.array(numpy.unravel_index(flat, (3, 4)), "float32")
    same(nd.unravel_index(nd.array(flat), shape=(3, 4)), coordinates)
    same(nd.ravel_multi_index(nd.array([[1, 2], [1, 3]]), shape=(3, 4)), numpy.array([5, 11], "float32"))
    same(nd.contrib.index_array(nd.zeros((2, 2))), [[[0, 0], [0, 1]], [[1, 0], [1, 1]]])
    same(nd.batch_take(nd.array([[1, 2], [3, 4]]), nd.array([1, 0])), numpy.array([2, 3], "float32"))


def test_index_copy():
    old, new = RNG.uniform(-1, 1, (4, 3)).astype("float32"), RNG.uniform(-1, 1, (2, 3)).astype("float32")
    expected = old.copy()
    expected[[3, 1]] = new
    index = nd.array([3, 1], dtype="int64")
    same(nd.contrib.index_copy(nd.array(old), index, nd.array(new)), expected)
    with pytest.raises(IndexError, match="index 9"):
        nd.contrib.index_copy(nd.array(old), nd.array([9, 1], dtype="int64"), nd.array(new)).asnumpy()


def test_the_first_extent_of_coordinates_may_be_unknown():
    flat = numpy.array([22, 41, 37])
    rows = nd.unravel_index(nd.array(flat), shape=(-1, 6))
    assert rows.asnumpy().tolist() == [[3, 6, 6], [4, 5, 1]]
    assert nd.ravel_multi_index(rows, shape=(-1, 6)).asnumpy().tolist() == flat.tolist()
    with pytest.raises(ValueError, match="no coordinates"):
        nd.unravel_index(nd.array(flat), shape=(2, 0)).wait_to_read()


def test_one_element_of_each_row_is_filled():
    x = nd.array([[1, 2, 3], [4, 5, 6]])
    filled = nd.fill_element_0index(x, nd.array([7, 8]), nd.array([2, 0]))
    assert filled.asnumpy().tolist() == [[1, 2, 7], [8, 5, 6]] and x[0, 2].asscalar() == 3
    with pytest.raises(ValueError, match="expected shapes"):
        nd.fill_element_0index(x, nd.array([7]), nd.array([2, 0]))


def test_slices_are_assigned_by_methods():
    x = nd.zeros((2, 3))
    assert x.slice_assign_scalar(2, (0, 1), (1, 3), (None, None)) is x
    y = np.zeros((2, 2))
    assert y.slice_assign_scalar(2, (0, 1), (2, None), (None, None)) is y and y.tolist() == [[0, 2], [0, 2]]
    assert y.slice_assign(np.ones((1, 2)), (1, None), (2, None), (None, None)).tolist() == [[0, 2], [1, 1]]
    assert x.slice_assign(nd.ones((1, 3)), (1, None), (2, None), (None, None)) is x
    assert x.asnumpy().tolist() == [[0, 2, 2], [1, 1, 1]]
    assert [part.shape for part in x.split_v2(3, axis=1, squeeze_axis=True)] == [(2,)] * 3
    assert [part.tolist() for part in np.array([[0, 1], [1, 0]]).nonzero()] == [[0, 1], [1, 0]]


@pytest.mark.parametrize("truth", [False, True])
def test_values_chosen_by_a_single_truth(truth):
    assign = np._internal.boolean_mask_assign_tensor
    mask = np.array(truth, dtype="bool")
    assert assign(np.array(3.0), mask, np.array([7.0])).tolist() == (7 if truth else 3)
    x = np.array([[1.0, 2], [3, 4]])
    filled = assign(x, mask, np.array([[[5.0], [6]]]), start_axis=0)
    assert filled.tolist() == ([[5, 5], [6, 6]] if truth else x.tolist())


@pytest.mark.parametrize("module", [nd, np])
def test_raising_take_counts_negative_places_from_the_end(module):
    x = module.array([1, 2, 3])
    assert module.take(x, module.array([-1, 0, -3]), mode="raise").asnumpy().tolist() == [3, 1, 1]
    with pytest.raises(IndexError, match="index -4 is out of bounds"):
        module.take(x, module.array([-4]), mode="raise").asnumpy()


def test_places_to_delete_are_those_of_numpy():
    x = np.arange(5)
    assert np.delete(x, np.array([-1, 0], dtype="int64")).asnumpy().tolist() == [1, 2, 3]
    with pytest.raises(IndexError, match="delete: index 7 is out of bounds"):
        np.delete(x, 7)


def test_places_to_delete_that_are_not_there_count_for_nothing():
    x = np.arange(5)
    assert np.delete(x, np.array([1, 7], dtype="int64")).asnumpy().tolist() == [0, 2, 3, 4]
    assert np.delete(x, np.array([-9, -6, 5], dtype="int32")).asnumpy().tolist() == x.tolist()
    assert np.delete(np.ones((2, 0)), np.array([0], dtype="int64"), axis=1).shape == (2, 0)
