"""Trainer: a step that is the one before it again, and what ends that."""

import copy
import gc
import weakref

import numpy
import pytest

from headrace import autograd, init, nd, optimizer
from headrace.gluon import Trainer, nn

DATA = nd.array(numpy.linspace(-1, 1, 12).reshape(4, 3))


class AlwaysAnew(Trainer):
    """Its steps are never repeated: programs may define any of its methods."""


def network():
    net = nn.HybridSequential()
    net.add(nn.Dense(3, in_units=3), nn.Dense(2, in_units=3))
    net.initialize(init.Constant(0.25))
    return net


def steps(net, trainer, count, batch_size=4):
    for _ in range(count):
        with autograd.record():
            loss = (net(DATA) ** 2).sum()
        loss.backward()
        trainer.step(batch_size)


def weights(net):
    return [param.data().asnumpy().tobytes() for param in net.collect_params().values()]


def trained(kind, arguments, options, change, batch_size=4):
    net = network()
    trainer = kind(net.collect_params(), arguments, dict(options))
    steps(net, trainer, 4)
    repeats = trainer._repeated is not None
    change(net, trainer)
    steps(net, trainer, 4, batch_size)
    rule = trainer.optimizer
    return weights(net), rule.num_update, rule._index_update_count, repeats


RULES = {
    "sgd": ("sgd", {"learning_rate": 0.1, "wd": 0.01}),
    "momentum": ("sgd", {"learning_rate": 0.1, "momentum": 0.9, "clip_gradient": 0.5}),
    "nag": ("nag", {"learning_rate": 0.1, "momentum": 0.9}),
}


def set_attribute(name, value):
    return lambda net, trainer: setattr(trainer.optimizer, name, value)


def set_factor(name, value):
    return lambda net, trainer: setattr(net[1].weight, name, value)


def reload_states(net, trainer, tmp_path):
    trainer.save_states(str(tmp_path / "states"))
    trainer.load_states(str(tmp_path / "states"))
    trainer.set_learning_rate(0.3)


def step_by_hand(net, trainer):
    with autograd.record():
        loss = net(DATA).sum()
    loss.backward()
    trainer.allreduce_grads()
    trainer.update(2)


CHANGES = {
    "nothing": lambda net, trainer: None,
    "learning rate": lambda net, trainer: trainer.set_learning_rate(0.03),
    "lr": set_attribute("lr", 0.03),
    "weight decay": set_attribute("wd", 0.5),
    "momentum": set_attribute("momentum", 0.5),
    "clip_gradient": set_attribute("clip_gradient", 0.01),
    "begin_num_update": set_attribute("begin_num_update", 7),
    "scheduler": set_attribute("lr_scheduler", lambda count: 0.5 / count),
    "lr_mult": set_factor("lr_mult", 0.0),
    "wd_mult": set_factor("wd_mult", 5.0),
    "value": lambda net, trainer: net[0].weight.set_data(nd.ones((3, 3))),
    "value in place": lambda net, trainer: net[0].weight.data().__setitem__(slice(None), 0.5),
    "grad_req": lambda net, trainer: setattr(net[0].bias, "grad_req", "null"),
    "new arrays": lambda net, trainer: net.initialize(init.Constant(0.1), force_reinit=True),
    "dtype": lambda net, trainer: (net.cast("float64"), net.cast("float32")),
    "step by hand": step_by_hand,
    "factor of a parameter that is new to the optimizer": lambda net, trainer: (
        trainer.optimizer.param_dict.clear(),
        trainer.optimizer.set_lr_mult({1: 0.0}),
    ),
}


CASES = [
    (rule, change)
    for rule, (_, options) in RULES.items()
    for change in CHANGES
    if change != "momentum" or "momentum" in options
]


@pytest.mark.parametrize(("rule", "change"), CASES)
def test_a_repeated_step_is_the_step(rule, change):
    name, options = RULES[rule]
    ours = trained(Trainer, name, options, CHANGES[change])
    anew = trained(AlwaysAnew, name, options, CHANGES[change])
    assert ours[:3] == anew[:3]
    assert ours[3] and not anew[3]


@pytest.mark.parametrize("rule", RULES)
def test_another_batch_size_ends_it(rule):
    name, options = RULES[rule]
    kinds = [trained(kind, name, options, CHANGES["nothing"], 2)[:3] for kind in (Trainer, AlwaysAnew)]
    assert kinds[0] == kinds[1]


def test_states_that_are_read_end_it(tmp_path):
    name, options = RULES["momentum"]
    change = lambda net, trainer: reload_states(net, trainer, tmp_path)  # noqa: E731
    kinds = [trained(kind, name, options, change)[:3] for kind in (Trainer, AlwaysAnew)]
    assert kinds[0] == kinds[1]


@pytest.mark.parametrize("name", ["adam", "rmsprop"])
def test_rules_whose_rates_follow_the_count_are_not_repeated(name):
    assert not trained(Trainer, name, {}, CHANGES["nothing"])[3]


def test_rules_of_programs_are_not_repeated():
    class Halving(optimizer.SGD):
        def _get_lrs(self, indices):
            return [2.0**-self.num_update] * len(indices)

    net = network()
    trainer = Trainer(net.collect_params(), Halving())
    steps(net, trainer, 4)
    assert trainer._repeated is None


def test_numbers_that_can_change_in_place_are_not_repeated():
    rate = numpy.array(0.1)
    net = network()
    trainer = Trainer(net.collect_params(), optimizer.SGD(learning_rate=rate))
    steps(net, trainer, 4)
    before = weights(net)
    rate[...] = 0.0
    steps(net, trainer, 2)
    assert weights(net) == before


def test_a_stale_gradient_is_refused_as_before():
    net = network()
    trainer = Trainer(net.collect_params(), "sgd")
    steps(net, trainer, 4)
    before = weights(net), trainer.optimizer.num_update
    with pytest.raises(UserWarning, match="has not been updated by backward"):
        trainer.step(4)
    assert (weights(net), trainer.optimizer.num_update) == before
    trainer.step(4, ignore_stale_grad=True)
    assert weights(net) == before[0]


def test_zero_is_no_batch_size():
    net = network()
    trainer = Trainer(net.collect_params(), "sgd")
    steps(net, trainer, 4)
    with pytest.raises(ValueError, match="batch_size must not be 0"):
        steps(net, trainer, 1, 0)


def test_two_trainers_of_one_network_take_turns():
    results = []
    for kind in (Trainer, AlwaysAnew):
        net = network()
        first = kind(net[0].collect_params(), "sgd", {"learning_rate": 0.1})
        second = kind(net[1].collect_params(), "sgd", {"learning_rate": 0.2})
        for _ in range(5):
            with autograd.record():
                loss = (net(DATA) ** 2).sum()
            loss.backward()
            first.step(4)
            second.step(4)
        results.append(weights(net))
    assert results[0] == results[1]


def test_a_copy_of_a_trainer_goes_on_by_itself():
    net = network()
    trainer = Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
    steps(net, trainer, 4)
    shallow = copy.copy(trainer)
    shallow.set_learning_rate(0.2)  # of the optimizer that both have
    other = network()
    for param, source in zip(other.collect_params().values(), net.collect_params().values()):
        param.set_data(source.data())
    expected = AlwaysAnew(other.collect_params(), "sgd", {"learning_rate": 0.2})
    steps(net, shallow, 2)
    steps(other, expected, 2)
    assert weights(net) == weights(other)


def test_a_trainer_that_is_let_go_is_freed():
    net = network()
    trainer = Trainer(net.collect_params(), "sgd")
    steps(net, trainer, 4)
    assert trainer._repeated is not None
    watch = weakref.ref(trainer)
    del net, trainer
    gc.collect()
    assert watch() is None


def test_the_count_of_a_repeated_step_is_seen():
    net = network()
    trainer = Trainer(net.collect_params(), optimizer.SGD(begin_num_update=10))
    steps(net, trainer, 5)
    assert trainer.optimizer.num_update == 15
    assert set(trainer.optimizer._index_update_count.values()) == {15}
