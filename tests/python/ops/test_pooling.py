"""Pooling against plain NumPy: values, gradients, layouts, dtypes, errors."""

import itertools

import numpy
import pytest

from headrace import autograd, nd, np, npx
from headrace.base import MXNetError

LAST = {1: "NWC", 2: "NHWC", 3: "NDHWC"}


def values(*shape, seed=1):
    """Distinct numbers, so that maxima have no ties."""
    count = int(numpy.prod(shape))
    return (numpy.random.RandomState(seed).permutation(count).reshape(shape) + 1) / (count + 1.0)


def windows(count, attrs, extents):
    """For every place of the result: the ranges inside data, and how many elements an average counts."""
    kernel, stride, pad = attrs["kernel"], attrs["stride"], attrs["pad"]
    for place in itertools.product(*(range(c) for c in count)):
        starts = [y * s - p for y, s, p in zip(place, stride, pad)]
        ends = [min(a + k, e + p) for a, k, e, p in zip(starts, kernel, extents, pad)]
        inside = tuple(slice(max(a, 0), min(b, e)) for a, b, e in zip(starts, ends, extents))
        counted = numpy.prod([b - a for a, b in zip(starts, ends)])
        if not attrs.get("count_include_pad", True):
            counted = numpy.prod([s.stop - s.start for s in inside])
        yield place, inside, counted


def counts(attrs, extents):
    convention, result = attrs.get("pooling_convention", "valid"), []
    for e, k, s, p in zip(extents, attrs["kernel"], attrs["stride"], attrs["pad"]):
        room = e + 2 * p
        if convention == "same":
            result.append(-(-room // s))
        else:
            result.append((room - k) // s + 1 if convention == "valid" else -(-(room - k) // s) + 1)
    return result


def pool(x, attrs):
    """(result, function that takes a gradient of the result to that of x)"""
    extents, kind = x.shape[2:], attrs.get("pool_type", "max")
    y = numpy.zeros(x.shape[:2] + tuple(counts(attrs, extents)))
    steps = []
    for place, inside, counted in windows(y.shape[2:], attrs, extents):
        at, here = (..., *inside), (..., *place)
        block = x[at].reshape(*x.shape[:2], -1)
        if kind == "max":
            y[here] = block.max(-1)
            slope = (numpy.arange(block.shape[-1]) == block.argmax(-1)[..., None]).astype(float)
        elif kind == "lp":
            p = attrs["p_value"]
            y[here] = (block**p).sum(-1) ** (1 / p)
            slope = (block / y[here][..., None]) ** (p - 1)
        else:
            scale = 1 if kind == "sum" else 1 / counted
            y[here] = block.sum(-1) * scale
            slope = numpy.full(block.shape, scale)
        steps.append((at, here, slope))

    def back(head):
        gradient = numpy.zeros(x.shape)
        for at, here, slope in steps:
            gradient[at] += (head[here][..., None] * slope).reshape(gradient[at].shape)
        return gradient

    return y, back


def run(x, attrs, head=None, dtype="float64"):
    x = nd.array(x, dtype="float64").astype(dtype)
    x.attach_grad()
    with autograd.record():
        y = nd.Pooling(x, **attrs)
    y.backward(None if head is None else nd.array(head, dtype="float64").astype(dtype))
    return y.astype("float64").asnumpy(), x.grad.astype("float64").asnumpy()


SHAPES = {
    "two axes": ((2, 3, 6, 9), (3, 2), (2, 3), (1, 1)),
    "vector wide": ((1, 33, 6, 6), (2, 2), (2, 2), (0, 0)),
    "overlapping": ((1, 2, 6, 5), (3, 3), (1, 1), (1, 0)),
    "one axis": ((2, 3, 9), (3,), (2,), (1,)),
    "three axes": ((1, 2, 4, 5, 6), (2, 3, 2), (2, 1, 2), (1, 1, 0)),
}
KINDS = {
    "max": {},
    "avg": {"pool_type": "avg"},
    "avg without padding": {"pool_type": "avg", "count_include_pad": False},
    "sum": {"pool_type": "sum"},
    "l1": {"pool_type": "lp", "p_value": 1},
    "l2": {"pool_type": "lp", "p_value": 2},
    "l3": {"pool_type": "lp", "p_value": 3},
}


@pytest.mark.parametrize(
    "dtype, tolerance", [("float64", 1e-12), ("float32", 1e-5), ("bfloat16", 4e-2), ("float16", 4e-3)]
)
@pytest.mark.parametrize("convention", ["valid", "full"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", SHAPES)
def test_values_and_gradients(shape, kind, convention, dtype, tolerance):
    shape, kernel, stride, pad = SHAPES[shape]
    attrs = dict(kernel=kernel, stride=stride, pad=pad, pooling_convention=convention, **KINDS[kind])
    x = nd.array(values(*shape), dtype="float64").astype(dtype).astype("float64").asnumpy()
    expected, back = pool(x, attrs)
    head = numpy.round(values(*expected.shape, seed=2) * 8) / 8
    y, gradient = run(x, attrs, head, dtype)
    numpy.testing.assert_allclose(y, expected, tolerance, tolerance)
    numpy.testing.assert_allclose(gradient, back(head), tolerance, tolerance * 4)
    moved = run(
        numpy.moveaxis(x, 1, -1), {**attrs, "layout": LAST[len(kernel)]}, numpy.moveaxis(head, 1, -1), dtype
    )
    for got, other in zip(moved, (y, gradient)):
        numpy.testing.assert_array_equal(got, numpy.moveaxis(other, 1, -1))


@pytest.mark.parametrize("kind", ["max", "avg", "sum"])
def test_same_convention(kind):
    attrs = {
        "kernel": (3, 2),
        "stride": (2, 2),
        "pad": (0, 0),
        "pool_type": kind,
        "pooling_convention": "same",
    }
    x = values(2, 3, 7, 8)
    expected, back = pool(x, attrs)
    assert expected.shape == (2, 3, 4, 4)
    for dtype in ("float64", "float32"):
        y, gradient = run(x, attrs, numpy.ones(expected.shape), dtype)
        numpy.testing.assert_allclose(y, expected, 1e-6)
        numpy.testing.assert_allclose(gradient, back(numpy.ones(expected.shape)), 1e-6)


@pytest.mark.parametrize("ndim", [1, 3])
def test_same_convention_on_other_numbers_of_dimensions(ndim):
    x = values(1, 2, *[5] * ndim)
    attrs = {"kernel": (2,) * ndim, "stride": (2,) * ndim, "pool_type": "max"}
    y = nd.Pooling(nd.array(x), pooling_convention="same", **attrs)
    expected, _ = pool(x, {**attrs, "pad": (0,) * ndim, "pooling_convention": "same"})
    assert y.shape == (1, 2) + (3,) * ndim
    numpy.testing.assert_allclose(y.asnumpy(), expected, 1e-6)


def test_windows_in_the_padding_alone():
    attrs = {"kernel": (2,), "stride": (2,), "pad": (2,), "pooling_convention": "full"}
    x = nd.array([[[1.0, 2.0, 3.0]]])
    least = numpy.finfo("float32").min
    numpy.testing.assert_array_equal(nd.Pooling(x, **attrs).asnumpy(), [[[least, 2, 3, least]]])
    got = nd.Pooling(x, pool_type="avg", count_include_pad=False, **attrs).asnumpy()
    numpy.testing.assert_array_equal(got, [[[0, 1.5, 3, 0]]])


@pytest.mark.parametrize("dtype", ["float64", "float32", "bfloat16"])
@pytest.mark.parametrize("kind", ["max", "avg", "sum"])
def test_global(kind, dtype):
    x = numpy.round(values(2, 5, 4, 3) * 16) / 16 if kind != "max" else values(2, 5, 4, 3)
    reduce = {"max": numpy.max, "avg": numpy.mean, "sum": numpy.sum}[kind]
    for kernel in ((), (7, 7)):
        y, gradient = run(
            x, {"pool_type": kind, "global_pool": True, "kernel": kernel, "pad": ()}, dtype=dtype
        )
        numpy.testing.assert_allclose(
            y, reduce(x, (2, 3), keepdims=True), rtol=1e-2 if dtype == "bfloat16" else 1e-6
        )
        total = {"max": 1, "avg": 1, "sum": 12}[kind]
        numpy.testing.assert_allclose(gradient.sum((2, 3)), total, rtol=1e-2)


@pytest.mark.parametrize("channels", [1, 3, 17])
@pytest.mark.parametrize("dtype", ["float64", "float32", "bfloat16"])
def test_the_first_of_equal_maxima_takes_the_gradient(dtype, channels):
    _, gradient = run(numpy.ones((1, channels, 4, 4)), {"kernel": (2, 2), "stride": (2, 2)}, dtype=dtype)
    expected = numpy.zeros((1, channels, 4, 4))
    expected[:, :, ::2, ::2] = 1
    numpy.testing.assert_array_equal(gradient, expected)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "int64"])
def test_integers(dtype):
    x = nd.array(numpy.arange(24).reshape(1, 1, 4, 6), dtype=dtype)
    attrs = {"kernel": (2, 2), "stride": (2, 2)}
    assert nd.Pooling(x, **attrs).asnumpy().tolist() == [[[[7, 9, 11], [19, 21, 23]]]]
    assert nd.Pooling(x, pool_type="avg", **attrs).asnumpy().tolist() == [[[[3, 5, 7], [15, 17, 19]]]]
    assert nd.Pooling(x, pool_type="sum", **attrs).dtype == numpy.dtype(dtype)


@pytest.mark.parametrize("kind", ["max", "avg", "sum"])
def test_second_derivative(kind):
    x = nd.array(values(1, 2, 5, 5), dtype="float64")
    x.attach_grad()
    attrs = {"kernel": (3, 2), "stride": (2, 1), "pad": (1, 0), "pool_type": kind}

    def total(x):
        y = nd.Pooling(x, **attrs)
        (g,) = autograd.grad([nd.square(y).sum()], [x], create_graph=True, retain_graph=True)
        return nd.square(g).sum()

    with autograd.record():
        z = total(x)
    z.backward()
    step = (values(1, 2, 5, 5, seed=3) - 0.5) * 1e-5
    ends = []
    for sign in (1, -1):
        moved = nd.array(x.asnumpy() + sign * step, dtype="float64")
        moved.attach_grad()
        with autograd.record():
            ends.append(float(total(moved).asnumpy().item()))
    numpy.testing.assert_allclose((x.grad.asnumpy() * step).sum(), (ends[0] - ends[1]) / 2, rtol=1e-6)


def test_the_second_derivative_of_a_norm_is_refused():
    x = nd.array(values(1, 1, 4, 4))
    x.attach_grad()
    with autograd.record():
        y = nd.Pooling(x, kernel=(2, 2), pool_type="lp", p_value=2)
        (g,) = autograd.grad([y], [x], create_graph=True, retain_graph=True)
    with pytest.raises(MXNetError, match="the second derivative of pool_type 'lp' is not there"):
        g.backward()


def test_strides_defaults_and_names():
    x = nd.array(values(2, 4, 6, 5))
    attrs = {"kernel": (2, 2), "pool_type": "avg"}
    expected = nd.Pooling(x, **attrs).asnumpy()
    assert expected.shape == (2, 4, 5, 4)
    turned = nd.array(x.asnumpy().transpose(3, 2, 1, 0)).transpose((3, 2, 1, 0))
    numpy.testing.assert_array_equal(nd.Pooling(turned, **attrs).asnumpy(), expected)
    numpy.testing.assert_array_equal(npx.pooling(np.array(x.asnumpy()), **attrs).asnumpy(), expected)
    assert nd.Pooling(nd.zeros((0, 4, 6, 5)), **attrs).shape == (0, 4, 5, 4)


@pytest.mark.parametrize(
    "shape, attrs, error, text",
    [
        (
            (2, 3, 4, 4),
            {"kernel": (5, 2)},
            MXNetError,
            "kernel is 5 along spatial axis 0, but data has 4 there",
        ),
        ((2, 3, 4, 4), {"kernel": (2,)}, MXNetError, r"kernel must have 2 numbers.*got \(2,\)"),
        ((2, 3, 4, 4), {}, MXNetError, "kernel must have 2 numbers"),
        (
            (2, 3, 4, 4),
            {"kernel": (2, 2), "stride": (0, 1)},
            MXNetError,
            "every number of stride must be at least 1",
        ),
        ((2, 3, 4, 4), {"kernel": (2, 0)}, MXNetError, "every number of kernel must be at least 1"),
        (
            (2, 3, 4, 4),
            {"kernel": (2, 2), "pad": (0, -1)},
            MXNetError,
            "every number of pad must be at least 0",
        ),
        ((2, 3, 4, 4), {"kernel": (2, 2), "layout": "NWC"}, MXNetError, "layout NWC is for 1 spatial axes"),
        ((2, 3), {"kernel": (2,)}, MXNetError, r"data must have 3, 4 or 5 axes.*got shape \(2, 3\)"),
        (
            (2, 3, 4, 4),
            {"kernel": (2, 2), "pool_type": "lp"},
            MXNetError,
            "needs a p_value of 1, 2 or 3, got None",
        ),
        ((2, 3, 0, 4), {"global_pool": True}, MXNetError, "there is nothing to pool"),
        ((2, 3, 4, 4), {"kernel": (2, 2), "pool_type": "min"}, ValueError, "pool_type"),
    ],
)
def test_errors_name_what_is_wrong(shape, attrs, error, text):
    with pytest.raises(error, match="Pooling: .*" + text):
        nd.Pooling(nd.zeros(shape), **attrs)


def test_bool_is_refused():
    with pytest.raises(MXNetError, match="expected numbers, got bool; convert with astype"):
        nd.Pooling(nd.zeros((1, 1, 2, 2), dtype="bool"), kernel=(2, 2))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64", "int32"])
def test_the_largest_of_nothing_is_the_least_number(dtype):
    """A window in the padding alone: finite, so that a mask may still take it out."""
    x = nd.ones((1, 1, 9, 9)).astype(dtype)
    got = nd.Pooling(x, kernel=(2, 2), stride=(3, 3), pooling_convention="full").astype("float64").asnumpy()
    least = {"float16": -65504.0, "bfloat16": -(2 - 2**-7) * 2.0**127, "int32": -(2.0**31)}.get(dtype)
    least = least or numpy.finfo(dtype).min
    assert got[0, 0, :3, :3].tolist() == [[1, 1, 1]] * 3
    assert got[0, 0, 3].tolist() == [least] * 4


def test_numbers_beyond_the_spatial_axes_are_passed_over():
    x = nd.array(values(1, 1, 10))
    assert nd.Pooling(x, kernel=2, stride=(2, 7), pad=(0, 0, 0), pooling_convention="same").shape == (1, 1, 5)
    assert nd.Pooling(x, kernel=2, pad=(1, 5)).shape == (1, 1, 11)
    with pytest.raises(MXNetError, match="pads as it needs to"):
        nd.Pooling(x, kernel=2, pad=2, pooling_convention="same")
