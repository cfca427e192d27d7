"""Trainer on several contexts: stores, who updates, stale gradients, states, what is exchanged."""

import sys

import numpy
import pytest

import headrace as hr
from headrace import _exchange, autograd, gluon, init, kv, nd, optimizer
from headrace.gluon import Trainer, nn

_make_context = hr.cpu


@pytest.fixture(autouse=True)
def kind_of_context(at, monkeypatch):
    """Runs every test on contexts of both kinds."""
    monkeypatch.setattr(sys.modules[__name__], "_make_context", at)


def contexts(count):
    return [_make_context(i) for i in range(count)]


def parameter(name="w", value=1.0, count=2, shape=(2,), **kwargs):
    param = gluon.Parameter(name, shape=shape, **kwargs)
    param.initialize(init=init.Constant(value), ctx=contexts(count))
    return param


def backward(*params, factors=(1, 2)):
    """Writes the gradient factors[i] on context i; None: leaves it stale."""
    for factor, ctx in zip(factors, params[0].list_ctx()):
        if factor is None:
            continue
        with autograd.record():
            loss = sum((param.data(ctx) * factor).sum() for param in params)
        loss.backward()


def values(param):
    """Of each context."""
    return [data.asnumpy().tolist() for data in param.list_data()]


def grads(param):
    return [grad.asnumpy().tolist() for grad in param.list_grad()]


@pytest.mark.parametrize("update_on_kvstore", [None, True, False])
@pytest.mark.parametrize("kvstore", ["device", "local", "store"])
def test_step_sums_over_the_contexts(kvstore, update_on_kvstore):
    param = parameter()
    store = kv.create("device") if kvstore == "store" else kvstore
    trainer = Trainer([param], "sgd", {"learning_rate": 0.5}, store, update_on_kvstore=update_on_kvstore)
    backward(param)
    trainer.step(4)
    assert values(param) == [[1 - 0.5 * 3 / 4] * 2] * 2
    assert trainer._update_on_kvstore == (update_on_kvstore is not False)


def test_gradients_after_a_step():
    """The store's updates leave them as they are; without, every context has the sum."""
    for update_on_kvstore, wanted in ((True, [[1, 1], [2, 2]]), (False, [[3, 3], [3, 3]])):
        param = parameter()
        trainer = Trainer([param], "sgd", update_on_kvstore=update_on_kvstore)
        backward(param)
        trainer.step(1)
        assert grads(param) == wanted


def test_without_a_store_replicas_drift_apart():
    param = parameter()
    trainer = Trainer([param], "sgd", {"learning_rate": 1}, kvstore=None)
    backward(param)
    trainer.step(1)
    assert values(param) == [[0, 0], [-1, -1]]
    trainer.allreduce_grads()
    assert grads(param) == [[1, 1], [2, 2]]


def test_the_first_step_makes_replicas_equal():
    param = parameter()
    param.data(contexts(2)[1])[:] = 9
    trainer = Trainer([param], "sgd", {"learning_rate": 1}, update_on_kvstore=False)
    backward(param)
    trainer.step(1)
    assert values(param) == [[-2, -2]] * 2


def test_the_two_halves_of_a_step():
    param = parameter()
    trainer = Trainer([param], "sgd", {"learning_rate": 1}, update_on_kvstore=False)
    backward(param)
    trainer.allreduce_grads()
    assert grads(param) == [[3, 3]] * 2 and values(param) == [[1, 1]] * 2
    for grad in param.list_grad():
        grad[:] = nd.clip(grad, -2, 2)
    trainer.update(2)
    assert values(param) == [[0, 0]] * 2


@pytest.mark.parametrize("half", ["allreduce_grads", "update"])
def test_halves_need_updates_outside_the_store(half):
    param = parameter()
    trainer = Trainer([param], "sgd")
    backward(param)
    with pytest.raises(AssertionError, match=rf"{half}\(\) when parameters are updated on kvstore is not"):
        trainer.update(1) if half == "update" else trainer.allreduce_grads()


class TestWhoUpdates:
    def on_store(self, monkeypatch=None, shape=(2,), **kwargs):
        param = parameter(shape=shape)
        trainer = Trainer([param], "sgd", **kwargs)
        backward(param)
        trainer.step(1)
        return trainer._update_on_kvstore

    def test_environment(self, monkeypatch):
        monkeypatch.setenv("MXNET_UPDATE_ON_KVSTORE", "0")
        assert not self.on_store()
        assert self.on_store(update_on_kvstore=True)
        monkeypatch.setenv("MXNET_UPDATE_ON_KVSTORE", "false")
        with pytest.raises(ValueError, match="MXNET_UPDATE_ON_KVSTORE is 0 or 1, got 'false'"):
            self.on_store()

    def test_large_arrays_in_the_local_store(self, monkeypatch):
        monkeypatch.setattr(_exchange, "_LARGE_ARRAY", 3)
        assert self.on_store(kvstore="local")
        assert not self.on_store(kvstore="local", shape=(4,))
        assert self.on_store(kvstore="device", shape=(4,))

    def test_stores_that_cannot(self):
        assert not self.on_store(kvstore="teststore")
        with pytest.raises(ValueError, match="Please set update_on_kvstore=False when training with"):
            self.on_store(kvstore="teststore", update_on_kvstore=True)

    @pytest.mark.parametrize("count", [1, 2])
    def test_no_store_at_all(self, count):
        param = parameter(count=count)
        backward(param)
        trainer = Trainer([param], "sgd", kvstore=None, update_on_kvstore=True)
        with pytest.raises(
            ValueError, match="update_on_kvstore=True needs a store, got kvstore=None; name one"
        ):
            trainer.step(1)

    def test_one_context_needs_no_store(self):
        param = parameter(count=1)
        trainer = Trainer([param], "sgd", {"learning_rate": 1}, update_on_kvstore=True)
        backward(param)
        trainer.step(1)
        assert trainer._kvstore is None and values(param) == [[0, 0]]
        assert trainer._update_on_kvstore is None

    def test_new_values_of_parameters_are_not_those_of_the_store(self):
        param = parameter(count=2)
        trainer = Trainer([param], "sgd", {"learning_rate": 1}, "local", update_on_kvstore=True)
        backward(param)
        trainer.step(1)
        assert trainer._kvstore.type == "local" and trainer._kv_initialized
        param.set_data(nd.full(param.shape, 5))
        assert trainer._kvstore is None and not trainer._kv_initialized
        backward(param)
        trainer.step(1)
        assert trainer._kvstore.type == "local" and values(param) == [[2, 2]] * 2

    def test_one_context_and_a_store_of_ones_own(self):
        param, store = parameter(count=1), kv.create("local")
        trainer = Trainer([param], "sgd", {"learning_rate": 1}, store)
        backward(param)
        trainer.step(1)
        assert trainer._kvstore is store and values(param) == [[0, 0]]


@pytest.mark.parametrize(
    ("kvstore", "error", "text"),
    [
        ("nowhere", ValueError, "nowhere"),
        ("dist_sync", ValueError, "dist_sync"),
        (3, TypeError, "kvstore must be KVStore, str or None, got 3"),
    ],
)
def test_stores_that_are_not_there(kvstore, error, text):
    param = parameter()
    backward(param)
    with pytest.raises(error, match=text):
        Trainer([param], "sgd", kvstore=kvstore).step(1)


def test_gradient_compression():
    param = parameter(value=0.0)
    trainer = Trainer(
        [param],
        "sgd",
        {"learning_rate": 1},
        compression_params={"type": "2bit", "threshold": 0.5},
        update_on_kvstore=False,
    )
    for factors, wanted in (((0.3, 2.0), 0.5), ((0.3, -0.1), 1.0)):  # what is left over counts the next time
        backward(param, factors=factors)
        trainer.allreduce_grads()
        assert grads(param) == [[wanted] * 2] * 2


@pytest.mark.parametrize(
    "options",
    [
        {"kvstore": "no such kind"},
        {"kvstore": None, "update_on_kvstore": True},
        {"kvstore": "device", "compression_params": {"type": "8bit"}},
        {"kvstore": "local", "compression_params": {"type": "2bit"}, "update_on_kvstore": True},
    ],
)
def test_what_cannot_be_done_is_an_error_at_every_step(options):
    param = parameter()
    trainer = Trainer([param], "sgd", {"learning_rate": 1}, **options)
    for _ in range(3):
        backward(param)
        with pytest.raises((ValueError, hr.MXNetError)):
            trainer.step(1)
    assert values(param) == [[1, 1]] * 2


class TestStaleGradients:
    @pytest.mark.parametrize("update_on_kvstore", [True, False])
    def test_of_one_context(self, update_on_kvstore):
        param = parameter()
        trainer = Trainer([param], "sgd", {"learning_rate": 1}, update_on_kvstore=update_on_kvstore)
        backward(param)
        trainer.step(1)
        backward(param, factors=(5, None))
        with pytest.raises(UserWarning, match=r"Parameter `w` on context .pu\(1\) has not been updated"):
            trainer.step(1)
        assert values(param) == [[-2, -2]] * 2  # nothing was done
        trainer.step(1, ignore_stale_grad=True)
        assert values(param) == [[-7, -7]] * 2  # it counts as zero
        trainer.step(1, ignore_stale_grad=True)
        assert values(param) == [[-7, -7]] * 2

    @pytest.mark.parametrize("update_on_kvstore", [True, False])
    def test_of_one_parameter(self, update_on_kvstore):
        used, unused = parameter("a"), parameter("b")
        trainer = Trainer([used, unused], "sgd", {"learning_rate": 1}, update_on_kvstore=update_on_kvstore)
        backward(used, unused)
        trainer.step(1)
        backward(used)
        trainer.step(1, ignore_stale_grad=True)
        assert values(used) == [[-5, -5]] * 2 and values(unused) == [[-2, -2]] * 2

    def test_without_a_store(self):
        param = parameter()
        trainer = Trainer([param], "sgd", {"learning_rate": 1}, kvstore=None)
        backward(param, factors=(None, 2))
        with pytest.raises(UserWarning, match=r"on context .pu\(0\)"):
            trainer.step(1)
        trainer.step(1, ignore_stale_grad=True)
        assert values(param) == [[1, 1], [-1, -1]]

    def test_gradients_that_a_program_wrote_itself_are_summed(self):
        param = parameter()
        trainer = Trainer([param], "sgd", update_on_kvstore=False)
        for i, grad in enumerate(param.list_grad()):
            grad[:] = i + 1
        trainer.allreduce_grads()
        assert grads(param) == [[3, 3]] * 2


@pytest.mark.parametrize("update_on_kvstore", [True, False])
class TestChanges:
    """Between steps, of the parameters; momentum goes on."""

    def trained(self, update_on_kvstore):
        param = parameter(value=0.0)
        settings = {"learning_rate": 1, "momentum": 0.5}
        trainer = Trainer([param], "sgd", settings, update_on_kvstore=update_on_kvstore)
        self.step(trainer, param)
        assert values(param) == [[-3, -3]] * 2
        return trainer, param

    def step(self, trainer, param):
        backward(param)
        trainer.step(1)

    def test_set_data(self, update_on_kvstore):
        trainer, param = self.trained(update_on_kvstore)
        param.set_data(nd.array([10, 20]))
        self.step(trainer, param)
        assert values(param) == [[10 - 4.5, 20 - 4.5]] * 2

    def test_load(self, update_on_kvstore, tmp_path):
        trainer, param = self.trained(update_on_kvstore)
        nd.save(str(tmp_path / "w"), {"w": nd.array([10, 20])})
        params = gluon.ParameterDict()
        params.update({"w": param})
        params.load(str(tmp_path / "w"))
        self.step(trainer, param)
        assert values(param) == [[10 - 4.5, 20 - 4.5]] * 2

    @pytest.mark.parametrize("count", [1, 3])
    def test_other_contexts(self, update_on_kvstore, count):
        trainer, param = self.trained(update_on_kvstore)
        param.reset_ctx(contexts(4)[1 : count + 1])
        backward(param, factors=[3, 0, 0])
        trainer.step(1)
        assert values(param) == [[-3 - 4.5] * 2] * count
        backward(param, factors=[3, 0, 0])
        trainer.step(1)
        assert values(param) == [[-7.5 - 5.25] * 2] * count

    @pytest.mark.parametrize("count", [1, 3])
    def test_other_contexts_before_the_first_step(self, update_on_kvstore, count):
        param = parameter(value=0.0)
        trainer = Trainer([param], "sgd", {"learning_rate": 1}, update_on_kvstore=update_on_kvstore)
        param.reset_ctx(contexts(count))
        backward(param, factors=[3, 0, 0])
        trainer.step(1)
        assert values(param) == [[-3, -3]] * count

    def test_dtype(self, update_on_kvstore):
        trainer, param = self.trained(update_on_kvstore)
        param.cast("float64")
        self.step(trainer, param)
        assert param.list_data()[1].dtype == numpy.float64
        assert values(param) == [[-7.5, -7.5]] * 2

    def test_freezing(self, update_on_kvstore):
        trainer, param = self.trained(update_on_kvstore)
        param.grad_req = "null"
        trainer.step(1)
        assert values(param) == [[-3, -3]] * 2


class TestStates:
    def train(self, trainer, param, steps=2):
        for _ in range(steps):
            backward(param, factors=[3, *[0] * (len(param.list_ctx()) - 1)])
            trainer.step(1)

    @pytest.mark.parametrize("name", ["adam", "sgd"])
    @pytest.mark.parametrize("after", [(1, None), (2, True), (2, False), (4, False)])
    @pytest.mark.parametrize("before", [(1, None), (2, True), (2, False)])
    def test_training_goes_on(self, tmp_path, name, before, after):
        """Saved on some contexts and loaded on others; who updates may change too."""
        settings = {"sgd": {"momentum": 0.9}, "adam": {}}[name]
        reference = parameter(count=1)
        trainer = Trainer([reference], name, dict(settings))
        self.train(trainer, reference, 4)

        def made(count, update_on_kvstore, value=1.0):
            param = parameter(count=count)
            return param, Trainer([param], name, dict(settings), update_on_kvstore=update_on_kvstore)

        first, trainer = made(*before)
        self.train(trainer, first)
        trainer.save_states(str(tmp_path / "states"))
        second, trainer = made(*after)
        second.set_data(first.list_data()[0])
        trainer.load_states(str(tmp_path / "states"))
        self.train(trainer, second)
        for data in second.list_data():
            assert (data.asnumpy() == reference.data().asnumpy()).all()

    def test_the_learning_rate_is_loaded(self, tmp_path):
        param = parameter()
        Trainer([param], "sgd", {"learning_rate": 0.25}).save_states(str(tmp_path / "states"))
        trainer = Trainer([param], "sgd")
        trainer.load_states(str(tmp_path / "states"))
        trainer.set_learning_rate(trainer.learning_rate * 2)
        backward(param)
        trainer.step(1)
        assert values(param) == [[1 - 0.5 * 3] * 2] * 2


def test_schedules_and_counts_go_on_once_a_step():
    for update_on_kvstore in (True, False):
        param = parameter(value=0.0)
        schedule = hr.lr_scheduler.FactorScheduler(step=1, factor=0.5, base_lr=1.0)
        trainer = Trainer([param], "sgd", {"lr_scheduler": schedule}, update_on_kvstore=update_on_kvstore)
        for _ in range(2):
            backward(param)
            trainer.step(1)
        assert values(param) == [[-4.5, -4.5]] * 2  # rates 1 and 0.5
        assert trainer.optimizer.num_update == 2


class Recorder(kv.KVStoreBase):
    """A store of one's own that writes down what it is asked for."""

    def __init__(self):
        self.calls = []
        self._store = kv.create("local")

    type = "recorder"
    rank, num_workers = 0, 1

    def is_capable(self, capability):
        return False

    def broadcast(self, key, value, out, priority=0):
        self._store.broadcast(key, value, out)

    def pushpull(self, key, value, out=None, priority=0):
        self.calls.append((key, priority))
        self._store.pushpull(key, value, out=out)


class TestExchange:
    def test_other_stores_get_a_key_at_a_time(self):
        store, net = Recorder(), nn.Sequential()
        for number in range(3):  # in the order of their names, whatever was named before
            net.add(nn.Dense(2, in_units=2, use_bias=False, prefix=f"layer{number}_"))
        net.initialize(ctx=contexts(2))
        trainer = Trainer(net.collect_params(), "sgd", kvstore=store)
        backward(*net.collect_params().values())
        trainer.step(1)
        assert store.calls == [(2, -2), (1, -1), (0, 0)]  # as backward completes them

    def test_small_gradients_share_a_call(self, monkeypatch):
        sizes = {"a": 1 << 18, "b": 3, "c": 1 << 18, "d": 5, "e": 6, "f": 3}
        params = [parameter(name, shape=(size,)) for name, size in sizes.items()]
        params[1].cast("float64")
        trainer = Trainer(params, "sgd", update_on_kvstore=False)
        trainer._prepare()
        asked = []
        monkeypatch.setattr(
            trainer._kvstore, "pushpull", lambda keys, values, out, priority: asked.append((keys, priority))
        )
        for param in params:
            backward(param)
        trainer.allreduce_grads()
        # From the last; large ones alone; float64 apart; the first are the most urgent.
        assert asked == [([5, 4, 3], -3), ([2], -2), ([1], -1), ([0], 0)]

    def test_the_order_of_layers_counts_and_not_that_of_names(self):
        net = nn.HybridSequential(prefix="")
        for i in range(12):
            net.add(nn.Dense(2, in_units=2, use_bias=False, prefix=f"dense{i}_"))
        net.initialize(ctx=contexts(2))
        trainer = Trainer(net.collect_params(), "sgd", kvstore=Recorder())
        backward(*net.collect_params().values())
        trainer.step(1)
        names = [trainer._params[key].name for key, _ in trainer._kvstore.calls]
        assert names == [f"dense{i}_weight" for i in reversed(range(12))]


NADAM = [
    0.8625505566596985,
    0.8793766498565674,
    0.8841524124145508,
]  # of MXNet 1.9.1, on one context and on two


class TestOrderOfUpdates:
    """NAdam's schedule and SGLD's noise go from parameter to parameter."""

    @staticmethod
    def curve(rule, count, factors):
        params = [parameter(f"p{i}", count=count) for i in range(3)]
        hr.random.seed(7)
        trainer = Trainer(params, rule, {"learning_rate": 0.05})
        for step in range(3):
            for place, param in enumerate(params):
                backward(param, factors=[factor * (place + 1) * (step + 1) for factor in factors])
            trainer.step(sum(factors))
        return [row for param in params for row in values(param)]

    @pytest.mark.parametrize("rule", ["nadam", "sgld"])
    def test_several_contexts_follow_one(self, rule):
        one, two = self.curve(rule, 1, [1]), self.curve(rule, 2, [1, 3])
        numpy.testing.assert_allclose(two, numpy.repeat(one, 2, axis=0), rtol=1e-6)

    def test_the_numbers_of_nadam_are_those_of_mxnet(self):
        values = [row[0] for row in self.curve("nadam", 2, [1, 1])[::2]]
        numpy.testing.assert_allclose(values, NADAM, rtol=1e-6)

    def test_other_stores_are_asked_in_the_order_of_parameters(self, monkeypatch):
        monkeypatch.setattr(Recorder, "is_capable", lambda self, capability: True)
        monkeypatch.setattr(Recorder, "set_optimizer", lambda self, rule: None, raising=False)
        params = [parameter(f"p{i}") for i in range(3)]
        trainer = Trainer(params, "nadam", kvstore=Recorder())
        backward(*params)
        trainer.step(1)
        assert trainer._kvstore.calls == [(0, 0), (1, -1), (2, -2)]


def test_optimizers_keep_a_state_for_each_context():
    param = parameter()
    rule = optimizer.Adam(learning_rate=0.1)
    trainer = Trainer([param], rule, update_on_kvstore=False)
    backward(param)
    trainer.step(1)
    means = [updater.states[0][0] for updater in trainer._updaters]
    assert [mean.context for mean in means] == contexts(2)
    assert rule._all_index_update_counts == {0: {0: 1}, 1: {0: 1}}


@pytest.mark.parametrize("optimizer", ["adam", "adamax", "rmsprop"])
@pytest.mark.parametrize("before", [True, False])
def test_states_of_masters_go_from_the_store_to_contexts_and_back(tmp_path, optimizer, before):
    path = str(tmp_path / "states")

    def trained(on_store, steps, load=None):
        net = gluon.nn.Dense(2, in_units=3)
        net.initialize(init.One(), ctx=[_make_context(0), _make_context(1)])
        net.cast("float16")
        trainer = gluon.Trainer(
            net.collect_params(),
            optimizer,
            {"learning_rate": 0.01, "multi_precision": True},
            update_on_kvstore=on_store,
        )
        if load is not None:
            for param, value in zip(net.collect_params().values(), load):
                param.set_data(hr.np.array(value, dtype="float16"))
            trainer.load_states(path)
        for _ in range(steps):
            with autograd.record():
                losses = [
                    (net(hr.np.ones((4, 3), dtype="float16", ctx=ctx)) ** 2).sum()
                    for ctx in (_make_context(0), _make_context(1))
                ]
            autograd.backward(losses)
            trainer.step(8)
        trainer.save_states(path)
        return [param.data(_make_context(0)).asnumpy() for param in net.collect_params().values()]

    with hr.util.np_shape(True), hr.util.np_array(True):
        whole = trained(before, 4)
        resumed = trained(not before, 2, trained(before, 2))
    for one, other in zip(whole, resumed):
        numpy.testing.assert_array_equal(one, other)
