"""Batch normalisation against plain NumPy, in both memory orders and every float dtype."""

import numpy
import pytest

from headrace import autograd, nd, np, npx
from headrace.base import MXNetError

TOLERANCE = {"float64": 1e-10, "float32": 3e-5, "float16": 4e-3, "bfloat16": 2e-2}
SHAPES = [
    (4, 3, 5, 7),  # few channels, odd extents
    (2, 64, 4, 4),
    (9, 200, 3, 3),  # planes shorter than a vector
    (1, 2, 70, 80),  # planes longer than a block of sums
    (2, 5, 3),
    (2, 3, 2, 3, 4),
    (300, 20),  # rows: channels are innermost
    (64, 130),
]


def channels_last(values, dtype):
    """The same array, its memory in the order n, ..., c."""
    order = (0, *range(2, values.ndim), 1)
    array = np.array(numpy.ascontiguousarray(values.transpose(order)), dtype=dtype)
    return array.transpose((0, values.ndim - 1, *range(1, values.ndim - 1)))


def every_other(values, dtype):
    """The same array, with gaps."""
    gaps = np.zeros((*values.shape[:-1], values.shape[-1] * 2), dtype=dtype)
    gaps[..., ::2] = np.array(values, dtype=dtype)
    return gaps[..., ::2]


def wide(array):
    return array.astype("float64").asnumpy()


def close(got, expected, tolerance):
    scale = max(1, abs(expected).max(initial=0))
    numpy.testing.assert_allclose(wide(got) / scale, expected / scale, rtol=0, atol=tolerance)


class Reference:
    """The formulas, in float64."""

    def __init__(self, x, head, gamma, beta, mean, var, axis, eps, train, relu):
        axes = tuple(i for i in range(x.ndim) if i != axis % x.ndim)
        shape = [1] * x.ndim
        shape[axis] = x.shape[axis]
        gamma, beta = gamma.reshape(shape), beta.reshape(shape)
        self.mean, self.var = (x.mean(axes), x.var(axes)) if train else (mean, var)
        scale = 1 / numpy.sqrt(self.var.reshape(shape) + eps)
        z = (x - self.mean.reshape(shape)) * scale
        y = z * gamma + beta
        if relu:
            head = head * (y > 0)
            y = numpy.maximum(y, 0)
        self.y, self.dgamma, self.dbeta = y, (head * z).sum(axes), head.sum(axes)
        if train:
            head = head - head.mean(axes, keepdims=True) - z * (head * z).mean(axes, keepdims=True)
        self.dx = head * gamma * scale


def run(shape, dtype, make=None, axis=1, train=True, relu=False, fix_gamma=False, eps=1e-3):
    """Runs forward and backward, and compares everything with the formulas."""
    rng = numpy.random.RandomState(0)
    make = make or (lambda values, dtype: np.array(values, dtype=dtype))
    x = make(rng.randn(*shape) * 2 + 3, dtype).as_nd_ndarray()
    head = np.array(rng.randn(*shape), dtype=dtype).as_nd_ndarray()
    channels = shape[axis]
    host = [rng.rand(channels) + 0.5, rng.randn(channels), rng.randn(channels), rng.rand(channels) + 0.5]
    parameters = [nd.array(p, dtype="float64" if dtype == "float64" else "float32") for p in host]
    for array in (x, *parameters[:2]):
        array.attach_grad()
    function = nd.contrib.BatchNormWithReLU if relu else nd.BatchNorm
    with autograd.record(train):
        y = function(x, *parameters, eps=eps, momentum=0.8, fix_gamma=fix_gamma, axis=axis)
    y.backward(head)

    if all(extent > 1 for extent in shape):
        assert y.strides == x.strides or make is every_other or axis != 1
    gamma = numpy.ones(channels) if fix_gamma else host[0]
    expected = Reference(wide(x), wide(head), gamma, host[1], host[2], host[3], axis, eps, train, relu)
    tolerance = TOLERANCE[dtype]
    close(y, expected.y, tolerance)
    close(x.grad, expected.dx, tolerance)
    close(parameters[0].grad, expected.dgamma * (not fix_gamma), tolerance)
    close(parameters[1].grad, expected.dbeta, tolerance)
    if train:
        close(parameters[2], host[2] * 0.8 + expected.mean * 0.2, tolerance)
        close(parameters[3], host[3] * 0.8 + expected.var * 0.2, tolerance)
        if fix_gamma:
            close(parameters[0], gamma, 0)
    else:
        close(parameters[2], host[2], 1e-6)


@pytest.mark.parametrize("relu", [False, True])
@pytest.mark.parametrize("train", [True, False])
@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_both_memory_orders(shape, dtype, train, relu):
    run(shape, dtype, train=train, relu=relu)
    if len(shape) > 2:
        run(shape, dtype, channels_last, train=train, relu=relu)


@pytest.mark.parametrize("axis", [0, 2, -1])
def test_any_axis(axis):
    for make in (None, channels_last):
        for shape in ((4, 5, 6), (4, 5, 6, 3)):
            run(shape, "float32", make, axis=axis)
            run(shape, "float32", make, axis=axis, train=False)


def test_fixed_gamma_counts_as_one_and_is_set():
    run((4, 3, 5), "float32", fix_gamma=True)
    run((4, 3, 5), "float32", fix_gamma=True, train=False)


def test_strided_data():
    run((4, 3, 5, 6), "float32", every_other)
    run((8, 6), "bfloat16", every_other)


def test_large_means_lose_no_variance():
    x = numpy.random.RandomState(1).randn(64, 8, 6, 6) + 1000
    for make in (lambda v, d: np.array(v, dtype=d), channels_last):
        data = make(x, "float32")
        ones, zeros = np.ones((8,)), np.zeros((8,))
        with autograd.train_mode():
            _, mean, inverse = npx.batch_norm(
                data, ones, zeros, np.zeros((8,)), np.ones((8,)), eps=0, fix_gamma=False, output_mean_var=True
            )
        host = wide(data)
        close(mean, host.mean((0, 2, 3)), 1e-6)
        numpy.testing.assert_allclose(wide(inverse), 1 / host.std((0, 2, 3)), rtol=1e-4)


def test_an_outlier_at_the_front_loses_no_variance():
    x = numpy.full((1000, 64), 1000.0) + numpy.random.RandomState(1).randn(1000, 64)
    x[0] = 0
    arguments = [np.ones((64,)), np.zeros((64,)), np.zeros((64,)), np.ones((64,))]
    with autograd.train_mode():
        npx.batch_norm(np.array(x, dtype="float32"), *arguments, momentum=0)
    numpy.testing.assert_allclose(wide(arguments[3]), x.astype("float32").astype("float64").var(0), rtol=1e-4)


def test_statistics_move_in_the_forward_pass_and_only_while_training():
    x = nd.array([[1.0, 2.0], [3.0, 6.0]])
    parameters = [nd.ones((2,)), nd.zeros((2,)), nd.zeros((2,)), nd.ones((2,))]
    nd.BatchNorm(x, *parameters)
    assert parameters[2].asnumpy().tolist() == [0, 0]
    with autograd.record():
        nd.BatchNorm(x, *parameters, use_global_stats=True)
    assert parameters[2].asnumpy().tolist() == [0, 0]
    with autograd.record():
        nd.BatchNorm(x, *parameters, momentum=0.5)
    assert parameters[2].asnumpy().tolist() == [1, 2]
    assert parameters[3].asnumpy().tolist() == [1, 2.5]


def test_second_derivatives():
    rng = numpy.random.RandomState(3)
    x, head, direction = (rng.randn(5, 3) for _ in range(3))
    parameters = [np.array(p, dtype="float64") for p in (rng.rand(3) + 0.5, rng.randn(3))]

    def first(values, create_graph):
        data = np.array(values, dtype="float64")
        data.attach_grad()
        moving = [np.zeros((3,), dtype="float64"), np.ones((3,), dtype="float64")]
        with autograd.record():
            y = npx.batch_norm(data, *parameters, *moving, fix_gamma=False)
            (dx,) = autograd.grad([y], [data], [np.array(head, dtype="float64")], create_graph=create_graph)
            total = (dx * np.array(direction, dtype="float64")).sum()
        return data, total

    data, total = first(x, True)
    total.backward()
    move = rng.randn(5, 3)
    slope = (first(x + 1e-6 * move, False)[1] - first(x - 1e-6 * move, False)[1]).item() / 2e-6
    numpy.testing.assert_allclose((wide(data.grad) * move).sum(), slope, rtol=1e-5)


def test_no_elements():
    for shape in [(0, 3, 2), (2, 3, 0), (2, 0, 4)]:
        channels = shape[1]
        arguments = [np.ones((channels,)), np.zeros((channels,)), np.zeros((channels,)), np.ones((channels,))]
        x = np.zeros(shape)
        x.attach_grad()
        with autograd.record():
            y = npx.batch_norm(x, *arguments)
        y.backward()
        assert y.shape == x.grad.shape == shape
        assert not numpy.isnan(arguments[2].asnumpy()).any()


def test_what_does_not_fit_is_refused_at_once():
    x, ones = np.ones((2, 3, 4)), np.ones((3,))
    with pytest.raises(MXNetError, match=r"gamma must have shape \(3,\).*got \(4,\)"):
        npx.batch_norm(x, np.ones((4,)), ones, ones, ones)
    with pytest.raises(MXNetError, match="moving_var must hold float32 beside data of float16, got float16"):
        npx.batch_norm(x.astype("float16"), ones, ones, ones, ones.astype("float16"))
    with pytest.raises(ValueError, match="axis"):
        npx.batch_norm(x, ones, ones, ones, ones, axis=3)
    with pytest.raises(TypeError, match="floats"):
        npx.batch_norm(x.astype("int32"), ones, ones, ones, ones)


def test_sync_batch_norm_is_batch_norm_on_one_device():
    x = nd.array(numpy.random.RandomState(0).randn(4, 3, 2))
    a = [nd.ones((3,)), nd.zeros((3,)), nd.zeros((3,)), nd.ones((3,))]
    b = [p.copy() for p in a]
    with autograd.record():
        plain = nd.BatchNorm(x, *a)
        sync = nd.contrib.SyncBatchNorm(x, *b, key="bn0")
    numpy.testing.assert_array_equal(plain.asnumpy(), sync.asnumpy())
    numpy.testing.assert_array_equal(a[3].asnumpy(), b[3].asnumpy())
    with pytest.raises(ValueError, match="ndev is a number of devices, got 0"):
        nd.contrib.SyncBatchNorm(x, *b, key="bn0", ndev=0)


def test_sync_batch_norm_gives_the_variance():
    x = numpy.random.RandomState(0).randn(4, 3, 2).astype("float32")
    parameters = [nd.ones((3,)), nd.zeros((3,)), nd.zeros((3,)), nd.ones((3,))]
    with autograd.record():
        _, mean, var = nd.contrib.SyncBatchNorm(nd.array(x), *parameters, key="bn0", output_mean_var=True)
        _, _, inverse = nd.BatchNorm(nd.array(x), *parameters, output_mean_var=True, eps=1e-3)
    numpy.testing.assert_allclose(mean.asnumpy(), x.mean((0, 2)), rtol=1e-4, atol=1e-6)
    numpy.testing.assert_allclose(var.asnumpy(), x.var((0, 2)), rtol=1e-4)
    numpy.testing.assert_allclose(inverse.asnumpy(), (x.var((0, 2)) + 1e-3) ** -0.5, rtol=1e-4)
