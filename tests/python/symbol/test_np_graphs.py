"""np graphs and MXNet 1.9.1: what it writes loads and gives its numbers, and symbols hold what it holds."""

import json
import pathlib
import runpy

import numpy
import pytest

import headrace as mx
from headrace import npx

HERE = pathlib.Path(__file__).parent
GRAPHS = runpy.run_path(str(HERE / "np_graphs.py"))
CALLS, SAMPLES = GRAPHS["CALLS"], GRAPHS["SAMPLES"]
listed, made_by, nodes_of, values_of = (
    GRAPHS[name] for name in ("listed", "made_by", "nodes_of", "values_of")
)
OF_MXNET = json.loads((HERE / "np_graphs.json").read_text())

# Files say the same in other words: one bound; the sums of the matrix norms keep their axes until the end;
# determinants go by another of their names.
OTHER_OPERATORS = {
    "F.clip(a, None, 0.5)": ["_npi_minimum_scalar"],
    "F.dsplit(c, (1,))": ["_split_v2"],
    "F.linalg.det(s)": ["_npi_det"],
    "F.linalg.slogdet(s)": ["_npi_slogdet"],
    "F.linalg.norm(a, ord=1, axis=(1, 0))": ["_npi_absolute", "_np_sum", "_np_max", "_np_squeeze"],
}
# Of a chi-square distribution, which MXNet's symbols scale by 1/2 in place of 2.
OTHER_ATTRIBUTES = {"F.random.chisquare(3.0, (3,))": {"scale"}}


@pytest.fixture(autouse=True)
def np_mode():
    npx.set_np()
    yield
    npx.reset_np()


def check_outputs(found, expected):
    assert [one[:2] for one in found] == [one[:2] for one in expected]
    for one, other in zip(found, expected):
        numpy.testing.assert_allclose(one[2], other[2], rtol=1e-5, atol=1e-6)


def same_value(ours, theirs):
    """Whether two texts of an attribute mean the same: "(-1,)" and "-1", "2.0" and "2"."""
    numbers = [text.replace("[", "(").replace("]", ")").strip("(), ") for text in (ours, theirs)]
    try:
        return [float(one) for one in numbers[0].split(",")] == [float(one) for one in numbers[1].split(",")]
    except ValueError:
        return numbers[0] == numbers[1]


@pytest.mark.parametrize("call", CALLS)
def test_what_mxnet_writes_gives_its_numbers(call):
    symbol = mx.sym.load_json(json.dumps(OF_MXNET[call]["graph"]))
    check_outputs([listed(one) for one in values_of(mx, symbol)], OF_MXNET[call]["outputs"])


@pytest.mark.parametrize("call", SAMPLES)
def test_samplers_that_mxnet_writes_load_and_run(call):
    symbol = mx.sym.load_json(json.dumps(OF_MXNET[call]["graph"]))
    (found,), (own,) = values_of(mx, symbol), values_of(mx, made_by(mx, call))
    assert (found.dtype, found.shape) == (own.dtype, own.shape)


@pytest.mark.parametrize("call", CALLS)
def test_calls_give_what_mxnet_gives(call):
    check_outputs([listed(one) for one in values_of(mx, made_by(mx, call))], OF_MXNET[call]["outputs"])


@pytest.mark.parametrize("call", CALLS + SAMPLES)
def test_symbols_hold_the_operators_and_attributes_of_mxnet(call):
    ours = nodes_of(made_by(mx, call).tojson())
    if call in OTHER_OPERATORS:
        assert [op for op, _, _ in ours] == OTHER_OPERATORS[call]
        return
    theirs = nodes_of(json.dumps(OF_MXNET[call]["graph"]))
    assert [op for op, _, _ in ours] == [op for op, _, _ in theirs]
    assert [inputs for _, _, inputs in ours] == [inputs for _, _, inputs in theirs]
    for (op, attributes, _), (_, expected, _) in zip(ours, theirs):
        for key, text in attributes.items():
            if key not in OTHER_ATTRIBUTES.get(call, ()):
                assert key in expected and same_value(text, expected[key]), (op, key, text, expected)


LOADED_BY_MXNET = """
import json, os, sys
sys.path.insert(0, HERE)
import mxnet as mx
from np_graphs import listed, values_of
mx.npx.set_np()
print(json.dumps({call: [listed(one) for one in values_of(mx, mx.sym.load_json(text))]
                  for call, text in json.loads(GRAPHS).items()}))
sys.stdout.flush()
os._exit(0)
"""


def test_mxnet_runs_what_headrace_writes(mxnet_peer):
    symbols = {call: made_by(mx, call) for call in CALLS + SAMPLES}
    graphs = json.dumps({call: symbol.tojson() for call, symbol in symbols.items()})
    found = mxnet_peer(f"HERE = {str(HERE)!r}\nGRAPHS = {graphs!r}\n{LOADED_BY_MXNET}")
    for call, symbol in symbols.items():
        own = [listed(one) for one in values_of(mx, symbol)]
        if call in SAMPLES:
            assert [one[:2] for one in found[call]] == [one[:2] for one in own], call
        else:
            check_outputs(found[call], own)


def test_what_a_file_may_say_wrongly():
    def loaded(op, attributes, inputs=1):
        nodes = [{"op": "null", "name": f"x{k}", "inputs": []} for k in range(inputs)]
        nodes.append(
            {"op": op, "name": "y", "attrs": attributes, "inputs": [[k, 0, 0] for k in range(inputs)]}
        )
        graph = {"nodes": nodes, "arg_nodes": list(range(inputs)), "heads": [[inputs, 0, 0]]}
        return mx.sym.load_json(json.dumps(graph)).eval(
            **{f"x{k}": mx.np.ones((2, 3)) for k in range(inputs)}
        )

    with pytest.raises(ValueError, match="1 are None, but there are 0 inputs"):
        loaded("_npi_normal", {"loc": "None", "scale": "1"}, 0)
    with pytest.raises(ValueError, match="two extents"):
        loaded("_npi_identity", {"shape": "(3,)"}, 0)
    with pytest.raises(ValueError, match="a pair for each axis"):
        loaded("_npi_pad", {"pad_width": "((1, x), (0, 0))"})
    with pytest.raises(ValueError, match="weighted=False goes with 1 array"):
        loaded("_npi_average", {"axis": "0", "weighted": "False"}, 2)
    with pytest.raises(ValueError, match="q must lie"):
        loaded("_npi_percentile", {"q_scalar": "101"})
    with pytest.raises(IndexError, match="out of bounds"):
        loaded("_npi_delete", {"int_ind": "3", "axis": "1"})
