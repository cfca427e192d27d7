"""Layers against NumPy, in nd and in np mode."""

import math

import numpy
import pytest

import headrace as hr
from headrace import autograd, init, nd
from headrace.gluon import nn

RNG = numpy.random.default_rng(3)


def values(*shape):
    return RNG.standard_normal(shape).astype("float32")


def close(actual, expected, rtol=1e-5, atol=1e-6):
    numpy.testing.assert_allclose(actual.asnumpy(), expected, rtol=rtol, atol=atol)


@pytest.mark.parametrize("use_bias", [True, False])
@pytest.mark.parametrize(
    ("shape", "flatten"), [((4, 3), True), ((4, 3, 2), True), ((4, 3, 2), False), ((5,), False)]
)
def test_dense(array, shape, flatten, use_bias):
    if flatten is False and len(shape) == 1 and array is hr.nd.array:
        pytest.skip("nd rows have at least two axes")
    layer = nn.Dense(6, use_bias=use_bias, flatten=flatten, bias_initializer="ones")
    layer.initialize(init.Normal(1))
    x = values(*shape)
    out = layer(array(x))
    rows = x.reshape(shape[0], -1) if flatten else x
    expected = rows @ layer.weight.data().asnumpy().T + (1 if use_bias else 0)
    close(out, expected)
    assert layer.weight.shape == (6, rows.shape[-1])
    assert (layer.bias is not None) == use_bias


def test_dense_gradients(array):
    layer = nn.Dense(2, in_units=3)
    layer.initialize(init.Normal(1))
    x, head = values(4, 3), values(4, 2)
    data = array(x)
    data.attach_grad()
    with autograd.record():
        out = layer(data)
    out.backward(array(head))
    close(layer.weight.grad(), head.T @ x)
    close(layer.bias.grad(), head.sum(axis=0))
    close(data.grad, head @ layer.weight.data().asnumpy())


def test_dense_completes_its_shape_once(array):
    layer = nn.Dense(2)
    layer.initialize(init.One())
    assert repr(layer).endswith(("Dense(None -> 2, linear)", "Dense(-1 -> 2, linear)"))
    close(layer(array(numpy.ones((1, 3), "float32"))), [[3, 3]])
    assert repr(layer) == "Dense(3 -> 2, linear)"
    with pytest.raises(Exception, match="3"):
        layer(array(numpy.ones((1, 4), "float32"))).asnumpy()


def test_subclass_may_call_the_layer_inside_forward(array):
    class Twice(nn.Dense):
        calls = 0

        def forward(self, x):
            Twice.calls += 1
            return super().forward(x) * 2

    layer = Twice(1)
    layer.initialize(init.One())
    close(layer(array(numpy.ones((1, 3), "float32"))), [[6]])
    assert Twice.calls == 1


@pytest.mark.parametrize(
    ("kind", "function"),
    [
        ("relu", lambda x: numpy.maximum(x, 0)),
        ("sigmoid", lambda x: 1 / (1 + numpy.exp(-x))),
        ("tanh", numpy.tanh),
        ("softrelu", lambda x: numpy.log1p(numpy.exp(x))),
        ("softsign", lambda x: x / (1 + abs(x))),
    ],
)
def test_activation(array, kind, function):
    x = values(3, 4)
    close(nn.Activation(kind)(array(x)), function(x))
    layer = nn.Dense(2, activation=kind, in_units=4)
    layer.initialize(init.Normal(1))
    close(layer(array(x)), function(x @ layer.weight.data().asnumpy().T))


def test_unknown_activation(array):
    with pytest.raises(Exception, match="foo"):
        nn.Activation("foo")(array([1.0])).asnumpy()


ERF = numpy.vectorize(math.erf)


@pytest.mark.parametrize(
    ("make", "function"),
    [
        (lambda: nn.LeakyReLU(0.1), lambda x: numpy.where(x > 0, x, 0.1 * x)),
        (nn.PReLU, lambda x: numpy.where(x > 0, x, 0.25 * x)),
        (nn.ELU, lambda x: numpy.where(x > 0, x, numpy.expm1(x))),
        (lambda: nn.ELU(0.5), lambda x: numpy.where(x > 0, x, 0.5 * numpy.expm1(x))),
        (
            nn.SELU,
            lambda x: 1.0507009873554805 * numpy.where(x > 0, x, 1.6732632423543772 * numpy.expm1(x)),
        ),
        (nn.GELU, lambda x: x * 0.5 * (1 + ERF(x / math.sqrt(2)))),
        (nn.Swish, lambda x: x / (1 + numpy.exp(-x))),
        (lambda: nn.Swish(2.0), lambda x: x / (1 + numpy.exp(-2 * x))),
    ],
)
def test_activation_layers(array, make, function):
    layer = make()
    layer.initialize()
    x = values(3, 4)
    close(layer(array(x)), function(x))


def test_leaky_slope_is_not_negative():
    with pytest.raises(AssertionError, match="no less than 0"):
        nn.LeakyReLU(-1)


def test_prelu_learns_its_slope(array):
    layer = nn.PReLU()
    layer.initialize()
    with autograd.record():
        out = layer(array([[-2.0, 3.0]]))
    out.backward()
    assert layer.alpha.grad().asnumpy().tolist() == [-2.0]


class TestDropout:
    def test_outside_training(self, array):
        x = values(5, 6)
        close(nn.Dropout(0.5)(array(x)), x)

    def test_rate_zero(self, array):
        x = values(5, 6)
        with autograd.record():
            close(nn.Dropout(0)(array(x)), x)

    def test_in_training(self, array):
        ones = array(numpy.ones((200, 100), "float32"))
        with autograd.train_mode():
            out = nn.Dropout(0.25)(ones).asnumpy()
        assert set(numpy.unique(out).tolist()) == {0.0, float(numpy.float32(1 / 0.75))}
        assert abs((out == 0).mean() - 0.25) < 0.02

    def test_shared_axes(self, array):
        with autograd.train_mode():
            out = nn.Dropout(0.5, axes=(1,))(array(numpy.ones((50, 8), "float32"))).asnumpy()
        assert (out == out[:, :1]).all() and 0 < (out == 0).mean() < 1


class TestEmbedding:
    def test_rows_and_gradient(self, array):
        layer = nn.Embedding(4, 3)
        layer.initialize(init.Normal(1))
        ids = numpy.array([[0, 3], [1, 3]], "float32")
        with autograd.record():
            out = layer(array(ids))
        out.backward()
        close(out, layer.weight.data().asnumpy()[ids.astype(int)])
        close(layer.weight.grad(), numpy.array([[1] * 3, [1] * 3, [0] * 3, [2] * 3]))

    def test_ids_outside_are_clipped(self, array):
        layer = nn.Embedding(4, 2)
        layer.initialize(init.Normal(1))
        close(layer(array([-5.0, 9.0])), layer.weight.data().asnumpy()[[0, 3]])

    def test_sparse_grad_gives_the_same_values(self, array):
        layer = nn.Embedding(4, 2, sparse_grad=True)
        layer.initialize()
        with autograd.record():
            out = layer(array([1.0, 1.0]))
        out.backward()
        close(layer.weight.grad(), [[0, 0], [2, 2], [0, 0], [0, 0]])


def test_flatten(array):
    assert nn.Flatten()(array(values(2, 3, 4))).shape == (2, 12)


def test_contexts_of_replicas():
    layer = nn.Dense(2, in_units=3)
    layer.initialize(init.One(), ctx=[hr.cpu(0), hr.cpu(1)])
    out = layer(nd.ones((1, 3), ctx=hr.cpu(1)))
    assert out.ctx == hr.cpu(1)
    assert out.asnumpy().tolist() == [[3, 3]]
