"""Stores of a program's own, written with public names: Trainer and Module train with them as with ours."""

import json
import pathlib
import re
import subprocess
import sys
import warnings

import numpy
import pytest

import headrace as mx
from headrace import autograd, gluon, kv, nd
from headrace.kvstore import KVStoreBase

CPUS = [mx.cpu(i) for i in range(2)]
RULE = {"learning_rate": 0.5, "momentum": 0.9}


def as_list(arrays):
    return list(arrays) if isinstance(arrays, (list, tuple)) else [arrays]


class Adder(KVStoreBase):
    """A store that only sums, written for MXNet: 'optimizer' is the one capability that it knows."""

    type, rank, num_workers = "adder", 0, 1

    @staticmethod
    def is_capable(capability):
        if capability != KVStoreBase.OPTIMIZER:
            raise ValueError(f"Unknown capability: {capability}")
        return False

    def broadcast(self, key, value, out, priority=0):
        for one in as_list(out):
            one[:] = value.as_in_context(one.ctx)

    def pushpull(self, key, value, out=None, priority=0):
        self.is_in_place = out is None
        self.broadcast(key, self.total(value), value if out is None else out)

    def total(self, value):
        first, *others = as_list(value)
        total = first.copy()
        for other in others:
            total += other.as_in_context(total.ctx)
        return total


class Keeper(Adder):
    """A store that updates what it holds, written for MXNet: it has no `replace`."""

    type = "keeper"
    capabilities = (KVStoreBase.OPTIMIZER,)

    def __init__(self):
        self.held = {}

    @classmethod
    def is_capable(cls, capability):
        if capability not in KVStoreBase.CAPABILITIES:
            raise ValueError(f"Unknown capability: {capability}")
        return capability in cls.capabilities

    def set_optimizer(self, optimizer):
        self._updater = mx.optimizer.get_updater(optimizer)

    def broadcast(self, key, value, out, priority=0):
        self.held[key] = value.copy()
        super().broadcast(key, value, out)

    def pushpull(self, key, value, out=None, priority=0):
        self._updater(key, self.total(value), self.held[key])
        super().broadcast(key, self.held[key], out)

    def save_optimizer_states(self, fname, dump_optimizer=False):
        pathlib.Path(fname).write_bytes(self._updater.get_states(dump_optimizer))

    def load_optimizer_states(self, fname):
        self._updater.set_states(pathlib.Path(fname).read_bytes())


class LateKeeper(Keeper):
    """The same, as one whose pushes wait for no other worker."""

    type = "late"
    capabilities = (KVStoreBase.OPTIMIZER, KVStoreBase.ASYNCHRONOUS)

    def replace(self, key, value):
        self.held[key] = value.copy()


class FarAdder(Adder):
    """An adder that says of itself, and not of its class, that processes share it."""

    def is_capable(self, capability):
        return capability == KVStoreBase.DISTRIBUTED


@pytest.fixture(autouse=True)
def registered():
    for kind in (Adder, Keeper, LateKeeper, FarAdder):
        KVStoreBase.register(kind)


def samples():
    data = numpy.random.RandomState(0).randn(12, 5).astype("float32")
    return nd.array(data), nd.array(data[:, :3].argmax(axis=1))


def initialized():
    net = gluon.nn.HybridSequential(prefix="net_")
    net.add(gluon.nn.Dense(4, activation="relu", in_units=5), gluon.nn.Dense(3, in_units=4))
    mx.random.seed(7)
    net.initialize(mx.init.Uniform(0.5), ctx=CPUS)
    return net


def train_net(net, trainer, steps=4):
    loss_of = gluon.loss.SoftmaxCrossEntropyLoss()
    parts = [gluon.utils.split_and_load(one, CPUS) for one in samples()]
    for _ in range(steps):
        with autograd.record():
            losses = [loss_of(net(x), y) for x, y in zip(*parts)]
        autograd.backward(losses)
        trainer.step(12)


def params_of(net):
    return [param.data(ctx).asnumpy() for param in net.collect_params().values() for ctx in CPUS]


def by_trainer(store, update_on_kvstore=None):
    net = initialized()
    trainer = gluon.Trainer(net.collect_params(), "sgd", RULE, store, update_on_kvstore=update_on_kvstore)
    train_net(net, trainer)
    return params_of(net)


def bound():
    layer = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=4, name="first")
    layer = mx.sym.FullyConnected(mx.sym.Activation(layer, act_type="relu"), num_hidden=3, name="second")
    module = mx.mod.Module(mx.sym.SoftmaxOutput(layer, name="softmax"), context=CPUS)
    module.bind([("data", (12, 5))], [("softmax_label", (12,))])
    mx.random.seed(7)
    module.init_params(mx.init.Uniform(0.5))
    return module


def train_module(module, steps=4):
    data, labels = samples()
    for _ in range(steps):
        module.forward_backward(mx.io.DataBatch([data], [labels]))
        module.update()


def by_module(store, update_on_kvstore=None):
    module = bound()
    module.init_optimizer(store, "sgd", RULE)
    train_module(module)
    return [array.asnumpy() for _, array in sorted(module.get_params()[0].items())]


def assert_close(found, wanted):
    for one, other in zip(found, wanted, strict=True):
        numpy.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("train", [by_trainer, by_module])
@pytest.mark.parametrize("given", ["name", "object"])
@pytest.mark.parametrize("kind", [Adder, Keeper, LateKeeper])
def test_training_is_that_of_a_local_store(kind, given, train):
    store = kind.__name__ if given == "name" else kind()
    assert_close(train(store), train("local"))


def test_a_store_that_sums_for_a_trainer_is_told_that_it_is_in_place():
    store = Adder()
    by_trainer(store, update_on_kvstore=False)
    assert store.is_in_place


@pytest.mark.parametrize("frontend", ["trainer", "module"])
@pytest.mark.parametrize("store", ["adder", "keeper"])
def test_two_processes_train_as_one(store, frontend):
    script = pathlib.Path(__file__).with_name("two_workers.py")
    done = subprocess.run(
        [sys.executable, script, store, frontend], capture_output=True, text=True, timeout=240, check=False
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    first, second = found["workers"]
    assert first == second
    assert list(first) == list(found["one"])
    assert_close(map(numpy.array, first.values()), map(numpy.array, found["one"].values()))


class TestWhoUpdates:
    @staticmethod
    def on_store(store, update_on_kvstore=None):
        trainer = gluon.Trainer(initialized().collect_params(), "sgd", RULE, store, None, update_on_kvstore)
        trainer.step(1, ignore_stale_grad=True)
        return trainer._update_on_kvstore

    def test_a_store_that_only_sums(self):
        assert not self.on_store("adder")
        assert not self.on_store(Adder(), False)
        with pytest.raises(ValueError, match="Please set update_on_kvstore=False when training with"):
            self.on_store("adder", True)

    def test_a_store_that_updates(self, monkeypatch):
        assert self.on_store("keeper")
        monkeypatch.setenv("MXNET_UPDATE_ON_KVSTORE", "0")
        assert not self.on_store("keeper")

    def test_an_asynchronous_store_always_updates(self, monkeypatch):
        monkeypatch.setenv("MXNET_UPDATE_ON_KVSTORE", "0")
        assert self.on_store("latekeeper") and self.on_store("latekeeper", True)
        with pytest.raises(ValueError, match="Please set update_on_kvstore=True when training in async mode"):
            self.on_store("latekeeper", False)

    def test_an_asynchronous_store_that_cannot(self, monkeypatch):
        monkeypatch.setattr(LateKeeper, "capabilities", (KVStoreBase.ASYNCHRONOUS,))
        for update_on_kvstore in (None, True):
            with pytest.raises(ValueError, match="is asynchronous, .* not capable of 'optimizer'"):
                self.on_store("latekeeper", update_on_kvstore)

    def test_the_halves_of_a_step_are_refused(self):
        trainer = gluon.Trainer(initialized().collect_params(), "sgd", RULE, "latekeeper")
        with pytest.raises(AssertionError, match="when parameters are updated on kvstore"):
            trainer.allreduce_grads()


class TestOneContext:
    @staticmethod
    def stores_of(kvstore):
        param = gluon.Parameter("w", shape=(2,))
        param.initialize()
        trainer = gluon.Trainer([param], "sgd", kvstore=kvstore)
        trainer.step(1, ignore_stale_grad=True)
        module = mx.mod.Module(
            mx.sym.SoftmaxOutput(mx.sym.var("data") * mx.sym.var("weight"), name="softmax")
        )
        module.bind([("data", (1, 2))], [("softmax_label", (1,))])
        module.init_params()
        module.init_optimizer(kvstore)
        return trainer._kvstore, module._kvstore

    @pytest.mark.parametrize("name", ["local", "Device", "adder", "keeper", "LateKeeper"])
    def test_a_name_makes_no_store(self, name):
        assert self.stores_of(name) == (None, None)

    def test_a_kind_that_spans_processes_makes_one(self):
        for store in self.stores_of("FarAdder"):
            assert isinstance(store, FarAdder)

    def test_a_name_that_no_kind_has(self):
        with pytest.raises(
            ValueError, match="no kind 'nowhere'; known are .* registered in Python are adder"
        ):
            self.stores_of("nowhere")


class TestCapabilities:
    def test_of_stores_and_of_kinds(self):
        wanted = {
            "local": {"optimizer"},
            "device": {"optimizer", "compression"},
            "teststore": set(),
            "adder": set(),
            "keeper": {"optimizer"},
            "latekeeper": {"optimizer", "asynchronous"},
            "faradder": {"distributed"},
        }
        for name, capabilities in wanted.items():
            for asked in (name, name.upper(), kv.create(name)):
                found = {one for one in KVStoreBase.CAPABILITIES if kv.is_capable(asked, one)}
                assert found == capabilities, name

    @pytest.mark.parametrize("asked", ["local", "adder", "keeper", "teststore"])
    def test_unknown_ones(self, asked):
        for store in (asked, kv.create(asked)):
            with pytest.raises(ValueError, match="Unknown capability: wings"):
                kv.is_capable(store, "wings")
        with pytest.raises(ValueError, match="Unknown capability: wings"):
            kv.create(asked).is_capable("wings")

    def test_unknown_kinds(self):
        with pytest.raises(ValueError, match="no kind 'nowhere'"):
            kv.is_capable("nowhere", "optimizer")
        assert kv.is_capable("dist_async", "asynchronous") and not kv.is_capable("dist_sync", "asynchronous")

    def test_what_a_store_lacks(self):
        store = Adder()
        assert store.updater is None
        with pytest.raises(NotImplementedError, match="Adder has no replace"):
            store.replace("w", nd.zeros((1,)))
        with pytest.raises(NotImplementedError, match="Adder has no set_gradient_compression"):
            store.set_gradient_compression({"type": "2bit"})


class TestParametersThatAreSet:
    @pytest.mark.parametrize("store", ["device", "latekeeper"])
    def test_reach_the_store(self, store):
        trained = []
        for one in (store, None):  # without a store of one context, values are where they are set
            param = gluon.Parameter("w", shape=(2,))
            param.initialize(ctx=CPUS if one else CPUS[:1])
            trainer = gluon.Trainer([param], "sgd", RULE, one)
            for value in (3, None, 5, None):
                if value is not None:
                    param.set_data(nd.full((2,), value))
                with autograd.record():
                    losses = [param.data(ctx) * 2 / len(param.list_ctx()) for ctx in param.list_ctx()]
                autograd.backward(losses)
                trainer.step(1)
            trained.append(param.data(CPUS[0]).asnumpy())
        assert_close(trained[:1], trained[1:])

    def test_reach_the_store_of_a_module(self):
        results = []
        for store in ("adder", "device", "latekeeper"):  # the first holds none: they are where they are set
            module = bound()
            module.init_optimizer(store, "sgd", RULE)
            train_module(module, 2)
            module.set_params(*bound().get_params())
            train_module(module, 2)
            results.append([array.asnumpy() for _, array in sorted(module.get_params()[0].items())])
        for found in results[1:]:
            assert_close(found, results[0])

    def test_a_store_without_replace(self):
        net = initialized()
        trainer = gluon.Trainer(net.collect_params(), "sgd", RULE, "keeper")
        train_net(net, trainer, 1)
        net[0].weight.set_data(nd.zeros((4, 5)))
        with pytest.raises(NotImplementedError, match="Keeper has no replace"):
            trainer.step(1, ignore_stale_grad=True)
        module = bound()
        module.init_optimizer("keeper", "sgd", RULE)
        with pytest.warns(UserWarning, match="starts from what the store holds: .* Keeper has no replace"):
            module.set_params(*module.get_params())


class TestStatesOfTheOptimizer:
    @pytest.mark.parametrize("store", ["device", "keeper", "latekeeper"])
    def test_are_saved_and_loaded(self, store, tmp_path):
        file = str(tmp_path / "states")
        first, second = initialized(), initialized()
        trainer = gluon.Trainer(first.collect_params(), "sgd", RULE, store)
        train_net(first, trainer, 2)
        trainer.set_learning_rate(0.25)
        trainer.save_states(file)
        other = gluon.Trainer(second.collect_params(), "sgd", RULE, store)
        train_net(second, other, 2)
        other.load_states(file)
        assert other.learning_rate == 0.25
        for net, one in ((first, trainer), (second, other)):
            train_net(net, one, 2)
        assert_close(params_of(second), params_of(first))

    def test_out_of_reach(self, monkeypatch, tmp_path):
        monkeypatch.setattr(LateKeeper, "updater", None)
        net = initialized()
        trainer = gluon.Trainer(net.collect_params(), "sgd", RULE, "latekeeper")
        train_net(net, trainer, 1)
        trainer.save_states(str(tmp_path / "states"))
        trainer.load_states(str(tmp_path / "states"))
        net.cast("float64")
        with pytest.raises(mx.base.MXNetError, match="the store late updates parameters out of reach"):
            trainer.step(1, ignore_stale_grad=True)


class TestDistributed:
    class Far(LateKeeper):
        type = "far"
        capabilities = (KVStoreBase.OPTIMIZER, KVStoreBase.DISTRIBUTED)
        num_workers = 3

    def trained(self, store):
        net = initialized()
        trainer = gluon.Trainer(net.collect_params(), "sgd", RULE, store)
        train_net(net, trainer, 1)
        return net, trainer

    def test_what_others_would_not_know_is_refused(self):
        net, trainer = self.trained(self.Far())
        with pytest.raises(RuntimeError, match="Cannot reset distributed KVStore"):
            net[0].weight.set_data(nd.zeros((4, 5)))
        net, trainer = self.trained(self.Far())
        net.collect_params().reset_ctx(CPUS[:1])
        with pytest.raises(RuntimeError, match="Cannot reset distributed KVStore"):
            trainer.step(12, ignore_stale_grad=True)

    def test_the_batch_size_may_change_where_the_optimizer_is_ours(self, monkeypatch):
        net, trainer = self.trained(self.Far())
        trainer.step(6, ignore_stale_grad=True)
        monkeypatch.setattr(self.Far, "updater", None)
        with pytest.raises(UserWarning, match="Possible change in the `batch_size`"):
            trainer.step(3, ignore_stale_grad=True)

    def test_module_counts_the_batches_of_all_workers(self):
        for store, workers in ((self.Far(), 3), (LateKeeper(), 1), (Adder(), 1)):
            module = bound()
            module.init_optimizer(store)
            assert module._optimizer.rescale_grad == 1 / (12 * workers)


class TestOurs:
    def test_the_updater_is_readable(self):
        store = kv.create("local")
        assert store.updater is None
        store.set_updater(print)
        assert store.updater is print and store._updater is print
        store.set_updater(None)
        store.set_optimizer(mx.optimizer.SGD())
        assert isinstance(store.updater, mx.optimizer.Updater)

    @pytest.mark.parametrize("kind", ["local", "device"])
    def test_values_are_replaced(self, kind):
        store = kv.create(kind)
        store.init(["a", "b"], [nd.zeros((2,)), nd.zeros((2,), dtype="float64")])
        store.set_optimizer(mx.optimizer.SGD(learning_rate=1, momentum=0.5))
        store.push("a", nd.ones((2,)))
        store.replace(["a", "b"], [nd.full((2,), 5), nd.full((2,), 6)])
        out = [nd.zeros((2,)), nd.zeros((2,))]
        store.pull(["a", "b"], out=out)
        assert [one.asnumpy().tolist() for one in out] == [[5, 5], [6, 6]]
        store.push("a", nd.zeros((2,)))
        store.pull("a", out=out[0])
        assert out[0].asnumpy().tolist() == [4.5, 4.5]  # the momentum is still there
        with pytest.raises(mx.base.MXNetError, match="replace: key 'c' has not been inited"):
            store.replace("c", nd.zeros((2,)))
        with pytest.raises(ValueError, match="key 'a': expected one array, got 2"):
            store.replace("a", [nd.zeros((2,))] * 2)

    def test_private_names_of_mxnet(self):
        store = kv.create("local")
        store._barrier()
        store._send_command_to_servers(0, "")
        store._set_updater(print)
        assert store._updater is print


def test_the_example_of_the_documentation(monkeypatch):
    page = pathlib.Path(__file__).resolve().parents[2] / "docs" / "kvstore.md"
    example = re.search(
        r"^```python\n(.*?class .*?)^```$", page.read_text().split("## A store of one's own")[1], re.S | re.M
    )
    monkeypatch.delitem(KVStoreBase.kv_registry, "adder")
    exec(example[1], {"__name__": "example"})
    assert KVStoreBase.kv_registry["adder"].__module__ == "example"
    for train in (by_trainer, by_module):
        assert_close(train("adder"), train("local"))


def test_stores_written_for_mxnet_train_without_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        by_trainer("keeper")
        by_module("keeper")
