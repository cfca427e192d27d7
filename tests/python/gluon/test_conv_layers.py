"""Convolutions and poolings against plain NumPy loops, in nd and in np mode."""

import itertools

import numpy
import pytest

from headrace import MXNetError, autograd, init, nd
from headrace.gluon import nn
from headrace.gluon.nn.conv_layers import _Conv, _infer_weight_shape
from headrace.gluon.nn.pool_layers import _Pooling

RNG = numpy.random.default_rng(7)


def values(*shape):
    return RNG.standard_normal(shape).astype("float32")


def close(actual, expected, rtol=1e-4, atol=1e-4):
    numpy.testing.assert_allclose(actual.asnumpy(), expected, rtol=rtol, atol=atol)


def each(value, axes):
    return (value,) * axes if isinstance(value, int) else value


def patch_starts(size, kernel, stride, dilate):
    """For every axis the first elements of the windows of a padded input."""
    return [range(0, n - d * (k - 1), s) for n, k, s, d in zip(size, kernel, stride, dilate)]


def convolve(x, weight, bias, stride=1, pad=0, dilate=1, groups=1):
    """(N, C, *size) and (channels, C / groups, *kernel) to (N, channels, *out)."""
    axes = x.ndim - 2
    stride, pad, dilate = each(stride, axes), each(pad, axes), each(dilate, axes)
    x = numpy.pad(x, [(0, 0), (0, 0)] + [(p, p) for p in pad])
    kernel = weight.shape[2:]
    starts = patch_starts(x.shape[2:], kernel, stride, dilate)
    out = numpy.zeros((len(x), len(weight), *map(len, starts)))
    ins, outs = x.shape[1] // groups, len(weight) // groups
    for place in itertools.product(*map(enumerate, starts)):
        at = tuple(number for number, _ in place)
        window = tuple(slice(a, a + d * (k - 1) + 1, d) for (_, a), k, d in zip(place, kernel, dilate))
        for g in range(groups):
            patch = x[(slice(None), slice(g * ins, (g + 1) * ins), *window)].reshape(len(x), -1)
            kernels = weight[g * outs : (g + 1) * outs].reshape(outs, -1)
            out[(slice(None), slice(g * outs, (g + 1) * outs), *at)] = patch @ kernels.T
    return out + bias.reshape(1, -1, *(1,) * axes)


def transposed(x, weight, bias, out_size, stride=1, pad=0, dilate=1, groups=1):
    """(N, C, *size) and (C, channels / groups, *kernel) to (N, channels, *out_size)."""
    axes = x.ndim - 2
    stride, pad, dilate = each(stride, axes), each(pad, axes), each(dilate, axes)
    kernel = weight.shape[2:]
    ins, outs = x.shape[1] // groups, weight.shape[1]
    full = [n + 2 * p for n, p in zip(out_size, pad)]
    out = numpy.zeros((len(x), outs * groups, *[n + d * k for n, d, k in zip(full, dilate, kernel)]))
    for at in itertools.product(*map(range, x.shape[2:])):
        window = tuple(
            slice(a * s, a * s + d * (k - 1) + 1, d) for a, s, k, d in zip(at, stride, kernel, dilate)
        )
        for g in range(groups):
            mine = slice(g * ins, (g + 1) * ins)
            part = numpy.tensordot(x[(slice(None), mine, *at)], weight[mine], axes=1)
            out[(slice(None), slice(g * outs, (g + 1) * outs), *window)] += part
    inside = tuple(slice(p, p + n) for p, n in zip(pad, out_size))
    return out[(slice(None), slice(None), *inside)] + bias.reshape(1, -1, *(1,) * axes)


@pytest.mark.parametrize(
    ("make", "shape", "settings"),
    [
        (lambda **kw: nn.Conv1D(4, 3, in_channels=2, **kw), (2, 2, 7), ()),
        (lambda **kw: nn.Conv1D(4, 3, 2, 1, 2, 2, in_channels=2, **kw), (2, 2, 9), (2, 1, 2, 2)),
        (lambda **kw: nn.Conv2D(4, 3, in_channels=3, **kw), (2, 3, 6, 5), ()),
        (
            lambda **kw: nn.Conv2D(4, (3, 2), (2, 1), (1, 0), (1, 2), in_channels=3, **kw),
            (2, 3, 7, 6),
            ((2, 1), (1, 0), (1, 2), 1),
        ),
        (lambda **kw: nn.Conv2D(6, 3, padding=1, groups=3, in_channels=3, **kw), (2, 3, 5, 5), (1, 1, 1, 3)),
        (lambda **kw: nn.Conv3D(2, 2, padding=1, in_channels=2, **kw), (1, 2, 3, 4, 3), (1, 1, 1, 1)),
    ],
)
def test_convolution(array, make, shape, settings):
    layer = make(bias_initializer=init.Normal(1))
    layer.initialize(init.Normal(1))
    x = values(*shape)
    expected = convolve(x, layer.weight.data().asnumpy(), layer.bias.data().asnumpy(), *settings)
    close(layer(array(x)), expected)
    without = make(use_bias=False, activation="relu", params=layer.params)
    close(
        without(array(x)),
        numpy.maximum(convolve(x, layer.weight.data().asnumpy(), numpy.zeros(1), *settings), 0),
    )


def test_convolution_gradients(array):
    layer = nn.Conv2D(2, 3, padding=1, in_channels=2)
    layer.initialize(init.Normal(1))
    x, head = values(1, 2, 4, 4), values(1, 2, 4, 4)
    data = array(x)
    data.attach_grad()
    with autograd.record():
        out = layer(data)
    out.backward(array(head))
    close(layer.bias.grad(), head.sum(axis=(0, 2, 3)))
    weight = layer.weight.data().asnumpy()
    close(data.grad, transposed(head, weight, numpy.zeros(1), (4, 4), pad=1))
    turned = convolve(x.transpose(1, 0, 2, 3), head.transpose(1, 0, 2, 3), numpy.zeros(1), pad=1)
    close(layer.weight.grad(), turned.transpose(1, 0, 2, 3))


@pytest.mark.parametrize(
    ("make", "shape", "size", "settings"),
    [
        (lambda: nn.Conv1DTranspose(3, 3, in_channels=2), (2, 2, 5), (7,), ()),
        (lambda: nn.Conv2DTranspose(3, 3, 2, 1, 1, in_channels=2), (2, 2, 3, 4), (6, 8), (2, 1)),
        (
            lambda: nn.Conv2DTranspose(4, (2, 3), (2, 1), 0, 0, (1, 2), 2, in_channels=2),
            (1, 2, 3, 3),
            (6, 7),
            ((2, 1), 0, (1, 2), 2),
        ),
        (lambda: nn.Conv3DTranspose(2, 2, 2, in_channels=1), (1, 1, 2, 2, 3), (4, 4, 6), (2,)),
    ],
)
def test_transposed_convolution(array, make, shape, size, settings):
    layer = make()
    layer.initialize(init.Normal(1))
    x = values(*shape)
    expected = transposed(x, layer.weight.data().asnumpy(), layer.bias.data().asnumpy(), size, *settings)
    close(layer(array(x)), expected)


@pytest.mark.parametrize("kind", ["Conv2D", "Conv2DTranspose"])
def test_unknown_channels_come_from_the_first_input(array, kind):
    layer = getattr(nn, kind)(4, 3, groups=2)
    layer.initialize()
    assert layer(array(values(1, 6, 5, 5))).shape[1] == 4
    assert layer.weight.shape == ((4, 3, 3, 3) if kind == "Conv2D" else (6, 2, 3, 3))


def test_channels_last_weight():
    assert nn.Conv2D(4, (3, 5), layout="NHWC", in_channels=2).weight.shape == (4, 3, 5, 2)
    assert nn.Conv3DTranspose(4, 3, layout="NDHWC", in_channels=2).weight.shape == (2, 3, 3, 3, 4)


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: nn.Conv1D(3, 3, layout="NWC"), "Only supports 'NCW' layout for now"),
        (lambda: nn.Conv2D(3, 3, layout="NCWH"), "Only supports 'NCHW' and 'NHWC' layout for now"),
        (lambda: nn.Conv3DTranspose(3, 3, layout="NCHW"), "Only supports 'NCDHW' and 'NDHWC' layout for now"),
        (lambda: nn.Conv1D(3, (3, 3)), "kernel_size must be a number or a list of 1 ints"),
        (lambda: nn.Conv2DTranspose(3, 3, output_padding=(1,)), "output_padding must be a number or a list"),
        (lambda: nn.MaxPool2D((2,)), "pool_size must be a number or a list of 2 ints"),
        (lambda: nn.MaxPool1D(layout="NCHW"), "Only NCW and NWC layouts are valid for 1D Pooling"),
        (lambda: nn.GlobalAvgPool3D(layout="x"), "Only NCDHW and NDHWC layouts are valid for 3D Pooling"),
        (lambda: nn.ReflectionPad2D((1, 2)), "padding must be a number or eight numbers"),
    ],
)
def test_arguments_that_do_not_fit(make, text):
    with pytest.raises(AssertionError, match=text):
        make()


def pool(x, kernel, stride, pad, function, ceil=False, border=numpy.nan):
    """(N, C, *size) to (N, C, *out); `function` reduces windows in which NaN stands for what is outside."""
    axes = x.ndim - 2
    kernel, stride, pad = each(kernel, axes), each(stride, axes), each(pad, axes)
    size = x.shape[2:]
    rounded = numpy.ceil if ceil else numpy.floor
    outs = [int(rounded((n + 2 * p - k) / s)) + 1 for n, p, k, s in zip(size, pad, kernel, stride)]
    x = numpy.pad(x, [(0, 0), (0, 0)] + [(p, p) for p in pad], constant_values=border)
    x = numpy.pad(
        x, [(0, 0), (0, 0)] + [(0, k + s) for k, s in zip(kernel, stride)], constant_values=numpy.nan
    )
    out = numpy.zeros((*x.shape[:2], *outs))
    for at in itertools.product(*map(range, outs)):
        window = tuple(slice(a * s, a * s + k) for a, s, k in zip(at, stride, kernel))
        patch = x[(slice(None), slice(None), *window)]
        out[(slice(None), slice(None), *at)] = function(patch.reshape(*patch.shape[:2], -1), axis=2)
    return out


@pytest.mark.parametrize(
    ("layer", "shape", "settings"),
    [
        (nn.MaxPool1D(), (2, 3, 7), (2, 2, 0, numpy.nanmax)),
        (nn.MaxPool2D(), (2, 3, 6, 7), (2, 2, 0, numpy.nanmax)),
        (nn.MaxPool2D(3, 2, 1), (2, 3, 6, 7), (3, 2, 1, numpy.nanmax)),
        (
            nn.MaxPool2D((3, 2), 2, (1, 0), ceil_mode=True),
            (2, 3, 6, 7),
            ((3, 2), 2, (1, 0), numpy.nanmax, True),
        ),
        (nn.MaxPool3D(2, 1), (1, 2, 3, 4, 3), (2, 1, 0, numpy.nanmax)),
        (nn.AvgPool1D(3, 2), (2, 3, 8), (3, 2, 0, numpy.nanmean)),
        (nn.AvgPool2D(), (2, 3, 6, 7), (2, 2, 0, numpy.nanmean)),
        (nn.AvgPool2D(3, 2, 1), (2, 3, 6, 7), (3, 2, 1, numpy.nanmean, False, 0)),
        (nn.AvgPool2D(3, 2, 1, count_include_pad=False), (2, 3, 6, 7), (3, 2, 1, numpy.nanmean)),
        (nn.AvgPool3D(2), (1, 2, 4, 4, 2), (2, 2, 0, numpy.nanmean)),
        (nn.GlobalMaxPool1D(), (2, 3, 5), (5, 1, 0, numpy.nanmax)),
        (nn.GlobalMaxPool2D(), (2, 3, 5, 4), ((5, 4), 1, 0, numpy.nanmax)),
        (nn.GlobalMaxPool3D(), (1, 3, 2, 3, 2), ((2, 3, 2), 1, 0, numpy.nanmax)),
        (nn.GlobalAvgPool1D(), (2, 3, 5), (5, 1, 0, numpy.nanmean)),
        (nn.GlobalAvgPool2D(), (2, 3, 5, 4), ((5, 4), 1, 0, numpy.nanmean)),
        (nn.GlobalAvgPool3D(), (1, 3, 2, 3, 2), ((2, 3, 2), 1, 0, numpy.nanmean)),
    ],
    ids=lambda value: repr(value) if isinstance(value, nn.HybridBlock) else "",
)
def test_pooling(array, layer, shape, settings):
    x = values(*shape)
    close(layer(array(x)), pool(x, *settings), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("kind", ["MaxPool", "AvgPool", "GlobalMaxPool", "GlobalAvgPool"])
def test_channels_last_pooling(array, kind):
    x = values(2, 5, 4, 3)
    last = getattr(nn, f"{kind}2D")(layout="NHWC")(array(x)).asnumpy()
    first = getattr(nn, f"{kind}2D")()(array(x.transpose(0, 3, 1, 2))).asnumpy()
    numpy.testing.assert_allclose(last, first.transpose(0, 2, 3, 1), rtol=1e-6)


def test_reflection_pad(array):
    x = values(2, 3, 4, 5)
    close(nn.ReflectionPad2D(2)(array(x)), numpy.pad(x, [(0, 0), (0, 0), (2, 2), (2, 2)], mode="reflect"))
    uneven = nn.ReflectionPad2D((0, 0, 0, 0, 1, 2, 3, 0))(array(x))
    close(uneven, numpy.pad(x, [(0, 0), (0, 0), (1, 2), (3, 0)], mode="reflect"))


@pytest.mark.parametrize("hybridize", [False, True])
@pytest.mark.parametrize(
    "make, shape",
    [
        (lambda: nn.Conv2D(3, 3), (2, 3)),
        (lambda: nn.Conv1D(3, 3), (2, 3, 4, 4)),
        (lambda: nn.Conv2DTranspose(3, 3), (2, 3)),
    ],
)
def test_data_of_other_axes_before_the_channels_are_known(make, shape, hybridize):
    layer = make()
    layer.initialize()
    if hybridize:
        layer.hybridize()
    with pytest.raises(ValueError, match=r"shape cannot be inferred.*data must have \d axes for kernel") as e:
        layer(nd.ones(shape))
    assert isinstance(e.value, MXNetError)


class OfOwnWeight(nn.Conv2D):
    """As spectral normalisation and quantization write layers."""

    def hybrid_forward(self, F, x, weight, bias=None):
        return getattr(F, self._op_name)(x, weight * 2, bias, name="fwd", **self._kwargs)


@pytest.mark.parametrize("hybridize", [False, True])
def test_layers_of_programs_call_the_operator_by_its_name(hybridize):
    layer = OfOwnWeight(2, 3, in_channels=1)
    layer.initialize(init.One())
    if hybridize:
        layer.hybridize()
    assert layer(nd.ones((1, 1, 4, 4))).asnumpy().tolist() == [[[[18] * 2] * 2] * 2]


def test_layers_of_programs_derive_from_the_class_of_all_convolutions():
    class Transposed(_Conv):
        def __init__(self):
            sizes = (3, 3), (1, 1), 0, 1, 1
            super().__init__(
                2, *sizes, "NCHW", 1, None, True, None, "zeros", op_name="Deconvolution", adj=(0, 0)
            )

    layer = Transposed()
    layer.initialize()
    assert layer(nd.ones((1, 1, 4, 4))).shape == (1, 2, 6, 6) and layer.weight.shape == (1, 2, 3, 3)
    assert nn.Conv2DTranspose(2, 3, strides=2, output_padding=1).outpad == (1, 1)
    settings = dict(nn.Conv3D(4, 3, groups=2)._kwargs)
    shapes = _infer_weight_shape("Convolution", (1, 6, 5, 5, 5), settings)
    assert shapes == [(1, 6, 5, 5, 5), (4, 3, 3, 3, 3), (4,)]


def test_layers_of_programs_derive_from_the_class_of_all_poolings():
    class Largest(_Pooling):
        def __init__(self, size):
            super().__init__((size, size), None, 0, False, False, "max", "NCHW")

    x = nd.random.uniform(shape=(1, 2, 6, 6))
    assert Largest(3)(x).asnumpy().tolist() == nn.MaxPool2D(3)(x).asnumpy().tolist()
    with pytest.raises(AssertionError, match="strides must be a number or a list of 2 ints"):
        _Pooling((2, 2), (1, 1, 1), 0, False, False, "max", "NCHW")
