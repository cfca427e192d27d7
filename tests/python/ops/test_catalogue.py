"""What must hold for every operator of the catalogue, tried on the samples that its definition carries."""

import inspect
import zlib

import numpy
import pytest

import headrace
from headrace import _core, autograd

CATALOGUE = _core.catalogue()
FLOATS = ("float32", "float64", "float16", "bfloat16")
ROOTS = {"NDArray": lambda: headrace.nd.NDArray, "ndarray": lambda: headrace.np.ndarray}


def samples(keep=lambda op, sample: True):
    return [
        pytest.param(op, sample, id=f"{op['name']}-{i}")
        for op in CATALOGUE
        for i, sample in enumerate(op["samples"])
        if keep(op, sample)
    ]


def host_arrays(op, sample, dtype=None):
    """The sample's inputs as NumPy arrays; those of a floating dtype as `dtype` where one is given."""
    rng = numpy.random.RandomState(zlib.crc32(op["name"].encode()))
    arrays = []
    for one in sample["inputs"]:
        if one["values"]:
            values = numpy.array(one["values"]).reshape(one["shape"])
        else:
            values = rng.uniform(one["low"], one["high"], one["shape"])
        is_float = one["dtype"] in FLOATS
        if not is_float:
            values = numpy.floor(values)
        wanted = dtype if dtype and is_float else one["dtype"]
        arrays.append((values, wanted))
    return arrays


def device_arrays(arrays):
    return [headrace.np.array(values, dtype="float64").astype(dtype) for values, dtype in arrays]


def invoke(op, arrays, sample):
    return _core.invoke(op["name"], arrays, sample["attrs"], True)


def host(array):
    return array.astype("float64").asnumpy() if array._dtype_name == "bfloat16" else array.asnumpy()


def with_steps(array):
    """The same values in memory that is not packed."""
    if array.ndim == 0:
        return array
    wide = headrace.np.zeros(array.shape[:-1] + (2 * array.shape[-1],), dtype=array._dtype_name)
    view = wide[..., ::2]
    view[...] = array
    return view


@pytest.mark.parametrize("op", CATALOGUE, ids=lambda op: op["name"])
def test_is_documented_and_found(op):
    assert op["doc"].strip()
    assert all(field["doc"].strip() for field in op["fields"])
    for path in op["python"]:
        root, *names = path.split(".")
        found = ROOTS[root]() if root in ROOTS else getattr(headrace, root)
        for name in names:
            found = getattr(found, name)
        assert callable(found)


@pytest.mark.parametrize("op", CATALOGUE, ids=lambda op: op["name"])
def test_signature_names_every_argument(op):
    signature = inspect.signature(_core.function(op["name"], False))
    for name in [*op["inputs"], *(f["name"] for f in op["fields"] if not f["of_files"]), "out"]:
        assert name in signature.parameters


@pytest.mark.parametrize("op", CATALOGUE, ids=lambda op: op["name"])
def test_has_samples_or_a_reason(op):
    assert bool(op["samples"]) != bool(op["unsampled"])


def assert_same(some, others):
    assert [(a.shape, a._dtype_name) for a in some] == [(a.shape, a._dtype_name) for a in others]
    for a, b in zip(some, others):
        numpy.testing.assert_array_equal(host(a), host(b))


@pytest.mark.parametrize("op, sample", samples(lambda op, _: not op["is_random"]))
def test_gives_the_same_again(op, sample):
    arrays = host_arrays(op, sample)
    some, others = device_arrays(arrays), device_arrays(arrays)
    assert_same(invoke(op, some, sample) + some, invoke(op, others, sample) + others)


@pytest.mark.parametrize("op, sample", samples(lambda op, _: op["is_random"]))
def test_seeds_give_the_same_numbers_and_calls_give_others(op, sample):
    arrays = device_arrays(host_arrays(op, sample))
    with autograd.train_mode():
        headrace.random.seed(7)
        calls = [invoke(op, arrays, sample) for _ in range(5)]
        headrace.random.seed(7)
        again = [invoke(op, arrays, sample) for _ in range(5)]
    for first, second in zip(calls, again):
        assert_same(first, second)
    assert any(not numpy.array_equal(host(a), host(b)) for call in calls[1:] for a, b in zip(calls[0], call))


@pytest.mark.parametrize("op, sample", samples(lambda op, s: s["inputs"] and not op["is_random"]))
def test_strides_do_not_matter(op, sample):
    packed = device_arrays(host_arrays(op, sample))
    strided = [
        x if (op["mutates"] >> i) & 1 else with_steps(x)
        for i, x in enumerate(device_arrays(host_arrays(op, sample)))
    ]
    assert_same(invoke(op, packed, sample) + packed, invoke(op, strided, sample) + strided)


def channels_last(array):
    """The same values, packed, with axis 1 behind all others: as the results of convolutions lie."""
    if array.ndim < 3:
        return array
    shape = (array.shape[0], *array.shape[2:], array.shape[1])
    view = headrace.np.zeros(shape, dtype=array._dtype_name).transpose(
        (0, array.ndim - 1, *range(1, array.ndim - 1))
    )
    view[...] = array
    return view


@pytest.mark.parametrize(
    "op, sample",
    samples(lambda op, s: any(len(x["shape"]) > 2 for x in s["inputs"]) and not op["is_random"]),
)
def test_memory_order_does_not_matter(op, sample):
    packed = device_arrays(host_arrays(op, sample))
    ordered = [
        x if (op["mutates"] >> i) & 1 else channels_last(x)
        for i, x in enumerate(device_arrays(host_arrays(op, sample)))
    ]
    results = zip(invoke(op, packed, sample) + packed, invoke(op, ordered, sample) + ordered)
    for expected, got in results:
        assert got.shape == expected.shape
        numpy.testing.assert_allclose(
            host(got).astype("float64"), host(expected).astype("float64"), rtol=1e-4, atol=1e-5
        )


def moving_inputs(sample):
    """Numbers of the inputs that a slope is taken along: listed values are edges, and stay where they are."""
    return [
        i
        for i, one in enumerate(sample["inputs"])
        if one["dtype"] in FLOATS and not one["values"] and 0 not in one["shape"]
    ]


def is_smooth(op, sample):
    return (
        (op["differentiable"] or op["is_composed"])
        and not op["zero_gradient"]
        and not op["is_random"]
        and not op["mutates"]
        and moving_inputs(sample)
    )


def compare_with_slopes(op, sample):
    arrays = host_arrays(op, sample, "float64")
    inputs = device_arrays(arrays)
    moving = moving_inputs(sample)
    for i in moving:
        inputs[i].attach_grad()
    with autograd.record():
        outputs = invoke(op, inputs, sample)
    if not all(o._dtype_name == "float64" for o in outputs):
        pytest.skip("the result is not float64")
    rng = numpy.random.RandomState(1)
    heads = [rng.uniform(0.5, 1.5, o.shape) for o in outputs]
    try:
        autograd.backward(outputs, [headrace.np.array(h, dtype="float64") for h in heads])
    except headrace.MXNetError as error:
        if op["is_composed"] and "non-differentiable" in str(error):
            pytest.skip("a part of it is not differentiable")
        raise

    def value(i, change):
        moved = [(v + change if k == i else v, d) for k, (v, d) in enumerate(arrays)]
        return sum((host(o) * h).sum() for o, h in zip(invoke(op, device_arrays(moved), sample), heads))

    for i in moving:
        direction = rng.uniform(-1, 1, arrays[i][0].shape)
        slope = (value(i, 1e-5 * direction) - value(i, -1e-5 * direction)) / 2e-5
        numpy.testing.assert_allclose((host(inputs[i].grad) * direction).sum(), slope, rtol=1e-4, atol=1e-7)


@pytest.mark.parametrize("op, sample", samples(lambda op, s: is_smooth(op, s) and not op["own_gradient"]))
def test_gradient_is_the_slope(op, sample):
    compare_with_slopes(op, sample)


@pytest.mark.parametrize("op, sample", samples(lambda op, s: is_smooth(op, s) and op["own_gradient"]))
def test_own_gradient_is_not_the_slope(op, sample):
    with pytest.raises(AssertionError, match="Not equal to tolerance"):
        compare_with_slopes(op, sample)


@pytest.mark.parametrize(
    "op, sample", samples(lambda op, s: op["is_pointwise"] and not op["mutates"] and s["inputs"])
)
def test_empty_arrays_work(op, sample):
    inputs = [headrace.np.zeros((0, 3), dtype=one["dtype"]) for one in sample["inputs"]]
    for output in invoke(op, inputs, sample):
        assert output.asnumpy().shape == (0, 3)


@pytest.mark.parametrize("dtype, tolerance", [("float64", 1e-5), ("float16", 4e-3), ("bfloat16", 4e-2)])
@pytest.mark.parametrize(
    "op, sample", samples(lambda op, s: op["is_pointwise"] and not op["mutates"] and s["inputs"])
)
def test_every_float_agrees_with_float32(op, sample, dtype, tolerance):
    narrow = [(v, d) for v, d in host_arrays(op, sample, dtype)]
    rounded = [host(x) for x in device_arrays(narrow)]
    single = [(r, "float32" if d == dtype else d) for r, (_, d) in zip(rounded, narrow)]
    for a, b in zip(invoke(op, device_arrays(narrow), sample), invoke(op, device_arrays(single), sample)):
        numpy.testing.assert_allclose(
            host(a).astype("float64"), host(b).astype("float64"), tolerance, tolerance
        )


@pytest.mark.parametrize(
    "dtype", ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "bool"]
)
@pytest.mark.parametrize(
    "op, sample", samples(lambda op, s: op["is_pointwise"] and not op["mutates"] and s["inputs"])
)
def test_integers_work_or_are_refused(op, sample, dtype):
    inputs = [headrace.np.ones(one["shape"], dtype=dtype) for one in sample["inputs"]]
    try:
        outputs = invoke(op, inputs, sample)
    except (TypeError, headrace.MXNetError) as error:
        assert "astype" in str(error)
        return
    for output in outputs:
        assert output.asnumpy().size == numpy.prod(output.shape)
