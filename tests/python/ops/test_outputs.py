"""Output layers with the gradient of a loss of their own, against NumPy."""

import numpy
import pytest

from headrace import autograd, nd, sym
from headrace.base import MXNetError

RNG = numpy.random.RandomState(11)


def softmax(x, axis):
    e = numpy.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def run(function, data, label, **attrs):
    x = nd.array(data, dtype="float64")
    x.attach_grad()
    with autograd.record():
        y = function(x, nd.array(label), **attrs)
    y.backward(nd.array(RNG.randn(*y.shape), dtype="float64"))  # ignored
    return y.asnumpy(), x.grad.asnumpy()


def one_hot(label, classes, axis=-1):
    return numpy.moveaxis(numpy.eye(classes)[label], -1, axis)


@pytest.mark.parametrize("normalization, divisor", [("null", 1), ("batch", 4), ("valid", 3)])
@pytest.mark.parametrize("use_ignore", [False, True])
def test_softmax_output(use_ignore, normalization, divisor):
    data, label = RNG.randn(4, 5), numpy.array([0, 2, 4, 2])
    label[1] = 3
    y, dx = run(
        nd.SoftmaxOutput,
        data,
        label,
        use_ignore=use_ignore,
        ignore_label=4,
        normalization=normalization,
        grad_scale=3,
    )
    expected = softmax(data, 1) - one_hot(label, 5)
    if use_ignore:
        expected[label == 4] = 0
    numpy.testing.assert_allclose(y, softmax(data, 1), rtol=1e-7)
    numpy.testing.assert_allclose(dx, expected * 3 / divisor, rtol=1e-6, atol=1e-9)


def test_classes_are_all_that_is_not_the_batch():
    data, label = RNG.randn(2, 3, 2), numpy.array([5, 0])
    y, dx = run(nd.SoftmaxOutput, data, label)
    expected = softmax(data.reshape(2, 6), 1)
    numpy.testing.assert_allclose(y, expected.reshape(2, 3, 2))
    numpy.testing.assert_allclose(dx, (expected - one_hot(label, 6)).reshape(2, 3, 2), atol=1e-9)


def test_labels_of_data_with_more_axes():
    """MXNet gives them the shape of data without its last axis, and reads one for each instance."""
    shapes, _, _ = sym.SoftmaxOutput(sym.var("x"), name="s").infer_shape(x=(4, 3, 2))
    assert shapes == [(4, 3, 2), (4, 3)]
    data, label = RNG.randn(4, 3, 2), numpy.arange(12).reshape(4, 3) % 6
    _, expected = run(nd.SoftmaxOutput, data, label.ravel()[:4])
    _, dx = run(nd.SoftmaxOutput, data, label)
    numpy.testing.assert_array_equal(dx, expected)
    for normalization in ("batch", "valid"):
        _, dx = run(nd.SoftmaxOutput, data, label, normalization=normalization)
        numpy.testing.assert_allclose(dx, expected / 12, rtol=1e-6)


def test_classes_along_axis_1():
    data, label = RNG.randn(2, 3, 4, 5), RNG.randint(0, 3, (2, 4, 5))
    expected = softmax(data, 1) - one_hot(label, 3, 1)
    for shape in [(2, 4, 5), (2, 20), (2, 1, 4, 5)]:
        y, dx = run(nd.SoftmaxOutput, data, label.reshape(shape), multi_output=True)
        numpy.testing.assert_allclose(y, softmax(data, 1))
        numpy.testing.assert_allclose(dx, expected / 20, atol=1e-9)


def test_labels_that_are_probabilities():
    data, label = RNG.randn(4, 5), softmax(RNG.randn(4, 5), 1).astype("float32")
    _, dx = run(nd.SoftmaxOutput, data, label, grad_scale=2)
    numpy.testing.assert_allclose(dx, 2 * (softmax(data, 1) - label), rtol=1e-6, atol=1e-7)


def test_smoothed_labels_and_labels_that_are_no_class():
    data = RNG.randn(3, 4)
    _, dx = run(nd.SoftmaxOutput, data, [0, 3, -1], smooth_alpha=0.3)
    target = numpy.full((3, 4), 0.1)
    target[0, 0] = target[1, 3] = 0.7
    numpy.testing.assert_allclose(dx, softmax(data, 1) - target, atol=1e-9)


def test_out_grad_multiplies():
    x = nd.array(RNG.randn(2, 3))
    x.attach_grad()
    for attrs in ({}, {"out_grad": True}):
        with autograd.record():
            y = nd.SoftmaxOutput(x, nd.array([0, 1]), **attrs)
        y.backward(nd.full((2, 3), 5))
        expected = y.asnumpy() - one_hot([0, 1], 3)
        numpy.testing.assert_allclose(x.grad.asnumpy(), expected * (5 if attrs else 1), rtol=1e-5)


@pytest.mark.parametrize(
    "function, forward, slope",
    [
        (nd.LinearRegressionOutput, lambda x: x, lambda y, t: y - t),
        (nd.MAERegressionOutput, lambda x: x, lambda y, t: numpy.sign(y - t)),
        (nd.LogisticRegressionOutput, lambda x: 1 / (1 + numpy.exp(-x)), lambda y, t: y - t),
    ],
)
def test_regression(function, forward, slope):
    data, label = RNG.randn(3, 4, 2), RNG.randint(0, 2, (3, 8)).astype("float64")
    y, dx = run(function, data, label, grad_scale=0.5)
    numpy.testing.assert_allclose(y, forward(data), rtol=1e-12)
    numpy.testing.assert_allclose(dx, slope(y, label.reshape(3, 4, 2)) * 0.5 / 8, rtol=1e-12)
    y, dx = run(function, data[:, :1, 0], label[:, 0])
    numpy.testing.assert_allclose(dx, slope(y, label[:, :1]), rtol=1e-12)
    with pytest.raises(MXNetError, match="label must have the shape of data"):
        function(nd.ones((3, 2)), nd.ones((2, 3)))


@pytest.mark.parametrize("use_linear", [False, True])
def test_svm_output(use_linear):
    data, label = RNG.randn(5, 4), numpy.array([0, 3, 1, 2, 2])
    y, dx = run(nd.SVMOutput, data, label, margin=0.7, regularization_coefficient=2, use_linear=use_linear)
    side = 2 * one_hot(label, 4) - 1
    missing = numpy.maximum(0.7 - side * data, 0)
    expected = -side * 2 * ((missing > 0) if use_linear else 2 * missing)
    numpy.testing.assert_array_equal(y, data)
    numpy.testing.assert_allclose(dx, expected, rtol=1e-6)
    rows, classes = numpy.tile(data, (3, 1)).reshape(3, 5, 4), numpy.tile(label, 3).reshape(3, 5)
    y, dx = run(nd.SVMOutput, rows, classes, margin=0.7, regularization_coefficient=2, use_linear=use_linear)
    numpy.testing.assert_allclose(dx, numpy.tile(expected, (3, 1)).reshape(3, 5, 4), rtol=1e-6)


def test_what_does_not_fit_is_refused_at_once():
    with pytest.raises(MXNetError, match=r"label must have shape \(4,\).*got \(5,\)"):
        nd.SoftmaxOutput(nd.ones((4, 3)), nd.ones((5,)))
    with pytest.raises(MXNetError, match=r"label must have shape \(4, 6\)"):
        nd.SoftmaxOutput(nd.ones((4, 3, 2, 3)), nd.ones((4, 5)), multi_output=True)
    with pytest.raises(ValueError, match="normalization"):
        nd.SoftmaxOutput(nd.ones((4, 3)), nd.ones((4,)), normalization="all")
    with pytest.raises(MXNetError, match="label"):
        nd.SVMOutput(nd.ones((4, 3)), nd.ones((3,)))


@pytest.mark.parametrize("function", [nd.SoftmaxOutput, nd.SVMOutput])
def test_no_elements(function):
    x = nd.array(numpy.zeros((0, 3)))
    assert function(x, nd.array(numpy.zeros((0,)))).shape == (0, 3)
