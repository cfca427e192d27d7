"""Normalization layers against NumPy, in nd and in np mode."""

import numpy
import pytest

from headrace import autograd, init
from headrace.gluon import nn

RNG = numpy.random.default_rng(5)


def values(*shape):
    return (2 * RNG.standard_normal(shape) + 1).astype("float32")


def close(actual, expected, rtol=1e-4, atol=1e-5):
    numpy.testing.assert_allclose(actual.asnumpy(), expected, rtol=rtol, atol=atol)


def normalized(x, axes, epsilon=1e-5):
    return (x - x.mean(axes, keepdims=True)) / numpy.sqrt(x.var(axes, keepdims=True) + epsilon)


class TestBatchNorm:
    @pytest.mark.parametrize(
        ("axis", "shape"), [(1, (4, 3, 5, 6)), (1, (8, 3)), (-1, (4, 5, 3)), (3, (2, 4, 5, 3))]
    )
    def test_training_and_running_statistics(self, array, axis, shape):
        layer = nn.BatchNorm(axis=axis, momentum=0.8, gamma_initializer=init.Constant(2), in_channels=3)
        layer.initialize()
        x = values(*shape)
        others = tuple(a for a in range(len(shape)) if a != axis % len(shape))
        with autograd.record():
            out = layer(array(x))
        out.backward()
        close(out, 2 * normalized(x, others))
        mean, variance = x.mean(others), x.var(others)
        close(layer.running_mean.data(), 0.2 * mean)
        close(layer.running_var.data(), 0.8 + 0.2 * variance)
        broadcast = [1] * len(shape)
        broadcast[axis] = 3
        mean, variance = (0.2 * mean).reshape(broadcast), (0.8 + 0.2 * variance).reshape(broadcast)
        close(layer(array(x)), 2 * (x - mean) / numpy.sqrt(variance + 1e-5))

    def test_gradients(self, array):
        layer = nn.BatchNorm(in_channels=2)
        layer.initialize()
        x, head = values(6, 2), values(6, 2)
        data = array(x)
        data.attach_grad()
        with autograd.record():
            out = layer(data)
        out.backward(array(head))
        unit = normalized(x, 0)
        close(layer.beta.grad(), head.sum(0))
        close(layer.gamma.grad(), (head * unit).sum(0))
        expected = (head - head.mean(0) - unit * (head * unit).mean(0)) / numpy.sqrt(x.var(0) + 1e-5)
        close(data.grad, expected, atol=1e-4)

    def test_global_statistics(self, array):
        layer = nn.BatchNorm(use_global_stats=True, in_channels=3)
        layer.initialize()
        x = values(4, 3)
        with autograd.record():
            out = layer(array(x))
        out.backward()
        close(out, x / numpy.sqrt(1 + 1e-5))
        assert layer.running_mean.data().asnumpy().tolist() == [0, 0, 0]

    def test_fixed_parameters(self, array):
        layer = nn.BatchNorm(scale=False, center=False, in_channels=3, gamma_initializer=init.Constant(5))
        layer.initialize()
        assert {param.grad_req for param in layer.collect_params().values()} == {"null"}
        x = values(4, 3)
        with autograd.record():
            close(layer(array(x)), normalized(x, 0))

    def test_unknown_channels(self, array):
        layer = nn.BatchNorm()
        layer.initialize()
        layer(array(values(2, 5, 3)))
        assert [param.shape for param in layer.collect_params().values()] == [(5,)] * 4

    @pytest.mark.parametrize(("dtype", "kept"), [("float16", "float32"), ("float64", "float64")])
    def test_cast_keeps_float32(self, dtype, kept):
        layer = nn.BatchNorm(in_channels=3)
        layer.initialize()
        layer.cast(dtype)
        assert {numpy.dtype(param.data().dtype).name for param in layer.collect_params().values()} == {kept}

    def test_others_are_cast(self):
        for layer in (nn.LayerNorm(in_channels=3), nn.GroupNorm(3), nn.InstanceNorm(in_channels=3)):
            layer.initialize()
            layer.cast("float16")
            assert layer.gamma.data().dtype == numpy.float16

    def test_with_relu(self, array):
        layer = nn.BatchNormReLU(in_channels=3)
        layer.initialize()
        x = values(4, 3, 2)
        with autograd.record():
            close(layer(array(x)), numpy.maximum(normalized(x, (0, 2)), 0))


class TestLayerNorm:
    @pytest.mark.parametrize(("axis", "shape"), [(-1, (4, 6)), (1, (4, 6, 3)), (-1, (2, 3, 5))])
    def test_values(self, array, axis, shape):
        layer = nn.LayerNorm(axis=axis, epsilon=1e-3)
        layer.initialize()
        x = values(*shape)
        mean, variance = x.mean(axis=axis, keepdims=True), x.var(axis=axis, keepdims=True)
        close(layer(array(x)), (x - mean) / numpy.sqrt(variance + 1e-3), rtol=1e-4, atol=1e-5)
        assert layer.gamma.shape == layer.beta.shape == (shape[axis],)
        assert f"in_channels={shape[axis]})" in repr(layer)

    def test_scale_and_center(self, array):
        layer = nn.LayerNorm(gamma_initializer=init.Constant(2), beta_initializer=init.Constant(3))
        layer.initialize()
        x = values(4, 8)
        expected = (x - x.mean(-1, keepdims=True)) / numpy.sqrt(x.var(-1, keepdims=True) + 1e-5)
        close(layer(array(x)), expected * 2 + 3, rtol=1e-4, atol=1e-5)

    def test_fixed_parameters(self):
        layer = nn.LayerNorm(center=False, scale=False, in_channels=3)
        assert (layer.gamma.grad_req, layer.beta.grad_req) == ("null", "null")


class TestInstanceNorm:
    @pytest.mark.parametrize(
        ("axis", "shape", "others"),
        [(1, (2, 3, 4, 5), (2, 3)), (2, (2, 4, 3), (1,)), (-1, (2, 4, 5, 3), (1, 2))],
    )
    def test_values(self, array, axis, shape, others):
        layer = nn.InstanceNorm(axis=axis, scale=True, gamma_initializer=init.Constant(2), in_channels=3)
        layer.initialize()
        x = values(*shape)
        close(layer(array(x)), 2 * normalized(x, others))

    def test_unknown_channels(self, array):
        layer = nn.InstanceNorm()
        layer.initialize()
        assert (layer.gamma.grad_req, layer.beta.grad_req) == ("null", "write")
        layer(array(values(2, 5, 3)))
        assert layer.gamma.shape == (5,)


class TestGroupNorm:
    @pytest.mark.parametrize("groups", [1, 2, 6])
    def test_values(self, array, groups):
        layer = nn.GroupNorm(groups, beta_initializer=init.Constant(3))
        layer.initialize()
        x = values(2, 6, 4, 3)
        expected = normalized(x.reshape(2, groups, -1), 2).reshape(x.shape) + 3
        close(layer(array(x)), expected)
        assert layer.gamma.shape == layer.beta.shape == (groups,)

    def test_one_gamma_per_group(self, array):
        layer = nn.GroupNorm(2)
        layer.initialize()
        layer.gamma.set_data(array([1.0, 5.0]))
        x = values(2, 4, 3)
        unit = normalized(x.reshape(2, 2, -1), 2) * numpy.array([1, 5]).reshape(1, 2, 1)
        close(layer(array(x)), unit.reshape(x.shape))
