"""SymbolBlock: exported networks come back, with their numbers and gradients."""

import json
import pathlib

import numpy
import pytest

from headrace import autograd, gluon, nd, np, npx, sym
from headrace.base import MXNetError
from headrace.gluon import nn


def network():
    net = nn.HybridSequential(prefix="net_")
    with net.name_scope():
        net.add(nn.Conv2D(4, 3, in_channels=2), nn.BatchNorm(), nn.Activation("relu"), nn.Dense(3))
    net.initialize()
    return net


X = numpy.random.RandomState(0).uniform(-1, 1, (2, 2, 6, 6)).astype("float32")


@pytest.fixture
def exported(tmp_path):
    net = network()
    net.hybridize()
    y = net(nd.array(X))
    net.export(str(tmp_path / "net"), epoch=7)
    return net, y, str(tmp_path / "net-symbol.json"), str(tmp_path / "net-0007.params")


def test_the_same_numbers(exported):
    _, y, symbol, params = exported
    loaded = gluon.SymbolBlock.imports(symbol, ["data"], params)
    assert (loaded(nd.array(X)).asnumpy() == y.asnumpy()).all()
    assert loaded(nd.array(X[:1])).shape == (1, 3)


def test_names(exported):
    net, _, symbol, params = exported
    loaded = gluon.SymbolBlock.imports(symbol, "data", params)
    assert set(loaded.collect_params()) == set(net.collect_params())
    assert set(loaded.collect_params(".*weight")) == set(net.collect_params(".*weight"))


def test_gradients_flow(exported):
    net, _, symbol, params = exported
    loaded = gluon.SymbolBlock.imports(symbol, ["data"], params)
    found = []
    for block in (net, loaded):
        with autograd.record():
            loss = (block(nd.array(X)) ** 2).sum()
        loss.backward()
        found.append(
            {name: one.grad() for name, one in block.collect_params().items() if one.grad_req != "null"}
        )
    assert len(found[0]) == 6
    for name, gradient in found[0].items():
        assert (gradient.asnumpy() == found[1][name].asnumpy()).all()
    name = "net_batchnorm0_running_mean"
    assert (
        net.collect_params()[name].data().asnumpy() == loaded.collect_params()[name].data().asnumpy()
    ).all()


def test_fine_tuning(exported):
    _, _, symbol, params = exported
    features = gluon.SymbolBlock(sym.load(symbol).get_internals()["net_relu0_fwd_output"], sym.var("data"))
    features.collect_params().load(params, ignore_extra=True)
    net = nn.HybridSequential()
    net.add(features, nn.Dense(2))
    net[1].initialize()
    net.hybridize()
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
    before = features.collect_params()["net_conv0_weight"].data().asnumpy()
    losses = []
    for _ in range(4):
        with autograd.record():
            loss = gluon.loss.SoftmaxCrossEntropyLoss()(net(nd.array(X)), nd.array([0, 1]))
        loss.backward()
        trainer.step(2)
        losses.append(loss.mean().asscalar())
    assert losses[-1] < losses[0]
    assert (features.collect_params()["net_conv0_weight"].data().asnumpy() != before).any()


def test_cast(exported):
    _, y, symbol, params = exported
    loaded = gluon.SymbolBlock.imports(symbol, ["data"], params)
    loaded.cast("float64")
    out = loaded(nd.array(X, dtype="float64"))
    assert out.dtype == numpy.float64
    numpy.testing.assert_allclose(out.asnumpy(), y.asnumpy(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_cast_keeps_batch_norms_in_float32(exported, dtype):
    _, y, symbol, params = exported
    loaded = gluon.SymbolBlock.imports(symbol, ["data"], params)
    loaded.cast(dtype)
    kept = {name for name, one in loaded.collect_params().items() if one.dtype == "float32"}
    assert kept == {f"net_batchnorm0_{part}" for part in ("gamma", "beta", "running_mean", "running_var")}
    out = loaded(nd.array(X).astype(dtype))
    assert out._dtype_name == dtype
    numpy.testing.assert_allclose(out.astype("float32").asnumpy(), y.asnumpy(), rtol=0.1, atol=0.1)


def test_exporting_again_gives_the_same_file(exported, tmp_path):
    _, _, symbol, params = exported
    loaded = gluon.SymbolBlock.imports(symbol, ["data"], params)
    loaded(nd.array(X))
    loaded.export(str(tmp_path / "again"))
    assert (tmp_path / "again-symbol.json").read_bytes() == pathlib.Path(symbol).read_bytes()
    ours, theirs = nd.load(str(tmp_path / "again-0000.params")), nd.load(params)
    assert ours.keys() == theirs.keys()
    assert all((ours[name].asnumpy() == theirs[name].asnumpy()).all() for name in ours)


def test_export_wants_a_call(tmp_path):
    net = network()
    with pytest.raises(RuntimeError, match="hybridize"):
        net.export(str(tmp_path / "net"))
    net.hybridize()
    with pytest.raises(RuntimeError, match="forward"):
        net.export(str(tmp_path / "net"))


def test_files_that_do_not_fit(exported, tmp_path):
    _, _, symbol, params = exported
    with pytest.raises(MXNetError):
        gluon.SymbolBlock.imports(str(tmp_path / "nothing.json"), ["data"], params)
    saved = nd.load(params)
    nd.save(str(tmp_path / "less.params"), dict(list(saved.items())[1:]))
    with pytest.raises(AssertionError):
        gluon.SymbolBlock.imports(symbol, ["data"], str(tmp_path / "less.params"))
    gluon.SymbolBlock.imports(symbol, ["data"], str(tmp_path / "less.params"), allow_missing=True)
    nd.save(str(tmp_path / "more.params"), {**saved, "arg:other": nd.ones(1)})
    with pytest.raises((ValueError, AssertionError)):
        gluon.SymbolBlock.imports(symbol, ["data"], str(tmp_path / "more.params"))
    gluon.SymbolBlock.imports(symbol, ["data"], str(tmp_path / "more.params"), ignore_extra=True)


def test_without_parameters(exported):
    _, _, symbol, _ = exported
    loaded = gluon.SymbolBlock.imports(symbol, ["data"])
    loaded.initialize()
    assert loaded(nd.array(X)).shape == (2, 3)


def test_several_inputs_and_outputs():
    a, b = sym.var("a"), sym.var("b")
    block = gluon.SymbolBlock([a + b, a * b], [a, b])
    total, product = block(nd.array([2.0]), nd.array([3.0]))
    assert total.asscalar() == 5 and product.asscalar() == 6


def test_nested_inputs():
    a, b, c = sym.var("a"), sym.var("b"), sym.var("c")
    block = gluon.SymbolBlock(a + b * c, [a, b, c])
    arrays = [nd.array([value]) for value in (2.0, 3.0, 4.0)]
    assert block(arrays[0], arrays[1:]).asscalar() == block(*arrays).asscalar() == 14
    block._in_format = [0, [0, 0]]
    assert block(arrays[0], arrays[1:]).asscalar() == 14
    with pytest.raises(ValueError, match="argument structure"):
        block(*arrays)


def test_auxiliary_states_are_the_last_parameters():
    x = sym.FullyConnected(sym.BatchNorm(sym.var("data"), name="norm"), num_hidden=2, name="out")
    names = list(gluon.SymbolBlock(x, sym.var("data")).collect_params())
    assert names == [*x.list_arguments()[1:], "norm_moving_mean", "norm_moving_var"]


def test_parameters_that_are_given_keep_their_requests():
    net = gluon.nn.HybridSequential()
    net.add(gluon.nn.Dense(2, in_units=3), gluon.nn.BatchNorm(scale=False, in_channels=2))
    net.initialize()
    assert net[1].gamma.grad_req == "null"
    block = gluon.SymbolBlock(net(sym.var("x")), [sym.var("x")], params=net.collect_params())
    assert block.collect_params()[net[1].gamma.name] is net[1].gamma
    assert net[1].gamma.grad_req == "null" and net[0].weight.grad_req == "write"
    x = nd.ones((2, 3))
    assert (block(x) == net(x)).asnumpy().all()


def test_inputs_must_be_variables():
    a = sym.var("a")
    with pytest.raises(ValueError, match="variable"):
        gluon.SymbolBlock(a + 1, [a * 2])


def test_on_symbols():
    a = sym.var("a")
    block = gluon.SymbolBlock(sym.FullyConnected(a, num_hidden=2, name="fc"), [a])
    assert block(sym.var("z")).list_arguments() == ["z", "fc_weight", "fc_bias"]


def test_inside_other_blocks(exported):
    _, y, symbol, params = exported

    class Outer(nn.HybridBlock):
        def __init__(self):
            super().__init__()
            self.inner = gluon.SymbolBlock.imports(symbol, ["data"], params)

        def hybrid_forward(self, F, x):
            return self.inner(x) * 2

    outer = Outer()
    for hybrid in (False, True):
        outer.hybridize(hybrid)
        numpy.testing.assert_allclose(outer(nd.array(X)).asnumpy(), 2 * y.asnumpy(), rtol=1e-6)


def test_forward_on_arrays_can_be_exported(tmp_path):
    class Forward(nn.HybridBlock):
        def __init__(self):
            super().__init__(prefix="f_")
            with self.name_scope():
                self.weight = self.params.get("weight", shape=(3, 4))
                self.dense = nn.Dense(2)

        def forward(self, x):
            return self.dense(nd.relu(nd.dot(x, self.weight.data()) - 0.1))

    net = Forward()
    net.initialize()
    net.hybridize(trace=True)
    x = nd.ones((2, 3))
    y = net(x)
    net.export(str(tmp_path / "net"))
    loaded = gluon.SymbolBlock.imports(
        str(tmp_path / "net-symbol.json"), ["data"], str(tmp_path / "net-0000.params")
    )
    assert (loaded(x).asnumpy() == y.asnumpy()).all()
    assert set(json.loads((tmp_path / "net-symbol.json").read_text())) >= {"nodes", "heads"}


def test_np(np_mode, tmp_path):
    net = nn.HybridSequential()
    net.add(nn.Dense(3, activation="relu"), nn.Dense(2))
    net.initialize()
    net.hybridize()
    x = np.ones((2, 5))
    y = net(x)
    net.export(str(tmp_path / "net"))
    loaded = gluon.SymbolBlock.imports(
        str(tmp_path / "net-symbol.json"), ["data"], str(tmp_path / "net-0000.params")
    )
    assert type(loaded(x)) is np.ndarray
    assert (loaded(x) == y).all()
    assert npx.is_np_array()


def test_files_leave_out_what_all_names_begin_with(tmp_path):
    class Net(gluon.HybridBlock):
        def __init__(self):
            super().__init__()
            with self.name_scope():
                inner = nn.HybridSequential()
                with inner.name_scope():
                    inner.add(nn.Dense(3, in_units=2), nn.Dense(2, in_units=3))
                data = sym.var("data")
                self.inner = gluon.SymbolBlock(inner(data), data, params=inner.collect_params())

        def hybrid_forward(self, F, x):
            return self.inner(x)

    first, second = Net(), Net()
    first.initialize()
    first.save_parameters(str(tmp_path / "weights"))
    names = ["inner.0_weight", "inner.0_bias", "inner.1_weight", "inner.1_bias"]
    assert list(nd.load(str(tmp_path / "weights"))) == names
    second.load_parameters(str(tmp_path / "weights"))
    x = nd.ones((1, 2))
    assert (first(x) == second(x)).asnumpy().all()


def test_a_list_of_one_output_is_that_output():
    data = sym.var("data")
    for outputs in ([data * 2], (data * 2,)):
        net = gluon.SymbolBlock(outputs, [data])
        for hybridize in (False, True):
            net.hybridize(hybridize)
            assert net(nd.ones((2,))).asnumpy().tolist() == [2, 2]
        assert isinstance(net(sym.var("x")), sym.Symbol)
    halves = gluon.SymbolBlock([sym.split(data, num_outputs=2, axis=0)], data)(nd.array([[1], [2]]))
    assert [half.asnumpy().tolist() for half in halves] == [[[1]], [[2]]]


def test_inputs_that_the_outputs_are_not_made_of():
    with pytest.warns(UserWarning, match="other is not used"):
        net = gluon.SymbolBlock(
            sym.FullyConnected(sym.var("data"), num_hidden=2, name="fc"), sym.var("other")
        )
        net.initialize()
        with pytest.raises(
            ValueError, match="the shapes of data, fc_weight do not follow from .* inputs other"
        ):
            net(nd.ones((2, 3)))
