"""Block.save and load: names of blocks, graphs of hybridized blocks, parameters."""

import json

import numpy
import pytest

import headrace as mx
from headrace import nd
from headrace.gluon import SymbolBlock, nn


def network(inner=4, container=nn.HybridSequential):
    net = container()
    with net.name_scope():
        net.add(nn.Dense(inner, activation="relu"), nn.BatchNorm(), nn.Dense(2))
    return net


@pytest.fixture
def x():
    return nd.array(numpy.arange(6).reshape(2, 3))


@pytest.fixture
def saved(x, tmp_path):
    """(network, its outputs, prefix of its files)"""
    net = network()
    net.initialize(mx.init.Xavier())
    net.hybridize()
    outputs = net(x).asnumpy()
    net.save(str(tmp_path / "net"))
    return net, outputs, str(tmp_path / "net")


def test_a_hybridized_network(saved, x):
    net, outputs, prefix = saved
    other = network()
    assert other.name != net.name
    other.load(prefix)
    assert other.name == net.name and other[0].name == net[0].name
    assert list(other.collect_params()) == list(net.collect_params())
    assert other._active and other._traced_graph.outputs.tojson() == net._traced_graph.outputs.tojson()
    assert other(x).asnumpy().tolist() == outputs.tolist()
    other.export(prefix)
    block = SymbolBlock.imports(f"{prefix}-symbol.json", "data", f"{prefix}-0000.params")
    assert block(x).asnumpy().tolist() == outputs.tolist()


@pytest.mark.parametrize("container", [nn.HybridSequential, nn.Sequential])
def test_networks_that_are_not_hybridized(container, x, tmp_path):
    net = network(container=container)
    net.initialize()
    outputs = net(x)
    net.save(str(tmp_path / "net"))
    other = network(container=container)
    other.load(str(tmp_path / "net"))
    assert other(x).asnumpy().tolist() == outputs.asnumpy().tolist()
    assert not getattr(other, "_active", False) and not other[0]._active


def test_nested_blocks(x, tmp_path):
    def make():
        outer = nn.Sequential()
        with outer.name_scope():
            outer.add(nn.Dense(3), network())
            outer.register_child(nn.Dense(1), "last")
        return outer

    net = make()
    net.initialize()
    net[1].hybridize()
    outputs = net(x).asnumpy()
    net.save(str(tmp_path / "net"))
    other = make()
    other.load(str(tmp_path / "net"))
    assert list(other._children) == list(net._children) == ["0", "1", "last"]
    assert other(x).asnumpy().tolist() == outputs.tolist()


def test_the_format_is_that_of_mxnet(saved):
    net, _, prefix = saved
    with open(f"{prefix}-model.json", encoding="utf-8") as file:
        model = json.load(file)
    assert list(model) == ["hybridsequential0"]
    top = model["hybridsequential0"]
    assert list(top) == [
        *("orig_name", "in_format", "out_format", "inputs", "symbol", "hybridized", "children"),
        *("dense1", "batchnorm3", "dense4"),
    ]
    assert (top["orig_name"], top["in_format"], top["out_format"]) == (net.name, [0], 0)
    assert [mx.sym.load_json(one).name for one in top["inputs"]] == ["data"]
    assert top["children"] == {net[i].name: str(i) for i in range(3)}
    assert list(top["dense1"]["children"].values()) == ["act"]
    assert top["dense1"]["activation2"]["orig_name"] == f"{net[0].name}_relu"


def test_other_models_are_refused(saved, tmp_path):
    _, _, prefix = saved
    with pytest.raises(mx.MXNetError, match="there is no sequential0, but hybridsequential0"):
        network(container=nn.Sequential).load(prefix)
    shorter = nn.HybridSequential()
    shorter.add(nn.Dense(4, activation="relu"), nn.BatchNorm())
    with pytest.raises(mx.MXNetError, match="hybridsequential0 has the children"):
        shorter.load(prefix)
    with pytest.raises(mx.MXNetError, match="No such file"):
        network().load(str(tmp_path / "nope"))
    for text in ("{", "[]", "{}", '{"hybridsequential0": 1}', '{"hybridsequential0": {"orig_name": 3}}'):
        (tmp_path / "bad-model.json").write_text(text)
        with pytest.raises(mx.MXNetError, match=r"Block.load: .*bad-model.json: "):
            network().load(str(tmp_path / "bad"))


def test_graphs_that_are_not_of_the_block_are_refused(saved):
    net, _, prefix = saved
    with open(f"{prefix}-model.json", encoding="utf-8") as file:
        text = file.read()
    with open(f"{prefix}-model.json", "w", encoding="utf-8") as file:
        file.write(text.replace(f"{net[2].name}_weight", "other_weight"))
    with pytest.raises(mx.MXNetError, match="reads other_weight, which the block does not have"):
        network().load(prefix)


def test_symbol_blocks_move(saved, x):
    net, outputs, prefix = saved
    net.export(prefix)
    block = SymbolBlock.imports(f"{prefix}-symbol.json", "data", f"{prefix}-0000.params")
    block.reset_ctx([mx.cpu(0), mx.cpu(1)])
    assert all(param.list_ctx() == [mx.cpu(0), mx.cpu(1)] for param in block.collect_params().values())
    assert block(x.as_in_context(mx.cpu(1))).asnumpy().tolist() == outputs.tolist()
    assert nn.SymbolBlock is SymbolBlock


def test_a_block_that_stands_in_several_places(x, tmp_path):
    def make():
        relu = nn.Activation("relu")
        net = nn.HybridSequential()
        net.add(nn.Dense(3, in_units=3), relu, nn.Dense(2, in_units=3), relu)
        net.initialize(mx.init.Uniform(1))
        return net

    net, other = make(), make()
    net.save(str(tmp_path / "net"))
    other.load(str(tmp_path / "net"))
    assert list(other._children) == ["0", "1", "2", "3"]
    assert other(-x).asnumpy().tolist() == net(-x).asnumpy().tolist()


def test_renamed_blocks_are_traced_and_trained(saved, x):
    net, outputs, prefix = saved
    other = network()
    other.load(prefix)
    assert [one.name for one in other.collect_params().values()] == list(net.collect_params())
    other.hybridize()
    assert other(x).asnumpy().tolist() == outputs.tolist()
    trainer = mx.gluon.Trainer(other.collect_params(), "sgd")
    with mx.autograd.record():
        other(x).backward()
    trainer.step(1)
