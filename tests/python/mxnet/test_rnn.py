"""`mx.rnn`: symbols of cells, weights gate by gate, sentences in buckets, checkpoints."""

import collections
import json
import random

import numpy
import pytest

import headrace as hr
from headrace import nd, sym
from headrace.gluon import rnn as gluon_rnn
from headrace.mxnet import rnn

STEPS, BATCH, INPUTS, HIDDEN = 3, 2, 5, 4


def values_for(symbol, seed=0, **shapes):
    """Random arrays for the arguments of a symbol; `shapes` are those of its data."""
    found, _, _ = symbol.infer_shape(**shapes)
    draw = numpy.random.RandomState(seed).standard_normal
    return {name: nd.array(draw(shape) * 0.5) for name, shape in zip(symbol.list_arguments(), found)}


def run(symbol, values):
    names = symbol.list_arguments()
    executor = symbol.bind(hr.cpu(), {name: values[name] for name in names}, grad_req="null")
    return [out.asnumpy() for out in executor.forward()]


def outputs_of(cell, values=None, **kwargs):
    """(outputs (N, T, C), the last states, values) of a cell unrolled over `x`."""
    outputs, states = cell.unroll(STEPS, sym.var("x"), merge_outputs=True, **kwargs)
    flat = [one for state in states for one in (state if isinstance(state, list) else [state])]
    group = sym.Group([outputs, *flat])
    values = values_for(group, x=(BATCH, STEPS, INPUTS)) if values is None else values
    outputs, *states = run(group, values)
    return outputs, states, values


CELLS = {
    "RNNCell": lambda module, prefix: module.RNNCell(HIDDEN, prefix=prefix),
    "LSTMCell": lambda module, prefix: module.LSTMCell(HIDDEN, prefix=prefix),
    "GRUCell": lambda module, prefix: module.GRUCell(HIDDEN, prefix=prefix),
}


def beside_gluon(cell, prefix, values):
    """Outputs and states of the Gluon cell of the same name with the same weights."""
    twin = CELLS[type(cell).__name__](gluon_rnn, prefix)
    twin.initialize()
    twin.unroll(1, nd.zeros((1, 1, INPUTS)))
    for name, param in twin.collect_params().items():
        param.set_data(values[name])
    outputs, states = twin.unroll(STEPS, values["x"], merge_outputs=True)
    return outputs.asnumpy(), [state.asnumpy() for state in states]


@pytest.mark.parametrize("kind", list(CELLS))
def test_cells_compute_what_gluons_do(kind):
    cell = CELLS[kind](rnn, "own_")
    outputs, states, values = outputs_of(cell)
    expected, expected_states = beside_gluon(cell, "own_", values)
    numpy.testing.assert_allclose(outputs, expected, rtol=1e-5, atol=1e-6)
    for one, other in zip(states, expected_states):
        numpy.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("kind", list(CELLS))
def test_weights_come_apart_by_gate_and_together(kind):
    cell = CELLS[kind](rnn, "own_")
    _, _, values = outputs_of(cell)
    apart = cell.unpack_weights(values)
    gates = {"RNNCell": [""], "LSTMCell": ["_i", "_f", "_c", "_o"], "GRUCell": ["_r", "_z", "_o"]}[kind]
    assert set(apart) == {"x"} | {
        f"own_{group}{gate}_{what}"
        for group in ("i2h", "h2h")
        for gate in gates
        for what in ("weight", "bias")
    }
    second = gates[-1]
    start = (len(gates) - 1) * HIDDEN
    numpy.testing.assert_array_equal(
        apart[f"own_i2h{second}_weight"].asnumpy(), values["own_i2h_weight"].asnumpy()[start:]
    )
    together = cell.pack_weights(apart)
    assert set(together) == set(values)
    for name, value in values.items():
        numpy.testing.assert_array_equal(together[name].asnumpy(), value.asnumpy())


def test_operators_and_variables_are_named_by_prefix_and_step():
    cell = rnn.LSTMCell(HIDDEN, prefix="lstm_")
    outputs, states = cell.unroll(2, [sym.var(f"t{t}") for t in range(2)])
    assert sym.Group(outputs).list_outputs() == ["lstm_t0_out_output", "lstm_t1_out_output"]
    assert sorted(cell.params._params) == [
        f"lstm_{which}_{what}" for which in ("h2h", "i2h") for what in ("bias", "weight")
    ]
    assert cell.state_shape == [(0, HIDDEN)] * 2
    shared = rnn.LSTMCell(HIDDEN, prefix="other_", params=cell.params)
    assert shared.params.get("i2h_weight").name == "lstm_i2h_weight"
    assert [one.name for one in cell.begin_state(func=sym.Variable)] == [
        "lstm_begin_state_2",
        "lstm_begin_state_3",
    ]


def test_the_forget_bias_begins_where_it_is_told():
    cell = rnn.LSTMCell(HIDDEN, forget_bias=2.5)
    bias = nd.zeros((4 * HIDDEN,))
    text = cell.params.get("i2h_bias").attr("__init__")
    hr.init.Uniform()(hr.init.InitDesc("lstm_i2h_bias", {"__init__": text}), bias)
    expected = numpy.repeat([0, 2.5, 0, 0], HIDDEN)
    numpy.testing.assert_array_equal(bias.asnumpy(), expected)


def test_a_stack_takes_the_variables_of_its_cells():
    stack = rnn.SequentialRNNCell()
    stack.add(rnn.LSTMCell(HIDDEN, prefix="a_"))
    stack.add(rnn.DropoutCell(0.3))
    stack.add(rnn.ResidualCell(rnn.GRUCell(HIDDEN, prefix="b_")))
    assert len(stack.params._params) == 8
    outputs, states, values = outputs_of(stack)
    assert outputs.shape == (BATCH, STEPS, HIDDEN) and len(states) == 3
    assert set(stack.pack_weights(stack.unpack_weights(values))) == set(values)
    out, new = stack(sym.var("x"), stack.begin_state())
    assert out.name.endswith("plus_residual") and len(new) == 3


def test_bidirectional_cells_read_both_ways():
    cell = rnn.BidirectionalCell(rnn.GRUCell(HIDDEN, prefix="l_"), rnn.LSTMCell(HIDDEN, prefix="r_"))
    outputs, states, values = outputs_of(cell)
    backward = dict(values, x=values["x"].flip(axis=1))
    there, there_states = beside_gluon(rnn.GRUCell(HIDDEN), "l_", values)
    back, back_states = beside_gluon(rnn.LSTMCell(HIDDEN), "r_", backward)
    expected = numpy.concatenate([there, back[:, ::-1]], axis=2)
    numpy.testing.assert_allclose(outputs, expected, rtol=1e-5, atol=1e-6)
    for one, other in zip(states, there_states + back_states):
        numpy.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)
    steps, _ = cell.unroll(STEPS, sym.var("x"), merge_outputs=False)
    assert sym.Group(steps).list_outputs() == [f"bi_t{t}_output" for t in range(STEPS)]
    numpy.testing.assert_allclose(
        numpy.stack(run(sym.Group(steps), values), axis=1), expected, rtol=1e-5, atol=1e-6
    )


def test_zoneout_changes_nothing_outside_training():
    base = rnn.RNNCell(HIDDEN)
    plain, _, values = outputs_of(base)
    outputs, _, _ = outputs_of(rnn.ZoneoutCell(base, 0.5, 0.5), values)
    numpy.testing.assert_array_equal(outputs, plain)


def test_what_has_no_steps_says_so():
    both = rnn.BidirectionalCell(rnn.GRUCell(2, prefix="l_"), rnn.GRUCell(2, prefix="r_"))
    stack = rnn.SequentialRNNCell()
    stack.add(both)
    for cell in (both, stack):
        with pytest.raises(AssertionError, match="reads in two directions has no steps"):
            rnn.ZoneoutCell(cell)
    with pytest.raises(NotImplementedError, match="BidirectionalCell cannot be stepped"):
        both(sym.var("x"), [])
    with pytest.raises(AssertionError, match="holds a BidirectionalCell"):
        stack(sym.var("x"), [])
    with pytest.raises(AssertionError, match="a FusedRNNCell has no steps"):
        rnn.ZoneoutCell(rnn.FusedRNNCell(2))
    with pytest.raises(NotImplementedError, match="FusedRNNCell cannot be stepped"):
        rnn.FusedRNNCell(2)(sym.var("x"), [])
    base = rnn.GRUCell(2)
    rnn.ResidualCell(base)
    with pytest.raises(AssertionError, match="is part of a modifier cell"):
        base.begin_state()
    with pytest.raises(AssertionError, match="the inputs have 1 steps, but length is 2"):
        rnn.GRUCell(2).unroll(2, [sym.var("x")])
    with pytest.raises(AssertionError, match="Either specify params for SequentialRNNCell or child cells"):
        rnn.SequentialRNNCell(params=rnn.RNNParams()).add(rnn.GRUCell(2, params=rnn.RNNParams()))


@pytest.mark.parametrize(("kind", "gates"), [("ConvRNNCell", 1), ("ConvLSTMCell", 4), ("ConvGRUCell", 3)])
def test_convolutional_cells(kind, gates):
    cell = getattr(rnn, kind)(
        (1, 3, 8, 6), 4, h2h_dilate=(2, 1), i2h_kernel=(3, 1), i2h_pad=(0, 0), prefix="c_"
    )
    assert cell.state_shape[0] == (0, 4, 6, 6)
    outputs, _ = cell.unroll(2, [sym.var("t0"), sym.var("t1")])
    group = sym.Group(outputs)
    assert group.list_outputs() == ["c_t0_out_output", "c_t1_out_output"]
    values = values_for(group, t0=(2, 3, 8, 6), t1=(2, 3, 8, 6))
    assert values["c_i2h_weight"].shape == (4 * gates, 3, 3, 1)
    assert [out.shape for out in run(group, values)] == [(2, 4, 6, 6)] * 2
    with pytest.raises(AssertionError, match="expected odd sizes of h2h_kernel"):
        getattr(rnn, kind)((1, 3, 8, 6), 4, h2h_kernel=(2, 3))


def fused(mode, layers, bidirectional, **kwargs):
    cell = rnn.FusedRNNCell(HIDDEN, layers, mode, bidirectional, prefix="f_", **kwargs)
    gates, sides = cell._num_gates, 2 if bidirectional else 1
    size = sides * gates * HIDDEN * (INPUTS + HIDDEN + 2)
    size += (layers - 1) * sides * gates * HIDDEN * (sides * HIDDEN + HIDDEN + 2)
    return cell, nd.array(numpy.random.RandomState(1).standard_normal(size) * 0.5)


@pytest.mark.parametrize("mode", ["rnn_relu", "rnn_tanh", "lstm", "gru"])
@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("bidirectional", [False, True])
def test_fused_parameters_are_weights_then_biases(mode, layers, bidirectional):
    cell, flat = fused(mode, layers, bidirectional)
    apart = cell.unpack_weights({"f_parameters": flat, "x": nd.zeros((1,))})
    sides = "lr" if bidirectional else "l"
    gates = cell._gate_names
    names = [f"f_{side}{layer}" for layer in range(layers) for side in sides]
    order = [
        f"{name}_{group}{gate}_{what}"
        for what in ("weight", "bias")
        for name in names
        for group in ("i2h", "h2h")
        for gate in gates
    ]
    assert [name for name in apart if name != "x"] == order
    joined = numpy.concatenate([apart[name].asnumpy().reshape(-1) for name in order])
    numpy.testing.assert_array_equal(joined, flat.asnumpy())
    together = cell.pack_weights(apart)
    assert set(together) == {"f_parameters", "x"}
    numpy.testing.assert_array_equal(together["f_parameters"].asnumpy(), flat.asnumpy())


def test_fused_parameters_of_another_size_are_refused():
    cell, flat = fused("lstm", 2, True)
    with pytest.raises(AssertionError, match="FusedRNNCell: expected .* parameters for inputs of size"):
        cell.unpack_weights({"f_parameters": flat[:-1]})
    with pytest.raises(ValueError, match="expected one of rnn_relu, .* as mode, got 'rnn'"):
        rnn.FusedRNNCell(2, mode="rnn")
    with pytest.raises(ValueError, match="expected the layout 'TNC' or 'NTC', got 'NCT'"):
        cell.unroll(2, sym.var("x"), layout="NCT")


def test_unfused_cells_have_the_fused_ones_names():
    cell, flat = fused("gru", 2, True, dropout=0.2)
    stack = cell.unfuse()
    outputs, _ = stack.unroll(STEPS, sym.var("x"))
    assert sym.Group(outputs).list_outputs() == [f"f_bi_l1_t{t}_output" for t in range(STEPS)]
    packed = stack.pack_weights(cell.unpack_weights({"f_parameters": flat}))
    assert set(packed) == set(stack.params._params)
    back = cell.pack_weights(stack.unpack_weights(packed))
    numpy.testing.assert_array_equal(back["f_parameters"].asnumpy(), flat.asnumpy())
    assert len(stack._cells) == 3


def test_fused_parameters_are_initialized_gate_by_gate():
    cell, flat = fused("lstm", 2, False, forget_bias=3.0)
    text = cell.params.get("parameters").attr("__init__")
    hr.init.One()(hr.init.InitDesc("f_parameters", {"__init__": text}), flat)
    apart = cell.unpack_weights({"f_parameters": flat})
    for name, value in apart.items():
        expected = 3 if name.endswith("_f_bias") else 1 if name.endswith("weight") else 0
        assert (value.asnumpy() == expected).all(), name
    own = hr.init.create(hr.init.FusedRNN(hr.init.Constant(2), HIDDEN, 2, "lstm").dumps())
    own(hr.init.InitDesc("f_parameters", {"__init__": own.dumps()}), flat)
    assert (cell.unpack_weights({"f_parameters": flat})["f_l1_h2h_o_weight"].asnumpy() == 2).all()


SENTENCES = [["a", "b", "c"], ["b", "d"], ["c", "a"], ["a"] * 9]


def test_words_become_numbers():
    coded, vocab = rnn.encode_sentences(SENTENCES[:3], invalid_label=0, invalid_key="<pad>", start_label=1)
    assert vocab == {"<pad>": 0, "a": 1, "b": 2, "c": 3, "d": 4}
    assert coded == [[1, 2, 3], [2, 4], [3, 1]]
    assert rnn.encode_sentences([["b"]], vocab) == ([[2]], vocab)
    with pytest.raises(AssertionError, match="unknown token z"):
        rnn.encode_sentences([["z"]], vocab)
    coded, vocab = rnn.encode_sentences([["a", "z"]], {"a": 1}, unknown_token="?", start_label=5)
    assert coded == [[1, 5]] and vocab == {"a": 1, "?": 5}
    assert rnn.encode_sentences([["a", "b"]], invalid_label=1, start_label=0)[0] == [[0, 2]]


@pytest.mark.parametrize("layout", ["NT", "TN"])
def test_sentences_of_about_one_length_make_a_batch(layout, capsys):
    random.seed(1)
    numpy.random.seed(1)
    sentences = [[1, 2], [3, 4], [5, 6, 7], [8, 9, 1, 2], [1] * 9]
    batches = rnn.BucketSentenceIter(sentences, 2, buckets=[4, 2], invalid_label=0, layout=layout)
    assert capsys.readouterr().out == "WARNING: discarded 1 sentences longer than the largest bucket.\n"
    assert batches.default_bucket_key == 4
    assert batches.provide_data[0].shape == ((2, 4) if layout == "NT" else (4, 2))
    seen = {}
    for batch in batches:
        data, label = batch.data[0].asnumpy(), batch.label[0].asnumpy()
        assert batch.provide_data[0].shape == data.shape
        if layout == "TN":
            data, label = data.T, label.T
        numpy.testing.assert_array_equal(label[:, :-1], data[:, 1:])
        assert (label[:, -1] == 0).all()
        seen[batch.bucket_key] = sorted(map(tuple, data.tolist()))
    assert seen == {2: [(1, 2), (3, 4)], 4: [(5, 6, 7, 0), (8, 9, 1, 2)]}
    batches.reset()
    assert len(list(batches)) == 2


def test_a_batch_holds_a_sentence_at_least():
    with pytest.raises(ValueError, match="BucketSentenceIter: batch_size must be at least 1, got 0"):
        rnn.BucketSentenceIter([[1, 2]], 0, buckets=[2])


def test_sentences_that_fit_nowhere_are_refused():
    with pytest.raises(ValueError, match="expected the layout 'NT' or 'TN', got 'TNC'"):
        rnn.BucketSentenceIter([[1, 2]], 1, layout="TNC")
    with pytest.raises(ValueError, match="none of 1 sentences is in a bucket"):
        rnn.BucketSentenceIter([[1, 2, 3]], 1, buckets=[2])


def test_checkpoints_hold_the_gates(tmp_path):
    cell = rnn.LSTMCell(HIDDEN)
    outputs, _, values = outputs_of(cell)
    symbol, _ = cell.unroll(STEPS, sym.var("x"), merge_outputs=True)
    parameters = {name: value for name, value in values.items() if name != "x"}
    prefix = str(tmp_path / "lm")
    rnn.do_rnn_checkpoint(cell, prefix, period=2)(1, symbol, parameters, {})
    assert "lstm_i2h_f_bias" in hr.model.load_checkpoint(prefix, 2)[1]
    loaded, again, _ = rnn.load_rnn_checkpoint([cell], prefix, 2)
    assert set(again) == set(parameters)
    numpy.testing.assert_array_equal(run(loaded, {**again, "x": values["x"]})[0], outputs)
    rnn.do_rnn_checkpoint(cell, str(tmp_path / "none"), period=2)(0, symbol, parameters, {})
    assert not list(tmp_path.glob("none*"))


def test_the_old_name_of_unroll():
    with pytest.warns(UserWarning, match="rnn_unroll is deprecated"):
        outputs, _ = rnn.rnn_unroll(rnn.RNNCell(HIDDEN), 2, input_prefix="in_")
    assert {"in_t0_data", "in_t1_data"} < set(sym.Group(outputs).list_arguments())


@pytest.mark.parametrize(
    ("cell", "operators", "names"),
    [
        (
            rnn.LSTMCell(2, prefix="l_"),
            ["elemwise_mul", "elemwise_mul", "elemwise_add", "Activation", "elemwise_mul"],
            {
                "l_t0_i2h",
                "l_t0_h2h",
                "l_t0_slice",
                "l_t0_i",
                "l_t0_f",
                "l_t0_c",
                "l_t0_o",
                "l_t0_state",
                "l_t0_out",
            },
        ),
        (
            rnn.GRUCell(2, prefix="g_"),
            ["_rminus_scalar", "elemwise_mul", "elemwise_mul", "elemwise_add"],
            {f"g_t0__{name}" for name in ("i2h", "h2h", "i2h_slice", "h2h_slice", "r_act", "z_act", "h_act")}
            | {"g_t0_out"},
        ),
    ],
)
def test_nodes_of_a_step_are_called_as_in_mxnet(cell, operators, names):
    output, _ = cell(sym.var("x"), cell.begin_state())
    nodes = [node for node in json.loads(output.tojson())["nodes"] if node["op"] not in ("null", "_zeros")]
    own = {node["name"] for node in nodes if node["name"].startswith(cell._prefix)}
    assert own == names
    unnamed = [node["op"] for node in nodes if not node["name"].startswith(cell._prefix)]
    assert collections.Counter(operators) <= collections.Counter(node["op"] for node in nodes)
    assert "ones_like" not in unnamed
