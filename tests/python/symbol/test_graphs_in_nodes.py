"""Graphs that MXNet keeps in one node (_CachedOp) of another graph: composed, and read from files."""

import json

import numpy as np
import pytest

import headrace as mx
from headrace import nd, sym


def product():
    return sym.elemwise_mul(sym.var("a"), sym.var("b"), name="mul")


def file_of(**node):
    inputs = [{"op": "null", "name": name, "inputs": []} for name in ("x", "y")]
    call = {"op": "_CachedOp", "name": "part", "inputs": [[0, 0, 0], [1, 0, 0]], **node}
    doubled = {"op": "_mul_scalar", "name": "twice", "attrs": {"scalar": "2"}, "inputs": [[2, 0, 0]]}
    nodes = [*inputs, call, doubled]
    return json.dumps({"nodes": nodes, "arg_nodes": [0, 1], "heads": [[3, 0, 0]]})


def test_a_graph_is_called_on_symbols():
    made = sym._internal._CachedOp(sym.var("x"), sym.var("y"), subgraph=product().tojson(), name="part")
    assert made.list_arguments() == ["x", "y"] and made.list_outputs() == ["part_mul_output"]
    gradients = {"x": nd.zeros(2)}
    executor = (made * 2).bind(mx.cpu(), {"x": nd.array([3, 4]), "y": nd.array([5, 6])}, gradients)
    assert executor.forward(is_train=True)[0].asnumpy().tolist() == [30, 48]
    executor.backward(nd.ones(2))
    assert gradients["x"].asnumpy().tolist() == [10, 12]


def test_a_graph_called_twice_is_there_twice():
    body = sym.relu(sym.var("a"), name="relu").tojson()
    x = sym.var("x")
    once = sym._internal._CachedOp(x, subgraph=body, name="first")
    both = once + sym._internal._CachedOp(-x, subgraph=body, name="second")
    assert {"first_relu_output", "second_relu_output"} <= set(both.get_internals().list_outputs())
    assert both.eval(x=nd.array([-3, 4]))[0].asnumpy().tolist() == [3, 4]


def test_states_and_further_results():
    norm = sym.BatchNorm(sym.var("data"), name="bn", fix_gamma=False, output_mean_var=True)
    inputs = [sym.var(name) for name in norm.list_inputs()]
    made = sym._internal._CachedOp(*inputs, subgraph=norm.tojson(), name="part")
    assert made.list_outputs() == ["part_bn_output", "part_bn_mean", "part_bn_var"]
    assert made.list_auxiliary_states() == ["bn_moving_mean", "bn_moving_var"]
    assert made[1].list_outputs() == ["part_bn_mean"]


@pytest.mark.parametrize("spelt", ["text", "graph"])
def test_files_with_graphs_in_nodes(spelt):
    body = product().tojson()
    if spelt == "text":
        text = file_of(attrs={"subgraph": body})
    else:
        text = file_of(attrs={}, subgraphs=[json.loads(body)])
    read = sym.load_json(text)
    assert read.list_arguments() == ["x", "y"] and read.list_outputs() == ["twice_output"]
    result = read.eval(x=nd.array([3.0]), y=nd.array([4.0]))[0]
    np.testing.assert_array_equal(result.asnumpy(), [24])
    assert sym.load_json(read.tojson()).list_arguments() == ["x", "y"]


def test_what_does_not_fit():
    with pytest.raises(mx.MXNetError, match="its graph reads 2 variables, but there are 1 inputs"):
        sym._internal._CachedOp(sym.var("x"), subgraph=product().tojson())
    with pytest.raises(mx.MXNetError, match="this is no JSON"):
        sym.load_json(file_of(attrs={"subgraph": "{"}))
    with pytest.raises(mx.MXNetError, match="must have one graph, got 0"):
        sym.load_json(file_of(attrs={}))
    two = json.loads(file_of(attrs={"subgraph": product().tojson()}))
    two["nodes"][3]["inputs"] = [[2, 1, 0]]
    with pytest.raises(mx.MXNetError, match="reads output 1 of node part, which has 1"):
        sym.load_json(json.dumps(two))


def test_an_operator_on_variables_of_its_own():
    dense = sym.FullyConnected(sym.relu(sym.var("x")), num_hidden=3, no_bias=True, name="fc")
    alone = dense._gen_atomic_symbol()
    assert alone.list_attr() == {"num_hidden": "3", "no_bias": "True"}
    assert len(alone.list_arguments()) == 2 and "x" not in alone.list_arguments()
    arguments = dict(zip(alone.list_arguments(), (nd.ones((1, 2)), nd.ones((3, 2)))))
    assert alone.eval(**arguments)[0].asnumpy().tolist() == [[2, 2, 2]]
    assert len(sym.split(sym.var("x"), num_outputs=2)._gen_atomic_symbol()) == 2
    for wrong in (sym.var("x"), sym.Group([dense, sym.var("x") + 1])):
        with pytest.raises(mx.MXNetError, match="not one node"):
            wrong._gen_atomic_symbol()
