"""Convolution and Deconvolution against plain NumPy: values, gradients, layouts, dtypes, errors."""

import itertools

import numpy
import pytest

from headrace import _core, autograd, nd, np, npx
from headrace.base import MXNetError

LAST = {1: "NWC", 2: "NHWC", 3: "NDHWC"}


def random(seed, *shape):
    return numpy.random.RandomState(seed).uniform(-1, 1, shape)


def convolve(x, w, b, stride, dilate, pad, groups):
    """The definition, one tap of the window at a time; channels second."""
    spatial = x.ndim - 2
    x = numpy.pad(x, [(0, 0), (0, 0)] + [(p, p) for p in pad])
    extents = [
        (x.shape[k + 2] - dilate[k] * (w.shape[k + 2] - 1) - 1) // stride[k] + 1 for k in range(spatial)
    ]
    y = numpy.zeros((x.shape[0], w.shape[0], *extents))
    filters, channels = w.shape[0] // groups, w.shape[1]
    for group in range(groups):
        out, into = (
            slice(group * filters, (group + 1) * filters),
            slice(group * channels, (group + 1) * channels),
        )
        for tap in itertools.product(*(range(k) for k in w.shape[2:])):
            window = tuple(
                slice(tap[k] * dilate[k], tap[k] * dilate[k] + (extents[k] - 1) * stride[k] + 1, stride[k])
                for k in range(spatial)
            )
            y[:, out] += numpy.einsum(
                "ni...,oi->no...", x[(slice(None), into, *window)], w[(out, slice(None), *tap)]
            )
    return y if b is None else y + b.reshape(-1, *[1] * spatial)


# data, filters, kernel, stride, dilate, pad, groups
CASES = {
    "plain": ((2, 3, 6, 7), 4, (3, 2), (1, 1), (1, 1), (0, 0), 1),
    "all numbers": ((2, 3, 9, 8), 5, (3, 2), (2, 3), (2, 1), (1, 2), 1),
    "vector wide": ((2, 16, 6, 7), 32, (3, 3), (1, 1), (1, 1), (1, 1), 1),
    "one by one": ((2, 5, 4, 3), 6, (1, 1), (2, 1), (1, 1), (0, 0), 1),
    "groups": ((2, 6, 5, 5), 4, (3, 3), (1, 2), (1, 1), (1, 1), 2),
    "depthwise": ((2, 16, 7, 6), 16, (3, 3), (2, 2), (1, 1), (1, 1), 16),
    "depthwise, two each": ((1, 4, 7, 6), 8, (3, 3), (1, 1), (1, 1), (1, 1), 4),
    "rest at the end": ((1, 2, 8, 8), 3, (2, 2), (3, 4), (1, 1), (0, 0), 1),
    "pad beyond the kernel": ((1, 2, 3, 3), 3, (2, 2), (1, 1), (1, 1), (3, 4), 1),
    "one axis": ((2, 3, 9), 4, (3,), (2,), (1,), (1,), 1),
    "three axes": ((2, 3, 4, 5, 6), 4, (2, 3, 2), (1, 2, 1), (1, 1, 2), (0, 1, 1), 1),
}


def problem(case):
    shape, filters, kernel, stride, dilate, pad, groups = CASES[case]
    attrs = {
        "kernel": kernel,
        "stride": stride,
        "dilate": dilate,
        "pad": pad,
        "num_filter": filters,
        "num_group": groups,
    }
    x, w = random(1, *shape), random(2, filters, shape[1] // groups, *kernel)
    return attrs, [x, w, random(3, filters)], (stride, dilate, pad, groups)


def last(array):
    return numpy.moveaxis(array, 1, -1)


def run(name, hosts, attrs, head=None, dtype="float64"):
    """(result, gradients), on the host in float64."""
    arrays = [nd.array(host, dtype="float64").astype(dtype) for host in hosts]
    for array in arrays:
        array.attach_grad()
    with autograd.record():
        y = getattr(nd, name)(*arrays, **attrs)
    y.backward(None if head is None else nd.array(head, dtype="float64").astype(dtype))
    return [a.astype("float64").asnumpy() for a in (y, *(array.grad for array in arrays))]


def slopes(function, hosts, head):
    """The gradients of a function that is linear in each argument."""
    base, gradients = function(*hosts), []
    for i, host in enumerate(hosts):
        gradient = numpy.zeros(host.shape)
        for index in numpy.ndindex(*host.shape):
            moved = [h.copy() for h in hosts]
            moved[i][index] += 1
            gradient[index] = ((function(*moved) - base) * head).sum()
        gradients.append(gradient)
    return gradients


@pytest.mark.parametrize("case", CASES)
def test_values_and_gradients(case):
    attrs, hosts, numbers = problem(case)
    expected = convolve(*hosts, *numbers)
    head = random(4, *expected.shape)
    small = sum(h.size for h in hosts) < 600
    gradients = slopes(lambda x, w, b: convolve(x, w, b, *numbers), hosts, head) if small else []
    for dtype, tolerance in (("float64", 1e-12), ("float32", 2e-5)):
        got = run("Convolution", hosts, attrs, head, dtype)
        for g, e in zip(got, [expected, *gradients]):
            numpy.testing.assert_allclose(g, e, atol=tolerance * max(1, abs(e).max()))
    assert len(gradients) == 3 or not small


@pytest.mark.parametrize("dtype, tolerance", [("float32", 1e-5), ("bfloat16", 2e-2), ("float16", 3e-3)])
@pytest.mark.parametrize("case", CASES)
def test_every_float_agrees_with_float64(case, dtype, tolerance):
    attrs, hosts, _ = problem(case)
    hosts = [nd.array(h).astype(dtype).astype("float64").asnumpy() for h in hosts]
    for more in ({}, {"no_bias": True}):
        given = hosts[:2] if more else hosts
        for g, e in zip(
            run("Convolution", given, {**attrs, **more}, dtype=dtype),
            run("Convolution", given, {**attrs, **more}),
        ):
            numpy.testing.assert_allclose(g, e, atol=tolerance * max(1, abs(e).max()))


@pytest.mark.parametrize("name", ["Convolution", "Deconvolution"])
@pytest.mark.parametrize("dtype", ["float64", "float32", "bfloat16"])
@pytest.mark.parametrize("case", CASES)
def test_channels_last_is_the_same(case, dtype, name):
    attrs, (x, w, b), _ = problem(case)
    if name == "Deconvolution":
        x, b = random(5, x.shape[0], w.shape[0], *x.shape[2:]), random(6, w.shape[1] * attrs["num_group"])
        attrs = {**attrs, "num_filter": b.size, "no_bias": False, "pad": (0,) * len(attrs["pad"])}
    second = run(name, [x, w, b], attrs, dtype=dtype)
    layout = {**attrs, "layout": LAST[x.ndim - 2]}
    got = run(name, [last(x), last(w), b], layout, dtype=dtype)
    for k, (g, e) in enumerate(zip(got, second)):
        numpy.testing.assert_allclose(
            g, last(e) if k < 3 else e, rtol=1e-2 if dtype == "bfloat16" else 1e-5, atol=1e-5
        )


DECONVOLUTIONS = {
    "plain": ((2, 3, 4, 3), (3, 2), 4, {}),
    "stride and adj": ((2, 3, 4, 3), (3, 2), 4, {"stride": (2, 3), "pad": (1, 0), "adj": (1, 2)}),
    "groups and dilate": ((2, 4, 4, 3), (2, 2), 6, {"num_group": 2, "dilate": (2, 1)}),
    "one axis": ((2, 3, 5), (3,), 2, {"stride": (2,), "pad": (1,)}),
    "three axes": ((1, 2, 3, 2, 2), (2, 3, 2), 2, {"stride": (2, 1, 1), "pad": (0, 1, 0)}),
    "target_shape": ((1, 2, 3, 4), (3, 3), 2, {"stride": (2, 1), "target_shape": (5, 5)}),
}


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("case", DECONVOLUTIONS)
def test_deconvolution_is_the_transpose(case, dtype):
    shape, kernel, filters, more = DECONVOLUTIONS[case]
    groups = more.get("num_group", 1)
    hosts = [random(1, *shape), random(2, shape[1], filters // groups, *kernel), random(3, filters)]
    attrs = {"kernel": kernel, "num_filter": filters, "no_bias": False, **more}
    spatial = len(kernel)

    def transpose(x, w, b):
        stride, dilate = more.get("stride", (1,) * spatial), more.get("dilate", (1,) * spatial)
        whole = [(shape[k + 2] - 1) * stride[k] + dilate[k] * (kernel[k] - 1) + 1 for k in range(spatial)]
        y = numpy.zeros((shape[0], filters, *(e + 9 for e in whole)))
        each, channels = filters // groups, shape[1] // groups
        for group in range(groups):
            out, into = (
                slice(group * each, (group + 1) * each),
                slice(group * channels, (group + 1) * channels),
            )
            for tap in itertools.product(*(range(k) for k in kernel)):
                at = tuple(
                    slice(
                        tap[k] * dilate[k], tap[k] * dilate[k] + (shape[k + 2] - 1) * stride[k] + 1, stride[k]
                    )
                    for k in range(spatial)
                )
                y[(slice(None), out, *at)] += numpy.einsum(
                    "ni...,io->no...", x[:, into], w[(into, slice(None), *tap)]
                )
        pad, adj = more.get("pad", (0,) * spatial), more.get("adj", (0,) * spatial)
        if "target_shape" in more:
            pad = tuple((whole[k] - t + 1) // 2 for k, t in enumerate(more["target_shape"]))
            adj = tuple(t - whole[k] + 2 * pad[k] for k, t in enumerate(more["target_shape"]))
        cut = tuple(slice(pad[k], whole[k] - pad[k] + adj[k]) for k in range(spatial))
        return y[(slice(None), slice(None), *cut)] + b.reshape(-1, *[1] * spatial)

    expected = transpose(*hosts)
    head = random(4, *expected.shape)
    got = run("Deconvolution", hosts, attrs, head, dtype)
    for g, e in zip(got, [expected, *slopes(transpose, hosts, head)]):
        numpy.testing.assert_allclose(g, e, atol=1e-11 if dtype == "float64" else 1e-4)


@pytest.mark.parametrize(
    "name, shapes, attrs",
    [
        (
            "Convolution",
            [(2, 2, 5, 4), (4, 1, 3, 2), (4,)],
            {"num_filter": 4, "num_group": 2, "stride": (2, 1)},
        ),
        (
            "Convolution",
            [(1, 5, 4, 2), (3, 3, 2, 2), (3,)],
            {"num_filter": 3, "pad": (1, 1), "layout": "NHWC"},
        ),
        ("Deconvolution", [(1, 2, 3, 3), (2, 2, 3, 2)], {"num_filter": 2, "stride": (2, 1), "adj": (1, 0)}),
        ("Deconvolution", [(1, 2, 3, 3), (2, 2, 3, 2)], {"num_filter": 2, "target_shape": (4, 3)}),
    ],
)
def test_second_derivatives(name, shapes, attrs):
    hosts = [random(k, *shape) for k, shape in enumerate(shapes)]

    def curvature(moved, wanted):
        arrays = [nd.array(h, dtype="float64") for h in moved]
        for array in arrays:
            array.attach_grad()
        with autograd.record():
            y = getattr(nd, name)(*arrays, kernel=(3, 2), **attrs)
            gradients = autograd.grad([nd.square(y).sum()], arrays, create_graph=True, retain_graph=True)
            total = sum((nd.square(g) * (1 + k)).sum() for k, g in enumerate(gradients))
        if wanted:
            total.backward()
        return float(total.asnumpy().item()), [a.grad.asnumpy() for a in arrays]

    _, gradients = curvature(hosts, True)
    for i, host in enumerate(hosts):
        step = random(9, *host.shape) * 1e-5
        up, down = ([h + s * (k == i) * step if k == i else h for k, h in enumerate(hosts)] for s in (1, -1))
        slope = (curvature(up, False)[0] - curvature(down, False)[0]) / 2
        numpy.testing.assert_allclose((gradients[i] * step).sum(), slope, rtol=1e-6)


def test_strided_data_and_weight_are_read_as_they_lie():
    x, w = random(1, 4, 6, 9, 8), random(2, 5, 6, 3, 3)
    attrs = {"kernel": (3, 3), "num_filter": 5, "no_bias": True}
    expected = nd.Convolution(nd.array(x), nd.array(w), **attrs).asnumpy()
    wide, turned = nd.array(numpy.repeat(x, 2, 3)), nd.array(last(x))
    for view in (wide[:, :, :, ::2], turned.transpose((0, 3, 1, 2)), nd.array(x[:, :, ::-1])[:, :, ::-1]):
        got = nd.Convolution(view, nd.array(w.transpose(1, 0, 2, 3)).transpose((1, 0, 2, 3)), **attrs)
        numpy.testing.assert_array_equal(got.asnumpy(), expected)
    one = nd.array(x[:1, :1]).broadcast_to((4, 6, 9, 8))
    numpy.testing.assert_array_equal(
        nd.Convolution(one, nd.array(w), **attrs).asnumpy(),
        nd.Convolution(one.copy(), nd.array(w), **attrs).asnumpy(),
    )


def test_adj_is_smaller_than_the_stride():
    x, w = nd.ones((1, 2, 3)), nd.ones((2, 2, 3))
    with pytest.raises(MXNetError, match="adj must be smaller than stride, got adj=2 and stride=2"):
        nd.Deconvolution(x, w, kernel=(3,), num_filter=2, no_bias=True, stride=(2,), adj=(2,))


@pytest.mark.parametrize("shape", [(0, 3, 5, 5), (2, 0, 5, 5)])
def test_axes_without_elements(shape):
    y, *gradients = run(
        "Convolution",
        [numpy.zeros(shape), numpy.zeros((4, shape[1], 3, 3)), numpy.ones(4)],
        {"kernel": (3, 3), "num_filter": 4},
        dtype="float32",
    )
    assert y.shape == (shape[0], 4, 3, 3)
    assert (y == 1).all()
    assert gradients[0].shape == shape
    assert not gradients[1].any()


@pytest.mark.parametrize("dtype", ["float64", "float32", "bfloat16", "float16"])
@pytest.mark.parametrize("no_bias", [True, False])
def test_fused_form_equals_the_sequence(dtype, no_bias):
    attrs = {"kernel": (3, 3), "num_filter": 16, "pad": (1, 1), "stride": (2, 2), "no_bias": no_bias}
    hosts = [random(1, 2, 16, 9, 8), random(2, 16, 16, 3, 3)] + ([] if no_bias else [random(3, 16)])
    arrays = [nd.array(h).astype(dtype) for h in hosts]
    plain = nd.Convolution(*arrays, **attrs)
    for added in (nd.array(random(4, 2, 16, 5, 4)).astype(dtype), plain * 2):
        expected = nd.relu(plain + added).astype("float64").asnumpy()
        fused = {**attrs, "activation": "relu", "with_sum": True}
        (got,) = _core.invoke("_fused_convolution", [*arrays, added], fused, False)
        tolerance = {"float64": 1e-12, "float32": 1e-5, "float16": 2e-2, "bfloat16": 2e-1}[dtype]
        numpy.testing.assert_allclose(got.astype("float64").asnumpy(), expected, atol=tolerance)
    (got,) = _core.invoke("_fused_convolution", arrays, {**attrs, "activation": "relu"}, False)
    numpy.testing.assert_array_equal(got.asnumpy(), nd.relu(plain).asnumpy())


def test_npx_names():
    x, w = np.array(random(1, 1, 2, 4, 4)), np.array(random(2, 3, 2, 3, 3))
    assert npx.convolution(x, w, kernel=(3, 3), num_filter=3, no_bias=True).shape == (1, 3, 2, 2)
    assert npx.deconvolution(x, np.array(random(2, 2, 3, 3, 3)), kernel=(3, 3), num_filter=3).shape == (
        1,
        3,
        6,
        6,
    )


GOOD = {"data": (2, 4, 6, 6), "weight": (8, 4, 3, 3), "kernel": (3, 3), "num_filter": 8}


@pytest.mark.parametrize(
    "change, text",
    [
        ({"stride": (0, 1)}, r"every number of stride must be at least 1.*got \(0, 1\)"),
        ({"pad": (-1, 1)}, "every number of pad must be at least 0"),
        ({"pad": (1 << 40, 1)}, r"below 2\^31"),
        ({"stride": (1,)}, r"expected 2 numbers in stride.*got \(1,\)"),
        ({"kernel": (0, 3)}, "every number of kernel must be at least 1"),
        (
            {"kernel": (7, 3), "weight": (8, 4, 7, 3)},
            "the window spans 7 elements along spatial axis 0, but data has 6",
        ),
        ({"dilate": (1, 3)}, "the window spans 7 elements along spatial axis 1"),
        ({"kernel": (3, 3, 3)}, "data must have 5 axes"),
        ({"kernel": ()}, "kernel must have 1, 2 or 3 numbers"),
        ({"num_group": 3}, "must be multiples of num_group=3, got 4 channels and num_filter=8"),
        ({"num_group": 0}, "num_group must be positive"),
        ({"num_filter": 0}, "num_filter must be from 1"),
        ({"weight": (8, 3, 3, 3)}, r"expected weight of shape \(8, 4, 3, 3\).*got \(8, 3, 3, 3\)"),
        ({"layout": "NCW"}, "layout NCW is for 1 spatial axes.*expected NCHW or NHWC"),
        ({"dtype": "int32"}, "expected floats, got int32; convert with astype"),
    ],
)
def test_errors_name_what_is_wrong(change, text):
    call = {**GOOD, **change}
    dtype = call.pop("dtype", "float32")
    arrays = [nd.zeros(call.pop(name), dtype=dtype) for name in ("data", "weight")]
    with pytest.raises(MXNetError, match="^Convolution: .*" + text):
        nd.Convolution(*arrays, no_bias=True, **call)


def test_more_errors():
    x, w = nd.zeros((1, 2, 4, 4)), nd.zeros((2, 3, 3, 3))
    with pytest.raises(TypeError, match="3 arrays are needed with no_bias=False, got 2"):
        nd.Convolution(x, nd.zeros((3, 2, 3, 3)), kernel=(3, 3), num_filter=3)
    with pytest.raises(MXNetError, match="data holds float32, but weight holds float64"):
        nd.Convolution(x, nd.zeros((3, 2, 3, 3), dtype="float64"), kernel=(3, 3), num_filter=3, no_bias=True)
    with pytest.raises(MXNetError, match="target_shape must be between 1 and 6 along spatial axis 0, got 7"):
        nd.Deconvolution(x, w, kernel=(3, 3), num_filter=3, target_shape=(7, 6))
    with pytest.raises(MXNetError, match="pad=3 leaves 0 elements"):
        nd.Deconvolution(x, w, kernel=(3, 3), num_filter=3, pad=(3, 0))
    with pytest.raises(ValueError, match="layout"):
        nd.Deconvolution(x, w, kernel=(3, 3), num_filter=3, layout="NWHC")
