"""Trainer: steps, stale gradients, learning rates, files, errors."""

import numpy
import pytest

import headrace as hr
from headrace import autograd, gluon, init, lr_scheduler, nd, optimizer
from headrace.gluon import Trainer, nn


def parameter(name="w", value=1.0, **kwargs):
    param = gluon.Parameter(name, shape=(2,), **kwargs)
    param.initialize(init=init.Constant(value))
    return param


def backward(*params, factor=1.0):
    with autograd.record():
        loss = sum((param.data() * factor).sum() for param in params)
    loss.backward()


def values(param):
    return param.data().asnumpy().tolist()


def test_step_divides_by_the_batch_size():
    param = parameter()
    trainer = Trainer([param], "sgd", {"learning_rate": 0.5})
    backward(param, factor=4)
    trainer.step(8)
    assert values(param) == [0.75, 0.75]
    assert trainer.optimizer.rescale_grad == 1 / 8


def test_rescale_grad_of_the_optimizer_counts():
    param = parameter()
    trainer = Trainer([param], optimizer.SGD(learning_rate=1, rescale_grad=2))
    backward(param)
    trainer.step(4)
    assert values(param) == [0.5, 0.5]


def test_update_and_allreduce():
    param = parameter()
    trainer = Trainer([param], "sgd", {"learning_rate": 1})
    backward(param)
    trainer.allreduce_grads()
    trainer.update(1)
    assert values(param) == [0, 0]


def test_parameters_of_a_dictionary_are_ordered_by_name():
    net = nn.Dense(2, in_units=3, prefix="d_")
    net.initialize()
    trainer = Trainer(net.collect_params(), "sgd")
    assert [param.name for param in trainer._params] == ["d_bias", "d_weight"]
    params = [net.weight, net.bias]
    assert [param.name for param in Trainer(params, "sgd")._params] == ["d_weight", "d_bias"]


def test_multipliers_of_parameters():
    fast, slow = parameter("a", lr_mult=2), parameter("b")
    trainer = Trainer([fast, slow], "sgd", {"learning_rate": 0.25})
    backward(fast, slow)
    trainer.step(1)
    assert values(fast) == [0.5, 0.5] and values(slow) == [0.75, 0.75]
    slow.lr_mult = 0
    backward(fast, slow)
    trainer.step(1)
    assert values(slow) == [0.75, 0.75]


def test_frozen_parameters_stay():
    moving, fixed = parameter("a"), parameter("b", grad_req="null")
    trainer = Trainer([moving, fixed], "sgd", {"learning_rate": 1})
    backward(moving)
    trainer.step(1)
    assert values(moving) == [0, 0] and values(fixed) == [1, 1]


def test_freezing_between_steps():
    first, second = parameter("a"), parameter("b")
    trainer = Trainer([first, second], "sgd", {"learning_rate": 0.5})
    backward(first, second)
    trainer.step(1)
    second.grad_req = "null"
    backward(first)
    trainer.step(1)
    assert values(first) == [0, 0] and values(second) == [0.5, 0.5]


def test_replaced_arrays_are_noticed():
    param = parameter()
    trainer = Trainer([param], "sgd", {"learning_rate": 0.25, "momentum": 0.5})
    backward(param)
    trainer.step(1)
    param.initialize(init=init.Constant(2), force_reinit=True)
    backward(param)
    trainer.step(1)
    assert values(param) == [2 - 0.375, 2 - 0.375]


def test_several_dtypes():
    single, double = parameter("a"), parameter("b", dtype="float64")
    trainer = Trainer([single, double], "adam", {"learning_rate": 0.5})
    with autograd.record():
        loss = single.data().sum().astype("float64") + double.data().sum()
    loss.backward()
    trainer.step(1)
    assert values(single) + values(double) == pytest.approx([0.5] * 4, abs=1e-4)


class TestStaleGradients:
    def test_without_backward(self):
        param = parameter()
        trainer = Trainer([param], "sgd", {"learning_rate": 1})
        with pytest.raises(
            UserWarning, match="Gradient of Parameter `w` on context cpu.*has not been updated"
        ):
            trainer.step(1)
        trainer.step(1, ignore_stale_grad=True)
        assert values(param) == [1, 1]

    def test_second_step(self):
        param = parameter()
        trainer = Trainer([param], "sgd", {"learning_rate": 0.5})
        backward(param)
        trainer.step(1)
        with pytest.raises(UserWarning, match="has not been updated by backward"):
            trainer.step(1)
        assert values(param) == [0.5, 0.5]

    def test_only_the_stale_ones_are_skipped(self):
        used, unused = parameter("a"), parameter("b")
        trainer = Trainer([used, unused], "sgd", {"learning_rate": 0.5})
        for _ in range(2):
            backward(used)
            trainer.step(1, ignore_stale_grad=True)
        assert values(used) == [0, 0] and values(unused) == [1, 1]


class TestLearningRate:
    def test_change(self):
        param = parameter()
        trainer = Trainer([param], "sgd", {"learning_rate": 0.5})
        assert trainer.learning_rate == 0.5
        trainer.set_learning_rate(0.25)
        backward(param)
        trainer.step(1)
        assert trainer.learning_rate == 0.25 and values(param) == [0.75, 0.75]

    def test_scheduler(self):
        param = parameter()
        schedule = lr_scheduler.FactorScheduler(step=1, factor=0.5, base_lr=0.5)
        trainer = Trainer([param], "sgd", {"lr_scheduler": schedule})
        for _ in range(2):
            backward(param)
            trainer.step(1)
        assert values(param) == [0.25, 0.25] and trainer.learning_rate == 0.25
        with pytest.raises(UserWarning, match="LRScheduler of the optimizer has already been defined"):
            trainer.set_learning_rate(1)


def elsewhere():
    param = gluon.Parameter("v", shape=(2,))
    param.initialize(ctx=hr.cpu(1))
    return param


def deferred():
    net = nn.Dense(2)
    net.initialize()
    return Trainer(net.collect_params(), "sgd")


def zero_batch():
    param = parameter()
    trainer = Trainer([param], "sgd")
    backward(param)
    trainer.step(0)


ERRORS = [
    (lambda: Trainer(3, "sgd"), ValueError, "First argument must be a list or dict of Parameters, got"),
    (
        lambda: Trainer([3], "sgd"),
        ValueError,
        "First argument must be a list or dict of Parameters, got list",
    ),
    (lambda: Trainer([], "sgd"), ValueError, "no parameters to update"),
    (lambda: Trainer(gluon.ParameterDict(), "sgd"), ValueError, "no parameters to update"),
    (lambda: Trainer({"a": 3}, "sgd"), ValueError, "list or dict of Parameters"),
    (lambda: Trainer([parameter()], "nope"), ValueError, "Cannot find optimizer nope"),
    (lambda: Trainer([parameter()], "sgd", {"colour": 1}), TypeError, "colour"),
    (
        lambda: Trainer([parameter()], optimizer.SGD(), {"wd": 1}),
        AssertionError,
        "optimizer_params must be None",
    ),
    (lambda: Trainer([gluon.Parameter("w", shape=(2,))], "sgd"), RuntimeError, "has not been initialized"),
    (lambda: Trainer([parameter(), elsewhere()], "sgd"), AssertionError, "same set of contexts"),
    (lambda: deferred().step(1), gluon.DeferredInitializationError, "initialization was deferred"),
    (zero_batch, ValueError, "batch_size must not be 0"),
    (lambda: Trainer([parameter()], "sgd").load_states("/nowhere/x"), FileNotFoundError, "nowhere"),
]


@pytest.mark.parametrize("case", range(len(ERRORS)))
def test_errors(case):
    act, error, text = ERRORS[case]
    with pytest.raises(error, match=text):
        act()


@pytest.mark.parametrize("kvstore", ["device", "local", None])
def test_kvstore_is_accepted(kvstore):
    param = parameter()
    trainer = Trainer([param], "sgd", {"learning_rate": 1}, kvstore=kvstore, update_on_kvstore=False)
    backward(param)
    trainer.step(1)
    assert values(param) == [0, 0]


@pytest.mark.parametrize(
    ("name", "arguments"), [("sgd", {"momentum": 0.9}), ("adam", {}), ("nag", {"momentum": 0.9})]
)
def test_training_goes_on_after_load(tmp_path, name, arguments):
    file = str(tmp_path / "trainer.states")
    first, second = parameter("a"), parameter("b")
    one, two = Trainer([first], name, arguments), Trainer([second], name, {"learning_rate": 7, **arguments})
    for _ in range(3):
        backward(first, factor=0.5)
        one.step(1)
    one.save_states(file)
    second.set_data(first.data())
    two.load_states(file)
    assert two.learning_rate == one.learning_rate
    for trainer, param in ((one, first), (two, second)):
        backward(param, factor=2)
        trainer.step(1)
    assert values(first) == values(second)


def test_states_before_the_first_step(tmp_path):
    file = str(tmp_path / "trainer.states")
    trainer = Trainer([parameter()], "sgd", {"learning_rate": 0.25})
    trainer.save_states(file)
    other = Trainer([parameter()], "sgd")
    other.load_states(file)
    assert other.learning_rate == 0.25 and other._updaters[0].states == {}


def test_linear_regression():
    rng = numpy.random.default_rng(0)
    features = rng.standard_normal((200, 2)).astype("float32")
    labels = (features @ numpy.array([2.0, -3.4]) + 4.2).astype("float32")
    net = nn.Sequential()
    net.add(nn.Dense(1))
    net.initialize(init.Normal(sigma=0.01))
    trainer = Trainer(net.collect_params(), "sgd", {"learning_rate": 0.03})
    loss = gluon.loss.L2Loss()
    for _ in range(10):
        for i in range(0, 200, 10):
            x, y = nd.array(features[i : i + 10]), nd.array(labels[i : i + 10])
            with autograd.record():
                error = loss(net(x), y)
            error.backward()
            trainer.step(10)
    numpy.testing.assert_allclose(net[0].weight.data().asnumpy(), [[2, -3.4]], atol=0.2)
    numpy.testing.assert_allclose(net[0].bias.data().asnumpy(), [4.2], atol=0.3)


def test_np_mode(np_mode):
    net = nn.Dense(1, in_units=2)
    net.initialize(init.One())
    trainer = Trainer(net.collect_params(), "sgd", {"learning_rate": 1})
    with autograd.record():
        loss = gluon.loss.L1Loss()(net(hr.np.array([[1.0, 2.0]])), hr.np.array([0.0]))
    loss.backward()
    trainer.step(1)
    assert net.weight.data().tolist() == [[0, -1]] and net.bias.data().tolist() == [-1]


class Counting(Trainer):
    """A trainer of a program that overrides what MXNet's calls in a step."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.calls = []

    def _allreduce_grads(self):
        self.calls.append("allreduce")
        super()._allreduce_grads()

    def _update(self, ignore_stale_grad=False):
        self.calls.append(("update", ignore_stale_grad))
        super()._update(ignore_stale_grad)

    def _check_and_rescale_grad(self, scale):
        self.calls.append(scale)
        super()._check_and_rescale_grad(scale)


def test_a_subclass_overrides_the_parts_of_a_step():
    net = nn.Dense(1, in_units=2, use_bias=False)
    net.initialize(init.One())
    trainer = Counting(net.collect_params(), "sgd", {"learning_rate": 1})

    def backward():
        with autograd.record():
            loss = net(nd.array([[1, 2]])).sum()
        loss.backward()

    backward()
    trainer.step(2, ignore_stale_grad=True)
    assert trainer.calls == [0.5, "allreduce", ("update", True)]
    assert net.weight.data().asnumpy().tolist() == [[0.5, 0]]
    backward()
    trainer.allreduce_grads()
    trainer.update(1)
    assert trainer.calls[3:] == ["allreduce", 1, ("update", False)]
    assert net.weight.data().asnumpy().tolist() == [[-0.5, -2]]
    backward()
    trainer._allreduce_grads()  # as programs do that take the parts apart
    trainer._update()
    assert net.weight.data().asnumpy().tolist() == [[-1.5, -4]]
    with pytest.raises(UserWarning, match="has not been updated"):
        trainer._update()


@pytest.mark.parametrize("kvstore", [None, "device"])
def test_a_parameter_that_is_given_twice_is_updated_once(kvstore):
    net = nn.Dense(1, in_units=2, use_bias=False)
    net.initialize(init.One())
    parameters = list(net.collect_params().values())
    trainer = gluon.Trainer(parameters * 2, "sgd", {"learning_rate": 0.5}, kvstore=kvstore)
    for _ in range(2):
        with autograd.record():
            loss = net(nd.ones((1, 2))).sum()
        loss.backward()
        trainer.step(1)
    assert net.weight.data().asnumpy().tolist() == [[0, 0]]
