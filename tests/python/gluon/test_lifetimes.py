"""Networks and trainers that a program lets go of are gone at once: nothing waits for Python's collector."""

import gc
import pickle
import weakref

import pytest

from headrace import autograd, cpu, gluon, nd
from headrace.gluon import nn


@pytest.fixture(autouse=True)
def no_collector():
    gc.disable()
    yield
    gc.enable()


def layer():
    return nn.Dense(3, in_units=4)


def sequence():
    net = nn.HybridSequential()
    with net.name_scope():
        net.add(nn.Dense(3, activation="relu"), nn.BatchNorm(), nn.Dense(2))
    return net


@pytest.mark.parametrize("make", [layer, sequence])
@pytest.mark.parametrize("hybrid", [False, True])
def test_a_network_takes_its_parameters_along(make, hybrid):
    net = make()
    gone = [weakref.ref(net)]
    net.initialize()
    if hybrid:
        net.hybridize()
    for _ in range(2):
        with autograd.record():
            net(nd.ones((2, 4))).sum().backward()
    gone += [weakref.ref(param) for param in net.collect_params().values()]
    del net
    assert [one() for one in gone] == [None] * len(gone)


def test_a_network_that_was_never_initialized():
    net = layer()
    gone = weakref.ref(net)
    del net
    assert gone() is None


@pytest.mark.parametrize("contexts", [[cpu()], [cpu(0), cpu(1)]])
@pytest.mark.parametrize("hybrid", [False, True])
def test_a_trainer_and_its_network(contexts, hybrid):
    net = sequence()
    net.initialize(ctx=contexts)
    if hybrid:
        net.hybridize()
    trainer = gluon.Trainer(net.collect_params(), "adam")
    for _ in range(3):
        with autograd.record():
            losses = [net(nd.ones((2, 4), ctx=ctx)).sum() for ctx in contexts]
        autograd.backward(losses)
        trainer.step(2)
    gone = [weakref.ref(one) for one in (net, net[0].weight, trainer)]
    del net, losses
    assert gone[1]() is not None  # the trainer has it
    del trainer
    assert [one() for one in gone] == [None] * 3


def test_a_parameter_knows_its_trainer_as_long_as_the_program_keeps_it():
    net = layer()
    net.initialize()
    trainer = gluon.Trainer(net.collect_params(), "sgd")
    assert net.weight._trainer is trainer
    assert pickle.loads(pickle.dumps(net.weight))._trainer is None
    del trainer
    assert net.weight._trainer is None
