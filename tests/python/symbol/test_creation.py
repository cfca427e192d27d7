"""Functions of symbols that make arrays of nothing, and those whose arguments differ from nd's."""

import collections
import json

import numpy
import pytest

import headrace as mx
from headrace import nd, sym


@pytest.fixture(autouse=True)
def fresh_names():
    with mx.name.NameManager():
        yield


WRITTEN = [
    (
        lambda: sym.arange(3),
        ("_arange", "_arange0"),
        {
            "start": "3",
            "stop": "None",
            "step": "1.0",
            "repeat": "1",
            "infer_range": "False",
            "dtype": "float32",
        },
        [0, 1, 2],
    ),
    (
        lambda: sym.arange(1, 3, 0.5, repeat=2, dtype="int32"),
        ("_arange", "_arange0"),
        {"start": "1", "stop": "3", "step": "0.5", "repeat": "2", "infer_range": "False", "dtype": "int32"},
        None,
    ),
    (
        lambda: sym.linspace(0, 1, 5),
        ("_linspace", "_linspace0"),
        {"start": "0", "stop": "1", "num": "5", "endpoint": "True", "dtype": "float32"},
        [0, 0.25, 0.5, 0.75, 1],
    ),
    (
        lambda: sym.eye(2, k=1, name="e"),
        ("_eye", "e"),
        {"N": "2", "M": "0", "k": "1", "dtype": "float32"},
        [[0, 1], [0, 0]],
    ),
    (
        lambda: sym.cumsum(sym.ones((2, 2)), axis=1),
        ("_np_cumsum", "cumsum0"),
        {"axis": "1"},
        [[1, 2], [1, 2]],
    ),
    (lambda: sym.cumsum(sym.ones((2, 2))), ("_np_cumsum", "cumsum0"), {}, [1, 2, 3, 4]),
    (lambda: sym.random.shuffle(sym.ones((2,))), ("_shuffle", "_shuffle0"), {}, [1, 1]),
]


@pytest.mark.parametrize("make, named, attributes, values", WRITTEN)
def test_how_files_have_them(make, named, attributes, values):
    made = make()
    node = json.loads(made.tojson())["nodes"][-1]
    assert (node["op"], node["name"]) == named and node.get("attrs", {}) == attributes
    if values is not None:
        assert made.eval()[0].asnumpy().tolist() == values


def test_multinomial_gives_probabilities():
    rows = nd.array([[0, 1, 0], [0.25, 0, 0.75]])
    made = sym.random.multinomial(sym.var("p"), shape=5)
    assert made.name == "_sample_multinomial0" and len(made) == 2
    classes, logs = made.eval(p=rows)
    assert classes.shape == logs.shape == (2, 5) and classes.dtype == numpy.int32
    picked = numpy.take_along_axis(rows.asnumpy(), classes.asnumpy(), axis=1)
    numpy.testing.assert_allclose(logs.asnumpy(), numpy.log(picked), rtol=1e-6)
    assert len(sym.random.multinomial(sym.var("p"), get_prob=False)) == 1
    assert len(sym.sample_multinomial(sym.var("p"))) == 1
    assert sym.random.multinomial(sym.var("p"), dtype="uint8").attr("dtype") == "uint8"


def _bodies(symbol):
    """[(name, {texts of __subgraph_name__})] of the nodes in the bodies of the last node."""
    node = json.loads(symbol.tojson())["nodes"][-1]
    return [
        [(one["name"], one.get("attrs", {}).get("__subgraph_name__")) for one in body["nodes"]]
        for body in node["subgraphs"]
    ]


def test_names_in_bodies(monkeypatch):
    monkeypatch.setattr(mx.AttrScope, "_subgraph_names", collections.defaultdict(int))
    x, y = sym.var("x"), sym.var("y")
    for i in range(2):
        made = sym.contrib.cond(sym.sum(x) > 1, lambda: x, lambda: y + 1)
        assert _bodies(made) == [
            [(f"_greater_scalar{i}_output", None), (f"identity{2 * i}", f"cond_pred{i}")],
            [("x", None), (f"identity{2 * i + 1}", f"cond_then{i}")],
            [("y", None), (f"_plusscalar{i}", f"cond_else{i}")],
        ]
    outs, _ = sym.contrib.while_loop(lambda a, b: a < b, lambda a, b: (a, [a + 1, b]), [x, y], 3)
    assert [{scope for _, scope in body} for body in _bodies(outs)] == [
        {"while_loop_cond0"},
        {"while_loop_func0"},
    ]
