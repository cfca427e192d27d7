"""Copies of networks, by copy.deepcopy and by pickle: what they compute, and what they share."""

import copy
import pickle
import subprocess
import sys

import numpy
import pytest

import headrace as mx
from headrace import autograd, gluon, nd, np, sym
from headrace.gluon import nn

WAYS = {"deepcopy": copy.deepcopy, "pickle": lambda one: pickle.loads(pickle.dumps(one))}
every_way = pytest.mark.parametrize("copied", WAYS.values(), ids=WAYS)
X = numpy.random.RandomState(3).uniform(-1, 1, (4, 3)).astype("float32")


def sequential(kind=nn.HybridSequential):
    net = kind()
    net.add(nn.Dense(5, activation="relu"), nn.BatchNorm(), nn.Dense(3))
    return net


def tied():
    net = nn.HybridSequential(prefix="tied_")
    with net.name_scope():
        first = nn.Dense(3, in_units=3)
        net.add(first, nn.Dense(3, in_units=3, params=first.params))
    return net


def of_symbol():
    data = sym.var("data")
    return gluon.SymbolBlock(sym.FullyConnected(data, num_hidden=3, name="fc"), data)


class OnArrays(nn.HybridBlock):
    """Its graph holds an array with values."""

    def __init__(self):
        super().__init__()
        self.factor = nd.array([1.0, 2.0, 3.0])
        self.dense = nn.Dense(3)

    def forward(self, x):
        return self.dense(x) * self.factor


NETS = {
    "layer": lambda: nn.Dense(3),
    "hybrid sequential": sequential,
    "sequential": lambda: sequential(nn.Sequential),
    "tied": tied,
    "of a symbol": of_symbol,
    "on arrays": OnArrays,
}


def made(make, hybrid=True, **options):
    net = make()
    net.initialize(mx.init.Uniform(0.5), **options)
    if hybrid:
        net.hybridize()
    return net


def gradients(net, x):
    with autograd.record():
        net(x).sum().backward()
    return {p.name: p.grad().asnumpy() for p in net.collect_params().values() if p.grad_req != "null"}


@pytest.mark.filterwarnings("ignore:All children")
@every_way
@pytest.mark.parametrize("hybrid", [False, True])
@pytest.mark.parametrize("name", NETS)
def test_a_network_that_has_run(name, hybrid, copied):
    net, x = made(NETS[name], hybrid), nd.array(X)
    expected = net(x).asnumpy()
    other = copied(net)
    assert list(other.collect_params()) == list(net.collect_params())
    numpy.testing.assert_array_equal(other(x).asnumpy(), expected)
    for parameter in net.collect_params().values():
        parameter.set_data(nd.zeros(parameter.shape))
    numpy.testing.assert_array_equal(other(x).asnumpy(), expected)
    found = gradients(other, x)
    assert all(numpy.isfinite(one).all() for one in found.values())
    assert any(one.any() for one in found.values())


@every_way
def test_a_copy_compiles_anew(copied):
    net, x = made(sequential), nd.array(X)
    net(x)
    other = copied(net)
    assert "FullyConnected" in other.explain(x)
    assert other(nd.array(X[:2])).shape == (2, 3)  # a shape that the first has not seen
    other.cast("float64")
    assert other(nd.array(X, dtype="float64")).dtype == numpy.float64
    assert net(x).dtype == numpy.float32


@every_way
def test_a_copy_is_exported_as_the_first(copied, tmp_path):
    net, x = made(sequential), nd.array(X)
    expected = net(x).asnumpy()
    other = copied(net)
    net.export(str(tmp_path / "net"))
    other.export(str(tmp_path / "copy"))
    assert (tmp_path / "copy-symbol.json").read_text() == (tmp_path / "net-symbol.json").read_text()
    files = [str(tmp_path / f"copy-{end}") for end in ("symbol.json", "0000.params")]
    loaded = copied(gluon.SymbolBlock.imports(files[0], ["data"], files[1]))
    numpy.testing.assert_allclose(loaded(x).asnumpy(), expected, rtol=1e-6)


@every_way
def test_parameters_stay_shared_within_a_copy(copied):
    net = made(tied)
    net(nd.array(X))
    other, params = copied((net, net.collect_params()))
    assert other[0].weight is other[1].weight is params["tied_dense0_weight"]
    assert other[0].weight is not net[0].weight
    assert params["tied_dense0_weight"].name == "tied_dense0_weight"


@every_way
def test_a_trainer_goes_on_with_the_copy_of_its_network(copied):
    net, x = made(sequential), nd.array(X)
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1, "momentum": 0.9})

    def step(net, trainer):
        gradients(net, x)
        trainer.step(4)

    step(net, trainer)
    pair = copied((net, trainer))
    step(net, trainer)
    before = [p.data().asnumpy() for p in pair[0].collect_params().values()]
    step(*pair)
    after = [p.data().asnumpy() for p in pair[0].collect_params().values()]
    assert any((one != other).any() for one, other in zip(before, after))
    for one, other in zip(net.collect_params().values(), after):
        numpy.testing.assert_array_equal(one.data().asnumpy(), other)


CALLED = []


def note(block, *_):
    CALLED.append(block)


def test_a_trainer_notices_what_becomes_of_parameters_of_another_process():
    program = """
import pickle, sys
from headrace import nd
from headrace.gluon import nn
net = nn.Dense(1, in_units=2)
net.initialize()
for _ in range(1000):
    net.weight.set_data(nd.ones((1, 2)))
sys.stdout.buffer.write(pickle.dumps(net))
"""
    done = subprocess.run(
        [sys.executable, "-c", program],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    net = pickle.loads(done.stdout)
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.5})
    for expected in (-0.5, -2.5):
        with autograd.record():
            loss = net(nd.ones((1, 2)))
        loss.backward()
        trainer.step(1)
        assert net.bias.data().asnumpy().tolist() == [expected]
        net.bias.initialize(mx.init.Constant(-2), force_reinit=True)  # another array


@every_way
def test_hooks_are_called_with_the_copy(copied):
    net, x = made(sequential), nd.array(X)
    net(x)
    net.register_forward_hook(note)
    net.register_forward_pre_hook(note)
    other = copied(net)
    CALLED.clear()
    other(x)
    assert len(CALLED) == 2 and all(one is other for one in CALLED)


@every_way
def test_replicas_stay_on_their_devices(at, copied):
    contexts = [at(0), at(1)]
    net = made(sequential, ctx=contexts)
    inputs = [nd.array(X, ctx=ctx) for ctx in contexts]
    expected = [net(x).asnumpy() for x in inputs]
    other = copied(net)
    assert other[0].weight.list_ctx() == contexts
    for x, result in zip(inputs, expected):
        assert other(x).ctx == x.ctx
        numpy.testing.assert_array_equal(other(x).asnumpy(), result)


@every_way
def test_deferred_shapes_follow_in_the_copy(copied):
    net = made(sequential)
    other = copied(net)
    other(nd.array(X))
    assert other[0].weight.shape == (5, 3) and net[0].weight.shape == (5, 0)


@every_way
def test_networks_of_np(copied):
    with mx.util.np_shape(True), mx.util.np_array(True):
        net = made(sequential)
        x = np.array(X)
        expected = net(x).asnumpy()
        other = copied(net)
        assert isinstance(other(x), np.ndarray)
        numpy.testing.assert_array_equal(other(x).asnumpy(), expected)
