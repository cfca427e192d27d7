"""Indexing of nd and np arrays agrees with NumPy; where the legacy front end differs, its own rules hold."""

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace import MXNetError, autograd, nd, np

SHAPE = (3, 4, 5)

BASIC_KEYS = [
    0,
    -1,
    numpy.int32(2),
    slice(None),
    slice(1, 3),
    slice(1, 1),
    slice(10, 20),
    slice(None, None, -1),
    slice(2, None, -2),
    slice(-2, None),
    None,
    Ellipsis,
    (),
    (1, 2),
    (1, slice(None), 2),
    (slice(None, None, 2), slice(3, 0, -1)),
    (Ellipsis, 0),
    (0, Ellipsis),
    (Ellipsis, slice(None, None, -2)),
    (slice(None), None, 1, None, Ellipsis),
    (None, None, 0),
    (1, Ellipsis, 2, 3),
    (slice(0, 0), slice(None), slice(4, 0, -3)),
]

INTEGER_ARRAY_KEYS = [
    [0, 2],
    [[0, 1], [2, -1]],
    [-1, -1, 0],
    [],
    numpy.array([2, 0], "int32"),
    numpy.array([[1], [0]], "uint8"),
    (slice(None), [1, 3]),
    (slice(None), slice(None), [4, -5, 0]),
    ([0, 1], [2, 3]),
    ([0, 1], [2, 3], [-1, 0]),
    ([[0], [2]], [1, 3]),  # broadcast together
    ([[0], [2]], slice(None, None, -2), [1, 3, 4]),
    ([0, 1], slice(None), [2, 3]),  # apart: their axes come first
    (slice(None), [0, 1], [2, 3]),  # together: their axes stay
    (slice(1, None), [0, 1], None, [2, 3]),
    (None, [0, 1], slice(None), 1),
    (0, slice(None), [1, 2]),
    ([0, 2], 1),
    (Ellipsis, [0, 2]),
    ([1], Ellipsis),
    (slice(None), numpy.zeros((0, 2), "int64")),
    (slice(0, 0), [1, 1]),
]

_MASK = numpy.random.default_rng(1).random(SHAPE) > 0.5
MASK_KEYS = [
    _MASK,
    _MASK[:, 0, 0],
    _MASK[:, :, 0],
    [True, False, True],
    numpy.zeros(SHAPE, bool),
    numpy.ones(SHAPE[:2], bool),
    (slice(None), _MASK[0, :, 0]),
    (slice(None), _MASK[0]),
    (Ellipsis, _MASK[0, 0]),
    (1, _MASK[0, :, 0]),
    (_MASK[:, 0, 0], slice(None, None, -1)),
    (slice(1, None), _MASK[0, :, 0], None),
]


def key_name(key):
    return repr(key).replace("\n", "").replace("slice", "")[:60]


def as_np_key(key):
    """The same key with np arrays instead of host arrays."""
    if isinstance(key, tuple):
        return tuple(as_np_key(item) for item in key)
    return np.array(key) if isinstance(key, numpy.ndarray) else key


def host(shape=SHAPE, dtype="float32"):
    return numpy.arange(numpy.prod(shape)).reshape(shape).astype(dtype)


def legacy(expected):
    """What the legacy front end gives where NumPy gives a zero-dimensional array."""
    return expected.reshape(1) if expected.ndim == 0 else expected


def same(result, expected):
    assert result.shape == expected.shape
    assert result.dtype == expected.dtype
    numpy.testing.assert_array_equal(result.asnumpy(), expected)


# --- reading ---


@pytest.mark.parametrize("key", BASIC_KEYS + INTEGER_ARRAY_KEYS + MASK_KEYS, ids=key_name)
@pytest.mark.parametrize("dtype", ["float32", "int64"])
def test_np_get(key, dtype):
    same(np.array(host(dtype=dtype))[key], host(dtype=dtype)[key])
    same(np.array(host(dtype=dtype))[as_np_key(key)], host(dtype=dtype)[key])


@pytest.mark.parametrize("key", BASIC_KEYS + INTEGER_ARRAY_KEYS, ids=key_name)
def test_nd_get(key):
    same(nd.array(host())[key], legacy(host()[key]))


@pytest.mark.parametrize("dtype", ["bool", "uint8", "float16", "int32", "float64"])
def test_get_keeps_the_dtype(dtype):
    values = host(dtype=dtype)
    for key in (slice(None, None, -2), [2, 0], (slice(None), [1], [2])):
        same(np.array(values)[key], values[key])
        same(nd.array(values, dtype=dtype)[key], values[key])


def test_indices_of_strided_arrays():
    values = host()
    array = np.array(values)[::2, ::-1].transpose(2, 0, 1)
    values = values[::2, ::-1].transpose(2, 0, 1)
    same(array[[0, -1], 1], values[[0, -1], 1])
    same(array[1:4, :, ::3], values[1:4, :, ::3])
    same(array[array > 30], values[values > 30])


# --- random keys ---


@st.composite
def shapes(draw):
    return tuple(draw(st.lists(st.integers(0, 5), min_size=1, max_size=4)))


def slices(extent):
    bound = st.none() | st.integers(-extent - 2, extent + 2)
    return st.builds(slice, bound, bound, st.sampled_from([None, 1, 2, 3, -1, -2, -3]))


@st.composite
def keys(draw, shape, arrays, masks):
    """A key that NumPy accepts for an array of this shape."""
    together = draw(st.sampled_from([(), (1,), (2,), (3, 1), (2, 3)]))  # index arrays broadcast to this
    items, axis, used = [], 0, draw(st.integers(0, len(shape)))
    while axis < used:
        extent, kind = shape[axis], draw(st.sampled_from(["slice", "integer", "array", "mask", "none"]))
        if kind == "none" and len(items) < 6:
            items.append(None)
            continue
        if kind == "integer" and extent:
            items.append(draw(st.integers(-extent, extent - 1)))
        elif kind == "array" and arrays and extent:
            size = int(numpy.prod(together))
            index = draw(st.lists(st.integers(-extent, extent - 1), min_size=size, max_size=size))
            index = numpy.array(index, "int64").reshape(together)
            items.append(
                index if together == () else draw(st.sampled_from([index, index.tolist(), index[:1]]))
            )
        elif kind == "mask" and masks and not any(isinstance(item, (list, numpy.ndarray)) for item in items):
            together = (1,)  # what follows must broadcast with however many elements the mask selects
            items.append(numpy.array(draw(st.lists(st.booleans(), min_size=extent, max_size=extent)), bool))
        else:
            items.append(draw(slices(extent)))
        axis += 1
    place = draw(st.none() | st.just(len(items)))
    if place is not None:
        items.append(Ellipsis)
    return items[0] if len(items) == 1 and draw(st.booleans()) else tuple(items)


@st.composite
def array_and_key(draw, arrays=True, masks=True):
    shape = draw(shapes())
    return shape, draw(keys(shape, arrays, masks))


@settings(max_examples=400, deadline=None)
@given(array_and_key())
def test_np_get_random(case):
    shape, key = case
    values = host(shape)
    expected = values[key]
    same(np.array(values)[key], numpy.asarray(expected))


@settings(max_examples=200, deadline=None)
@given(array_and_key(masks=False))
def test_nd_get_random(case):
    shape, key = case
    values = host(shape)
    same(nd.array(values)[key], legacy(numpy.asarray(values[key])))


@settings(max_examples=400, deadline=None)
@given(array_and_key(), st.sampled_from(["number", "full", "row", "strided"]))
def test_np_set_random(case, kind):
    shape, key = case
    values = host(shape)
    selected = numpy.asarray(values[key])
    expected, array = values.copy(), np.array(values)
    # One value for all: which of several values wins where an element is selected twice is not defined.
    if kind == "number":
        expected[key] = array[key] = -7
    elif kind == "full":
        expected[key] = -7
        array[key] = np.full(selected.shape, -7)
    elif kind == "row":
        row = (1, *selected.shape[-1:])
        expected[key] = -7
        array[key] = numpy.full(row, -7, "int32")
    else:
        expected[key] = -7
        array[key] = np.full((*selected.shape, 2), -7)[..., 0]
    numpy.testing.assert_array_equal(array.asnumpy(), expected)


@settings(max_examples=200, deadline=None)
@given(array_and_key(arrays=False, masks=False))
def test_basic_set_random_values(case):
    shape, key = case
    expected, array, old = host(shape), np.array(host(shape)), nd.array(host(shape))
    new = -1 - host(numpy.asarray(expected[key]).shape)
    expected[key] = new
    array[key] = np.array(new)
    old[key] = new
    numpy.testing.assert_array_equal(array.asnumpy(), expected)
    numpy.testing.assert_array_equal(old.asnumpy(), expected)


# --- writing ---


@pytest.mark.parametrize("module", [nd, np], ids=["nd", "np"])
@pytest.mark.parametrize("key", BASIC_KEYS + INTEGER_ARRAY_KEYS[3:], ids=key_name)
def test_set(module, key):
    expected = host()
    selected = numpy.asarray(expected[key])
    rng = numpy.random.default_rng(0)
    new = rng.random(selected.shape).astype("float32")
    values = [5, -1.5, numpy.float64(2.5), new]
    if new.ndim:
        values += [module.array(new), new[..., :1], module.array(new[:1]), new.astype("float64")]
    if new.size:
        values.append(new.tolist())
    for value in values:
        array, expected = module.array(host()), host()
        array[key] = value
        expected[key] = value.asnumpy() if isinstance(value, nd.NDArray) else value
        numpy.testing.assert_array_equal(array.asnumpy(), expected)


@pytest.mark.parametrize("key", MASK_KEYS, ids=key_name)
def test_set_by_mask(key):
    new = numpy.random.default_rng(0).random(host()[key].shape).astype("float32")
    for value in (4, new, np.array(new)):
        array, expected = np.array(host()), host()
        array[as_np_key(key)] = value
        expected[key] = value.asnumpy() if isinstance(value, nd.NDArray) else value
        numpy.testing.assert_array_equal(array.asnumpy(), expected)


@pytest.mark.parametrize("module", [nd, np], ids=["nd", "np"])
@pytest.mark.parametrize(
    "to, source",
    [
        (slice(1, None), slice(None, -1)),
        (slice(None, -1), slice(1, None)),
        (slice(None), slice(None, None, -1)),
        ((slice(None), slice(1, 3)), (slice(None), slice(0, 2))),
        ([0, 1], slice(1, 3)),
        ([2, 0, 1], slice(None)),
        (slice(None), 0),
    ],
)
def test_set_from_overlapping_memory(module, to, source):
    array, expected = module.array(host()), host()
    array[to] = array[source]
    expected[to] = expected[source].copy()
    numpy.testing.assert_array_equal(array.asnumpy(), expected)


@pytest.mark.parametrize("module", [nd, np], ids=["nd", "np"])
def test_in_place_operators_through_keys(module):
    array, expected = module.array(host()), host()
    array[1:, ::2] += 3
    expected[1:, ::2] += 3
    array[:, [0, 3]] *= 2
    expected[:, [0, 3]] *= 2
    array[0][1][2:] -= 1
    expected[0][1][2:] -= 1
    numpy.testing.assert_array_equal(array.asnumpy(), expected)


def test_an_array_may_be_its_own_index():
    array = np.array([2, 0, 1], dtype="int64")
    array[array] = array * 10
    same(array, numpy.array([0, 10, 20]))
    array = np.array([1, 2, 3, 0], dtype="int64")
    array[array[:2]] = 7
    same(array, numpy.array([1, 7, 7, 0]))


def test_assigned_values_take_the_dtype_of_the_array():
    array = np.zeros((4,), dtype="int32")
    array[0] = 2.9
    array[1:3] = np.array([1.5, -1.5])
    array[[3]] = [7.9]
    same(array, numpy.array([2, 1, -1, 7], "int32"))
    truth = np.zeros((2,), dtype="bool")
    truth[0] = 5
    same(truth, numpy.array([True, False]))


def test_set_of_nothing_does_nothing():
    for module in (nd, np):
        array = module.array(host())
        array[1:1] = 5
        array[[]] = 5
        array[:, 4:] = module.array([5])
        numpy.testing.assert_array_equal(array.asnumpy(), host())


# --- views ---


@pytest.mark.parametrize("module", [nd, np], ids=["nd", "np"])
@pytest.mark.parametrize("key", [key for key in BASIC_KEYS if not isinstance(key, list)], ids=key_name)
def test_basic_keys_share_memory(module, key):
    array, expected = module.array(host()), host()
    view, expected_view = array[key], expected[key]
    view[...] = -1
    if isinstance(expected_view, numpy.ndarray):
        expected_view[...] = -1
    else:
        expected[key] = -1
    numpy.testing.assert_array_equal(array.asnumpy(), expected)
    array[:] = 8
    assert (view.asnumpy() == 8).all()


@pytest.mark.parametrize("module", [nd, np], ids=["nd", "np"])
def test_index_arrays_copy(module):
    array = module.array(host())
    array[[0, 1]][:] = -1
    array[:, [1]][:] = -1
    numpy.testing.assert_array_equal(array.asnumpy(), host())


def test_a_whole_slice_is_the_array_itself():
    for array in (nd.array(host()), np.array(host())):
        assert array[:] is array
        assert array[...] is not array


# --- the legacy front end's own rules ---


def test_nd_single_elements_have_shape_1():
    array = nd.array(host())
    assert array[1, 2, 3].shape == (1,)
    assert array[0][0][0].shape == (1,)
    assert array[numpy.array(1), 2, numpy.int64(3)].shape == (1,)
    assert nd.array([4, 5])[1].asscalar() == 5
    assert [one.shape for one in nd.array([4, 5])] == [(1,), (1,)]


def test_nd_takes_truth_values_as_integers():
    array = nd.array(host())
    same(array[True], host()[1])
    same(array[numpy.array([True, False])], host()[[1, 0]])
    same(array[[True, True]], host()[[1, 1]])


def test_float_arrays_are_indices():
    same(nd.array(host())[nd.array([2, 0])], host()[[2, 0]])
    same(np.array(host())[np.array([2, 0])], host()[[2, 0]])


# --- keys that mean nothing ---


@pytest.mark.parametrize("module", [nd, np], ids=["nd", "np"])
@pytest.mark.parametrize(
    "key, error, text",
    [
        (3, IndexError, "index 3 is out of bounds for axis 0 with size 3"),
        (-4, IndexError, "index -4 is out of bounds for axis 0 with size 3"),
        ((0, slice(None), 5), IndexError, "index 5 is out of bounds for axis 2 with size 5"),
        ((0, 0, 0, 0), IndexError, "too many indices"),
        ((slice(None), 0, [0], 0), IndexError, "too many indices"),
        ((Ellipsis, Ellipsis), IndexError, "only one ellipsis"),
        ((Ellipsis, [0], Ellipsis), IndexError, "only one ellipsis"),
        (slice(None, None, 0), ValueError, "slice step cannot be zero"),
        ("name", ValueError, "do not support indexing with key 'name'"),
        (1.5, ValueError, "do not support indexing with key 1.5"),
        ((0, "name"), ValueError, "do not support indexing with key"),
        ({}, ValueError, "an index of type dict is not supported"),
        (["name"], ValueError, "is not supported"),
        ([[0], [0, 1]], ValueError, "is not supported"),
        ([3], IndexError, "index 3 is out of bounds for axis 0 with size 3"),
        ((slice(None), [-5]), IndexError, "index -5 is out of bounds for axis 1 with size 4"),
        (([0, 1], [0, 1, 2]), ValueError, "broadcast"),
    ],
)
def test_wrong_keys(module, key, error, text):
    with pytest.raises(error) as raised:
        module.array(host())[key].wait_to_read()
    assert text in str(raised.value)
    with pytest.raises(error):
        array = module.array(host())
        array[key] = 1
        array.wait_to_read()


def test_wrong_masks():
    for key in (numpy.array([True, False]), [True], (slice(None), [True]), (0, numpy.ones((4, 1), bool))):
        with pytest.raises(IndexError, match="mask"):
            np.array(host())[as_np_key(key)]
    with pytest.raises(IndexError, match="too many indices"):
        np.array(host())[0, numpy.ones((4, 5, 1), bool)]
    with pytest.raises(ValueError, match="np mode"):
        nd.array(host())[nd.array([1, 0, 1]).astype("bool")]


@pytest.mark.parametrize("module, other", [(nd, np), (np, nd)], ids=["nd", "np"])
def test_wrong_values(module, other):
    array = module.array(host())
    for key in (0, slice(1, 2), [0, 1]):
        with pytest.raises((ValueError, MXNetError)):
            array[key] = numpy.zeros((7, 5))
        for value in ("text", None, {}, object()):
            with pytest.raises(TypeError):
                array[key] = value
        with pytest.raises(TypeError, match="mix nd and np"):
            array[key] = other.zeros((4, 5))
    numpy.testing.assert_array_equal(array.asnumpy(), host())
    with pytest.raises(TypeError):
        del array[0]


# --- gradients ---


@pytest.mark.parametrize("module", [nd, np], ids=["nd", "np"])
@pytest.mark.parametrize("key", BASIC_KEYS + INTEGER_ARRAY_KEYS, ids=key_name)
def test_gradient_of_get(module, key):
    array = module.array(host())
    array.attach_grad()
    selected = numpy.asarray(host()[key])
    head = numpy.random.default_rng(0).random(selected.shape).astype("float32")
    if module is nd:
        head = legacy(head)
    with autograd.record():
        result = array[key] * 2
    result.backward(module.array(head))
    expected = numpy.zeros(SHAPE, "float32")
    numpy.add.at(expected, key, 2 * head.reshape(selected.shape))
    numpy.testing.assert_allclose(array.grad.asnumpy(), expected, rtol=1e-6)


@pytest.mark.parametrize("key", MASK_KEYS, ids=key_name)
def test_gradient_of_masked_get(key):
    array = np.array(host())
    array.attach_grad()
    with autograd.record():
        result = (array[as_np_key(key)] ** 2).sum()
    result.backward()
    expected = numpy.zeros(SHAPE, "float32")
    expected[key] = 2 * host()[key]
    numpy.testing.assert_allclose(array.grad.asnumpy(), expected, rtol=1e-6)


def test_gradient_of_chained_views():
    array = nd.array(host())
    array.attach_grad()
    with autograd.record():
        rows = array[1:]
        loss = (rows[0] * rows[1]).sum() + rows[:, 2][0].sum()
    loss.backward()
    expected = numpy.zeros(SHAPE, "float32")
    expected[1], expected[2] = host()[2], host()[1]
    expected[1, 2] += 1
    numpy.testing.assert_allclose(array.grad.asnumpy(), expected, rtol=1e-6)


def test_gradient_of_a_gradient():
    array = np.array([1.0, 2, 3])
    array.attach_grad()
    with autograd.record():
        first = autograd.grad((array[[0, 2, 2]] ** 3).sum(), array, create_graph=True, retain_graph=True)[0]
        (first * np.array([1, 10, 100])).sum().backward()
    numpy.testing.assert_allclose(array.grad.asnumpy(), [6, 0, 2 * 6 * 3 * 100])


@pytest.mark.parametrize("module", [nd, np], ids=["nd", "np"])
def test_gradient_reaches_assigned_values(module):
    value = module.array([1.0, 2, 3])
    value.attach_grad()
    with autograd.record():
        target = module.zeros((2, 3))
        target[1] = value * 2
        loss = (target * module.array([[1, 1, 1], [4, 5, 6]])).sum()
    loss.backward()
    numpy.testing.assert_allclose(value.grad.asnumpy(), [8, 10, 12])


@pytest.mark.parametrize("module", [nd, np], ids=["nd", "np"])
def test_variables_are_not_written_while_recording(module):
    array = module.array(host())
    array.attach_grad()
    with autograd.record():
        for key in (0, slice(1, 2), [0, 1]):
            with pytest.raises(MXNetError):
                array[key] = 1
                array.wait_to_read()
    numpy.testing.assert_array_equal(array.asnumpy(), host())


@pytest.mark.parametrize("shape", [(), (2, 3)])
@pytest.mark.parametrize("truth", [True, False])
def test_one_truth_value_selects_all_or_nothing(shape, truth):
    for key in (truth, numpy.bool_(truth), numpy.array(truth), np.array(truth, dtype=bool), (truth,)):
        array = np.ones(shape)
        array.attach_grad()
        with autograd.record():
            found = array[key]
        assert found.shape == (int(truth), *shape)
        found.backward()
        assert (array.grad.asnumpy() == truth).all()
        found[...] = 5
        assert (array.asnumpy() == 1).all()
        array[key] = 7
        assert (array.asnumpy() == (7 if truth else 1)).all()


SINGLE_TRUTHS = [
    (True, 1),
    (False, 1),
    (True, False),
    (..., True),
    (0, True, slice(None)),
    (slice(None), True, [0, 1]),
    (0, True, True, numpy.array([[1, 0, 0, 1, 1]] * 4, dtype=bool)),
    (None, numpy.bool_(True)),
    numpy.array(False),
]


@pytest.mark.parametrize("key", SINGLE_TRUTHS, ids=str)
def test_single_truth_values(key):
    expected, array = host(), np.array(host())
    assert array[as_np_key(key)].shape == expected[key].shape
    assert (array[as_np_key(key)].asnumpy() == expected[key]).all()
    expected[key] = 7
    array[as_np_key(key)] = 7
    assert (array.asnumpy() == expected).all()
    if not isinstance(key, tuple):
        array[True] = np.array(host())[None]
        assert (array.asnumpy() == host()).all()


def test_recorded_values_go_by_no_array_of_places():
    x, y = np.zeros((3, 2)), np.ones((2, 2))
    y.attach_grad()
    with autograd.record():
        with pytest.raises(MXNetError, match="Inplace operations .* are not supported when recording with"):
            x[[0, 2]] = y * 2
        x[[0, 2]] = 5
    assert x.tolist() == [[5, 5], [0, 0], [5, 5]]


def test_memory_of_views():
    x = np.zeros((4, 6))
    assert (
        np.shares_memory(x, x[1])
        and np.shares_memory(x[1, 2:5], x[1, 4:6])
        and np.shares_memory(x[::-1], x[0])
    )
    assert not np.shares_memory(x[0], x[1]) and not np.shares_memory(x, np.zeros((4, 6)))
    assert not np.shares_memory(x, x[:0]) and not numpy.shares_memory(x[:2], x[2:])
