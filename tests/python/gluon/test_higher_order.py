"""Gradients of gradients through hybridized blocks are those of blocks that run operator by operator."""

import numpy
import pytest

import headrace as hr
from headrace import autograd, gluon, nd
from headrace.base import MXNetError
from headrace.gluon import nn


def results_of(make, x, hybrid, training=True):
    """Outputs, first gradient, the gradients of its squared norm plus the output, and the states."""
    hr.random.seed(1)
    net = make()
    net.initialize(init="xavier", force_reinit=True)
    net(x)
    net.hybridize(hybrid)
    x = x.copy()
    x.attach_grad()
    with autograd.record(training):
        y = net(x)
        (dx,) = autograd.grad(y, [x], create_graph=True, retain_graph=True, train_mode=training)
        loss = (dx * dx).sum() + y.sum()
    loss.backward(train_mode=training)
    parameters = list(net.collect_params().values())
    gradients = [p.grad() for p in parameters if p.grad_req != "null"]
    states = [p.data() for p in parameters if p.grad_req == "null"]
    return [one.asnumpy() for one in (y, dx, x.grad, *gradients, *states)]


def mlp():
    net = nn.HybridSequential(prefix="net_")
    with net.name_scope():
        net.add(nn.Dense(5, activation="tanh"), nn.Dense(3, activation="sigmoid"), nn.Dense(1))
    return net


def convolutional():
    net = nn.HybridSequential(prefix="net_")
    with net.name_scope():
        net.add(nn.Conv2D(2, 3, activation="tanh"), nn.AvgPool2D(), nn.Flatten(), nn.Dense(2))
    return net


def with_batch_norm():
    net = nn.HybridSequential(prefix="net_")
    with net.name_scope():
        net.add(nn.Dense(4), nn.BatchNorm(), nn.Activation("tanh"), nn.Dense(1))
    return net


def with_dropout():
    net = nn.HybridSequential(prefix="net_")
    with net.name_scope():
        net.add(nn.Dense(4, activation="tanh"), nn.Dropout(0.5), nn.Dense(1))
    return net


def random_data(*shape):
    return nd.array(numpy.random.RandomState(0).uniform(-1, 1, shape))


@pytest.mark.parametrize(
    ("make", "shape", "training"),
    [
        (mlp, (4, 3), True),
        (convolutional, (2, 1, 6, 6), True),
        (with_batch_norm, (6, 3), True),
        (with_batch_norm, (6, 3), False),
        (with_dropout, (4, 3), False),
    ],
)
def test_as_without_hybridize(make, shape, training):
    x = random_data(*shape)
    for eager, hybrid in zip(results_of(make, x, False, training), results_of(make, x, True, training)):
        numpy.testing.assert_allclose(hybrid, eager, rtol=2e-4, atol=1e-5)


def test_third_derivative():
    net = nn.HybridLambda(lambda F, x: F.sin(x) * x)
    net.hybridize()
    x = nd.array([0.3, 1.2])
    x.attach_grad()
    with autograd.record():
        first = autograd.grad(net(x), [x], create_graph=True)[0]
        second = autograd.grad(first, [x], create_graph=True)[0]
    second.backward()
    value = x.asnumpy()
    numpy.testing.assert_allclose(
        x.grad.asnumpy(), -3 * numpy.sin(value) - value * numpy.cos(value), rtol=1e-5
    )


def test_blocks_before_and_after_take_part():
    """The inner block's input comes from the tape, and so does the gradient of its output."""
    inner = nn.HybridLambda(lambda F, x: F.exp(x))
    inner.hybridize()
    x = nd.array([0.5])
    x.attach_grad()
    with autograd.record():
        y = inner(x * x) * x
        (dx,) = autograd.grad(y, [x], create_graph=True)
    dx.backward()
    numpy.testing.assert_allclose(x.grad.asnumpy(), (6 * 0.5 + 4 * 0.5**3) * numpy.exp(0.25), rtol=1e-5)


def test_several_outputs_of_which_one_counts():
    net = nn.HybridLambda(lambda F, x: (F.square(x), F.exp(x)))
    net.hybridize()
    x = nd.array([2.0])
    x.attach_grad()
    with autograd.record():
        squares, _ = net(x)
        (dx,) = autograd.grad(squares * x, [x], create_graph=True)
    dx.backward()
    assert x.grad.asnumpy().tolist() == [12]


def test_running_statistics_move_once():
    net = nn.BatchNorm(momentum=0.5, in_channels=1)
    net.initialize()
    net.hybridize()
    x = nd.array([[2.0], [4.0]])
    x.attach_grad()
    with autograd.record():
        (dx,) = autograd.grad(nd.square(net(x)).sum(), [x], create_graph=True)
        total = dx.sum()
    total.backward()
    assert net.running_mean.data().asnumpy().tolist() == [1.5]


def test_random_numbers_cannot_be_drawn_again():
    net = with_dropout()
    net.initialize()
    net.hybridize()
    x = random_data(4, 3)
    x.attach_grad()
    with autograd.record():
        y = net(x)
        with pytest.raises(
            MXNetError, match=r"draws random numbers \(.*\) does not support gradients of higher order"
        ):
            autograd.grad(y, [x], create_graph=True)


def test_gradient_penalty_trains():
    net = mlp()
    net.initialize(init="xavier")
    net.hybridize()
    trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.05})
    x = random_data(16, 3)
    x.attach_grad()

    def penalty_of():
        with autograd.record():
            (dx,) = autograd.grad(net(x), [x], create_graph=True, retain_graph=True)
            return nd.square(dx.norm(axis=1) - 1).mean()

    before = penalty_of().asscalar()
    for _ in range(30):
        penalty = penalty_of()
        penalty.backward()
        trainer.step(1, ignore_stale_grad=True)
    assert penalty_of().asscalar() < before / 2


def test_second_derivative_of_arcsinh_has_its_sign():
    x = nd.array([-1.0, 0.5, 2.0])
    x.attach_grad()
    with autograd.record():
        (slope,) = autograd.grad(nd.arcsinh(x), [x], create_graph=True, retain_graph=True)
    slope.backward()
    values = x.asnumpy()
    numpy.testing.assert_allclose(x.grad.asnumpy(), -values / (values**2 + 1) ** 1.5, rtol=1e-5)
