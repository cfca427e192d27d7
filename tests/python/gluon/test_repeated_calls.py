"""Calls that come again: what was prepared for the last one serves only while nothing has changed."""

import gc
import weakref

import numpy
import pytest

import headrace as mx
from headrace import autograd, gluon, init, nd

nn = gluon.nn


class Weighted(gluon.HybridBlock):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        with self.name_scope():
            self.weight = self.params.get("weight", shape=(2,), init=init.One())

    def hybrid_forward(self, F, x, y=None, weight=None):
        x = F.broadcast_mul(x, weight)
        return x if y is None else (x, x + y)


@pytest.fixture
def block():
    made = Weighted()
    made.initialize()
    made.hybridize()
    made(nd.ones((1, 2)))
    return made


def test_outputs_are_nested_as_the_block_gives_them(block):
    x, y = nd.array([[1, 2]]), nd.array([[10, 20]])
    assert block(x).asnumpy().tolist() == [[1, 2]]
    block.hybridize()
    for _ in range(2):
        own, both = block(x, y)
        assert own.asnumpy().tolist() == [[1, 2]] and both.asnumpy().tolist() == [[11, 22]]


def test_hooks_registered_later_are_called(block):
    seen = []
    handle = block.register_forward_hook(lambda *_: seen.append("after"))
    block.register_forward_pre_hook(lambda *_: seen.append("before"))
    block(nd.ones((1, 2)))
    assert seen == ["before", "after"]
    handle.detach()
    block(nd.ones((1, 2)))
    assert seen == ["before", "after", "before"]


def test_operator_hooks_registered_later_are_called(block):
    seen = []
    block.register_op_hook(lambda operator, name, value: seen.append(name))
    block(nd.ones((1, 2)))
    assert seen


def test_a_forward_put_on_the_object_is_called(block):
    block.forward = lambda x: x * 5
    assert block(nd.ones((1, 2))).asnumpy().tolist() == [[5, 5]]


def test_a_forward_put_on_the_class_is_called(block, monkeypatch):
    monkeypatch.setattr(Weighted, "forward", lambda self, x: x * 7)
    assert block(nd.ones((1, 2))).asnumpy().tolist() == [[7, 7]]


def test_values_of_parameters_set_later_count(block):
    block.weight.set_data(nd.array([3, 4]))
    assert block(nd.ones((1, 2))).asnumpy().tolist() == [[3, 4]]
    block.weight.initialize(init.Constant(2), force_reinit=True)
    assert block(nd.ones((1, 2))).asnumpy().tolist() == [[2, 2]]


def test_what_is_no_array_is_named(block):
    with pytest.raises((ValueError, TypeError), match=r"int|float|list|ndarray"):
        block(numpy.ones((1, 2)))


def numbers_after(steps, change):
    """Weights after SGD steps with `change(step, trainer, net)` before each."""
    net = nn.Dense(2, in_units=2, use_bias=True)
    net.initialize(init.One())
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.5, "momentum": 0.5, "wd": 0.25})
    values = []
    for step in range(steps):
        change(step, trainer, net)
        with autograd.record():
            loss = net(nd.array([[1, 2]])).sum()
        loss.backward()
        trainer.step(1)
        values.append(net.weight.data().asnumpy())
    return values


def expected_after(steps, settings):
    """The same by hand: `settings(step)` gives (learning rate, weight decay, momentum)."""
    weight, momentum, gradient = numpy.ones((2, 2)), numpy.zeros((2, 2)), numpy.array([[1, 2], [1, 2]])
    values = []
    for step in range(steps):
        rate, decay, factor = settings(step)
        momentum = factor * momentum - rate * (gradient + decay * weight)
        weight = weight + momentum
        values.append(weight)
    return values


CHANGES = {
    "nothing": (lambda step, trainer, net: None, lambda step: (0.5, 0.25, 0.5)),
    "the learning rate": (
        lambda step, trainer, net: trainer.set_learning_rate(0.5 if step < 2 else 0.125),
        lambda step: (0.5 if step < 2 else 0.125, 0.25, 0.5),
    ),
    "the factor of a parameter": (
        lambda step, trainer, net: setattr(net.weight, "lr_mult", 1 if step < 2 else 0.5),
        lambda step: (0.5 if step < 2 else 0.25, 0.25, 0.5),
    ),
    "the weight decay": (
        lambda step, trainer, net: setattr(trainer.optimizer, "wd", 0.25 if step < 2 else 0),
        lambda step: (0.5, 0.25 if step < 2 else 0, 0.5),
    ),
    "the momentum": (
        lambda step, trainer, net: setattr(trainer.optimizer, "momentum", 0.5 if step < 2 else 0.25),
        lambda step: (0.5, 0.25, 0.5 if step < 2 else 0.25),
    ),
}


@pytest.mark.parametrize("what", CHANGES)
def test_steps_follow_what_changes_between_them(what):
    change, settings = CHANGES[what]
    for got, want in zip(numbers_after(5, change), expected_after(5, settings)):
        numpy.testing.assert_allclose(got, want, rtol=1e-6)


def test_steps_follow_arrays_that_are_replaced():
    def replace(step, trainer, net):
        if step == 2:
            net.initialize(init.One(), force_reinit=True)

    values = numbers_after(5, replace)
    weight = (
        numpy.ones((2, 2))
        + (numbers_after(2, lambda *_: None)[1] - numbers_after(1, lambda *_: None)[0]) * 0.5
    )
    numpy.testing.assert_allclose(values[2], weight - 0.5 * (numpy.array([[1, 2], [1, 2]]) + 0.25), rtol=1e-6)


def test_a_forward_of_another_block_is_that_of_the_other(block):
    other = Weighted()
    other.initialize(init.One())
    other.weight.set_data(nd.array([5, 5]))
    other.hybridize()
    other(nd.ones((1, 2)))
    block.forward = other.forward
    assert block(nd.ones((1, 2))).asnumpy().tolist() == [[5, 5]]


def test_calls_of_all_blocks_can_be_watched(block, monkeypatch):
    seen, call = [], gluon.Block.__call__
    monkeypatch.setattr(
        gluon.Block, "__call__", lambda self, *args: (seen.append(self), call(self, *args))[1]
    )
    block(nd.ones((1, 2)))
    assert seen == [block]


@pytest.mark.parametrize("holder", ["a parameter", "a trainer"])
def test_networks_that_something_of_their_own_holds_are_freed(holder):
    net = nn.Dense(2, in_units=2)
    net.initialize()
    net.hybridize()
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.5})
    (net.weight if holder == "a parameter" else trainer).owner = net
    for _ in range(2):
        with autograd.record():
            loss = net(nd.ones((1, 2))).sum()
        loss.backward()
        trainer.step(1)
    is_there = weakref.ref(net)
    del net, trainer, loss
    gc.collect()
    assert is_there() is None


class OneList(mx.optimizer.SGD):
    """Gives the same list of rates each time."""

    def _get_lrs(self, indices):
        self.rates = getattr(self, "rates", [0.0] * len(indices))
        self.rates[:] = [self.lr] * len(indices)
        return self.rates


def test_a_list_of_rates_that_changes_in_place_counts():
    net = nn.Dense(1, in_units=1, use_bias=False)
    net.initialize(init.One())
    trainer = gluon.Trainer(net.collect_params(), OneList(learning_rate=0.5))
    for rate, weight in ((0.5, 0.5), (0.0, 0.5)):
        trainer.set_learning_rate(rate)
        with autograd.record():
            loss = net(nd.ones((1, 1))).sum()
        loss.backward()
        trainer.step(1)
        assert net.weight.data().asscalar() == weight
