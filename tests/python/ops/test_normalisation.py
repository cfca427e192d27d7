"""GroupNorm, InstanceNorm, L2Normalization and LRN, against NumPy."""

import numpy
import pytest

from headrace import autograd, nd
from headrace.base import MXNetError

RNG = numpy.random.RandomState(2)
TOLERANCE = {"float64": 1e-10, "float32": 3e-5, "float16": 1e-2, "bfloat16": 8e-2}


def wide(array):
    return array.astype("float64").asnumpy()


def group_norm(x, head, gamma, beta, groups, eps):
    """Result, gradients of data, gamma and beta, mean, deviation."""
    rows, heads = (a.reshape(x.shape[0], groups, -1) for a in (x, head))
    mean, deviation = rows.mean(2, keepdims=True), numpy.sqrt(rows.var(2, keepdims=True) + eps)
    z = (rows - mean) / deviation
    weighted = heads * gamma[:, None]
    slope = weighted - weighted.mean(2, keepdims=True) - z * (weighted * z).mean(2, keepdims=True)
    y = z * gamma[:, None] + beta[:, None]
    gradients = (slope / deviation).reshape(x.shape), (heads * z).sum((0, 2)), heads.sum((0, 2))
    return y.reshape(x.shape), gradients, mean[..., 0], deviation[..., 0]


def check_group_norm(function, shape, groups, dtype, eps, **attrs):
    host = [RNG.randn(*shape) + 2, RNG.rand(groups) + 0.5, RNG.randn(groups)]
    arrays = [nd.array(h, dtype=dtype) for h in host]
    head = nd.array(RNG.randn(*shape), dtype=dtype)
    for array in arrays:
        array.attach_grad()
    with autograd.record():
        y = function(*arrays, eps=eps, **attrs)
    y.backward(head)
    expected, gradients, *_ = group_norm(wide(arrays[0]), wide(head), *map(wide, arrays[1:]), groups, eps)
    for got, wanted in zip((y, *(a.grad for a in arrays)), (expected, *gradients)):
        scale = max(1, abs(wanted).max())
        numpy.testing.assert_allclose(wide(got) / scale, wanted / scale, rtol=0, atol=TOLERANCE[dtype])


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("shape, groups", [((2, 6, 5), 3), ((3, 4, 7, 9), 4), ((2, 8, 30, 40), 1)])
def test_group_norm(shape, groups, dtype):
    check_group_norm(nd.GroupNorm, shape, groups, dtype, 1e-5, num_groups=groups)


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("shape", [(2, 3, 4), (3, 2, 7, 9), (1, 2, 3, 4, 5)])
def test_instance_norm(shape, dtype):
    check_group_norm(nd.InstanceNorm, shape, shape[1], dtype, 1e-3)


def test_statistics_of_group_norm():
    x = RNG.randn(3, 4, 5)
    ones, zeros = nd.ones((2,)), nd.zeros((2,))
    y, mean, deviation = nd.GroupNorm(nd.array(x), ones, zeros, num_groups=2, output_mean_var=True)
    _, _, wanted_mean, wanted_deviation = group_norm(x, x, numpy.ones(2), numpy.zeros(2), 2, 1e-5)
    numpy.testing.assert_allclose(wide(mean), wanted_mean, atol=1e-6)
    numpy.testing.assert_allclose(wide(deviation), wanted_deviation, rtol=1e-5)
    assert y.shape == x.shape


def test_second_derivative_of_group_norm():
    x, head, direction, move = (RNG.randn(2, 4, 3) for _ in range(4))
    gamma, beta = nd.array(RNG.rand(2), dtype="float64"), nd.array(RNG.rand(2), dtype="float64")

    def slope(values, create_graph):
        data = nd.array(values, dtype="float64")
        data.attach_grad()
        with autograd.record():
            y = nd.GroupNorm(data, gamma, beta, num_groups=2)
            (dx,) = autograd.grad([y], [data], [nd.array(head, dtype="float64")], create_graph=create_graph)
            total = (dx * nd.array(direction, dtype="float64")).sum()
        return data, total

    data, total = slope(x, True)
    total.backward()
    difference = slope(x + 1e-6 * move, False)[1] - slope(x - 1e-6 * move, False)[1]
    numpy.testing.assert_allclose((wide(data.grad) * move).sum(), difference.asscalar() / 2e-6, rtol=1e-5)


@pytest.mark.parametrize("mode, axes", [("instance", (1, 2, 3)), ("channel", (1,)), ("spatial", (2, 3))])
def test_l2_normalization(mode, axes):
    x = RNG.randn(2, 3, 4, 5)
    got = nd.L2Normalization(nd.array(x, dtype="float64"), mode=mode, eps=0.1)
    numpy.testing.assert_allclose(
        got.asnumpy(), x / numpy.sqrt((x**2).sum(axes, keepdims=True) + 0.1), rtol=1e-10
    )


@pytest.mark.parametrize("nsize", [1, 2, 3, 4, 5, 11])
def test_lrn(nsize):
    """An even nsize divides by nsize, but takes the channels of nsize - 1, as MXNet does."""
    x = RNG.randn(2, 6, 3, 2)
    beside = (nsize - 1) // 2
    sums = numpy.stack([(x[:, max(0, c - beside) : c + beside + 1] ** 2).sum(1) for c in range(6)], axis=1)
    got = nd.LRN(nd.array(x, dtype="float64"), nsize=nsize, alpha=0.3, beta=0.6, knorm=1.5)
    numpy.testing.assert_allclose(got.asnumpy(), x * (1.5 + 0.3 / nsize * sums) ** -0.6, rtol=1e-10)


def test_no_elements():
    for shape in [(0, 4, 3), (2, 4, 0)]:
        x = nd.array(numpy.zeros(shape))
        x.attach_grad()
        with autograd.record():
            y = nd.GroupNorm(x, nd.ones((2,)), nd.zeros((2,)), num_groups=2)
        y.backward()
        assert y.shape == x.grad.shape == shape
        assert nd.InstanceNorm(x, nd.ones((4,)), nd.zeros((4,))).shape == shape
        assert nd.L2Normalization(x).shape == nd.LRN(x, nsize=3).shape == shape


def test_what_does_not_fit_is_refused_at_once():
    x, ones = nd.ones((2, 4, 3)), nd.ones((2,))
    with pytest.raises(MXNetError, match=r"gamma must have shape \(2,\).*got \(4,\)"):
        nd.GroupNorm(x, nd.ones((4,)), ones, num_groups=2)
    with pytest.raises(MXNetError, match="multiple of num_groups=3"):
        nd.GroupNorm(x, nd.ones((3,)), nd.ones((3,)), num_groups=3)
    with pytest.raises(ValueError, match="num_groups must be positive"):
        nd.GroupNorm(x, ones, ones, num_groups=0)
    with pytest.raises(MXNetError, match="at least 3 dimensions"):
        nd.InstanceNorm(nd.ones((2, 2)), ones, ones)
    with pytest.raises(MXNetError, match="at least 3 dimensions"):
        nd.L2Normalization(nd.ones((2, 2)), mode="spatial")
    with pytest.raises(ValueError, match="nsize must be positive, got 0"):
        nd.LRN(x, nsize=0)
