"""Predictions follow the weights, whatever layouts kernels keep of them."""

import numpy as onp
import pytest

import headrace as hr
from headrace import autograd, gluon, nd
from headrace.gluon import nn


@pytest.fixture
def net():
    """A convolution and a dense layer that have predicted often."""
    net = nn.HybridSequential()
    net.add(nn.Conv2D(24, 3, in_channels=8), nn.Activation("relu"), nn.Dense(40))
    net.initialize(hr.init.Xavier())
    net.hybridize()
    x = sample()
    for _ in range(4):
        net(x)
    return net


def sample():
    return nd.array(onp.random.RandomState(3).normal(size=(4, 8, 7, 7)))


def check(net):
    """The network agrees with one that has the same numbers and never predicted before."""
    other = nn.HybridSequential()
    other.add(nn.Conv2D(24, 3, in_channels=8), nn.Activation("relu"), nn.Dense(40))
    other.initialize()
    x = sample()
    other(x)
    for ours, theirs in zip(net.collect_params().values(), other.collect_params().values()):
        theirs.set_data(nd.array(ours.data().asnumpy()))
    expected = other(x).asnumpy()
    for _ in range(4):
        onp.testing.assert_allclose(net(x).asnumpy(), expected, rtol=1e-5, atol=1e-5)


def test_set_data(net):
    weight = net[0].weight
    weight.set_data(weight.data() * 2 + 1)
    check(net)


def test_assignment(net):
    net[0].weight.data()[:] = 0.25
    net[2].weight.data()[3] = 7
    check(net)


def test_arithmetic_in_place(net):
    weight = net[0].weight.data()
    for _ in range(10):
        weight *= 0.9
        weight += 0.1
    check(net)


@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
def test_training(net, optimizer):
    trainer = gluon.Trainer(net.collect_params(), optimizer, {"learning_rate": 0.1})
    x = sample()
    for _ in range(3):
        with autograd.record():
            loss = (net(x) ** 2).mean()
        loss.backward()
        trainer.step(1)
        check(net)


def test_memory_seen_by_numpy(net):
    view = onp.asarray(memoryview(net[0].weight.data()))
    check(net)
    view[...] = 0.5
    check(net)


def test_memory_seen_through_dlpack(net):
    view = onp.from_dlpack(net[0].weight.data())
    check(net)
    if not view.flags.writeable:
        view = onp.frombuffer(memoryview(net[0].weight.data()), dtype=onp.float32)
    view[...] = 0.5
    check(net)


def test_loaded_parameters(net, tmp_path):
    path = str(tmp_path / "net.params")
    net[0].weight.set_data(nd.ones(net[0].weight.shape))
    net.save_parameters(path)
    net[0].weight.set_data(nd.zeros(net[0].weight.shape))
    check(net)
    net.load_parameters(path)
    assert float(net[0].weight.data().asnumpy().min()) == 1
    check(net)
