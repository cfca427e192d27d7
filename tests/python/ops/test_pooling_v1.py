"""Pooling_v1, whose padding is zeros; IdentityAttachKLSparseReg, whose gradient draws means to a target."""

import numpy
import pytest

from headrace import autograd, nd, sym
from headrace.base import MXNetError

RANDOM = numpy.random.RandomState(19)


def pooled(image, kernel, stride, pad, counts, function):
    """`function` of each window of the image between zeros, as far as it lies there."""
    wide = numpy.pad(image, [(0, 0), (0, 0), (pad[0], pad[0]), (pad[1], pad[1])])
    result = numpy.empty((*image.shape[:2], *counts))
    for y, x in numpy.ndindex(*counts):
        top, left = y * stride[0], x * stride[1]
        window = wide[:, :, top : top + kernel[0], left : left + kernel[1]]
        result[:, :, y, x] = function(window, axis=(2, 3))
    return result


@pytest.mark.parametrize("pool_type", ["max", "avg", "sum"])
@pytest.mark.parametrize(
    "convention, kernel, stride, pad, counts",
    [
        ("valid", (3, 2), (1, 1), (0, 0), (3, 5)),
        ("valid", (2, 2), (2, 2), (1, 1), (3, 4)),
        ("full", (2, 3), (2, 2), (1, 0), (4, 3)),
        ("full", (1, 1), (3, 4), (0, 0), (2, 2)),
    ],
)
def test_pooling_v1(pool_type, convention, kernel, stride, pad, counts):
    image = RANDOM.uniform(-2, -1, (2, 3, 5, 6))
    function = numpy.max if pool_type == "max" else numpy.sum
    expected = pooled(image, kernel, stride, pad, counts, function)
    if pool_type == "avg":
        expected = expected / (kernel[0] * kernel[1])
    result = nd.Pooling_v1(
        nd.array(image, dtype="float64"),
        kernel=kernel,
        stride=stride,
        pad=pad,
        pool_type=pool_type,
        pooling_convention=convention,
    )
    numpy.testing.assert_allclose(result.asnumpy(), expected, rtol=1e-12)


def test_pooling_v1_of_whole_images():
    image = RANDOM.uniform(-1, 1, (2, 3, 4, 5))
    result = nd.Pooling_v1(nd.array(image, dtype="float64"), global_pool=True, pool_type="avg")
    numpy.testing.assert_allclose(result.asnumpy(), image.mean((2, 3), keepdims=True), rtol=1e-12)


def test_pooling_v1_refuses_other_images():
    with pytest.raises(MXNetError, match="batch, channel, y, x"):
        nd.Pooling_v1(nd.ones((2, 3, 4)), kernel=(2, 2))
    with pytest.raises(MXNetError, match="exceeds"):
        nd.Pooling_v1(nd.ones((2, 3, 4, 4)), kernel=(5, 2))
    with pytest.raises(MXNetError, match="two numbers"):
        nd.Pooling_v1(nd.ones((2, 3, 4, 4)), kernel=(2, 2, 2))


def test_convolution_v1_is_convolution():
    arrays = [nd.array(RANDOM.uniform(-1, 1, shape)) for shape in ((1, 2, 4, 4), (3, 2, 2, 2), (3,))]
    old, new = (f(*arrays, kernel=(2, 2), num_filter=3) for f in (nd.Convolution_v1, nd.Convolution))
    assert (old.asnumpy() == new.asnumpy()).all()


def test_sparse_regularization():
    data, average = RANDOM.uniform(0.1, 0.9, (4, 3)), RANDOM.uniform(0.1, 0.9, (3,))
    x, moving = nd.array(data, dtype="float64"), nd.array(average, dtype="float64")
    x.attach_grad()
    settings = {"sparseness_target": 0.2, "penalty": 0.5, "momentum": 0.75}
    with autograd.record():
        y = nd.IdentityAttachKLSparseReg(x, moving, **settings)
    y.backward(nd.full((4, 3), 2.0, dtype="float64"))
    now = 0.75 * average + 0.25 * data.mean(0)
    numpy.testing.assert_allclose(y.asnumpy(), data)
    numpy.testing.assert_allclose(moving.asnumpy(), now, rtol=1e-12)
    slope = numpy.broadcast_to(2 + 0.5 * (0.8 / (1 - now) - 0.2 / now), (4, 3))
    numpy.testing.assert_allclose(x.grad.asnumpy(), slope, rtol=1e-12)
    nd.IdentityAttachKLSparseReg(x, moving, **settings)
    numpy.testing.assert_allclose(moving.asnumpy(), now, rtol=1e-12)


def test_sparse_regularization_in_a_symbol():
    s = sym.IdentityAttachKLSparseReg(sym.var("x"), name="reg")
    assert (s.list_arguments(), s.list_auxiliary_states()) == (["x"], ["reg_moving_avg"])
    with autograd.train_mode(), pytest.raises(MXNetError, match="batch, units"):
        nd.IdentityAttachKLSparseReg(nd.ones((2, 3, 4)), nd.ones((3,)))
