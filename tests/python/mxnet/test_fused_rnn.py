"""FusedRNNCell computes what the cells of unfuse() do with the same parameters."""

import numpy
import pytest

import headrace as hr
from headrace import nd, sym
from headrace.mxnet import rnn

STEPS, BATCH, INPUTS, HIDDEN = 3, 2, 5, 4


def run(outputs, states, values):
    flat = [one for state in states for one in (state if isinstance(state, list) else [state])]
    group = sym.Group([outputs, *flat])
    values = {name: values[name] for name in group.list_arguments()}
    return [out.asnumpy() for out in group.bind(hr.cpu(), values, grad_req="null").forward()]


@pytest.mark.filterwarnings("ignore:FusedRNNCell")
@pytest.mark.parametrize("mode", ["rnn_relu", "rnn_tanh", "lstm", "gru"])
@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("layout", ["TNC", "NTC"])
def test_fused_and_unfused_cells_agree(mode, layers, bidirectional, layout):
    cell = rnn.FusedRNNCell(HIDDEN, layers, mode, bidirectional, get_next_state=True, prefix="f_")
    stack = cell.unfuse()
    shape = (STEPS, BATCH, INPUTS) if layout == "TNC" else (BATCH, STEPS, INPUTS)
    outputs, states = cell.unroll(STEPS, sym.var("x"), layout=layout, merge_outputs=True)
    shapes, _, _ = outputs.infer_shape(x=shape)
    size = dict(zip(outputs.list_arguments(), shapes))["f_parameters"]
    random = numpy.random.RandomState(0)
    values = {
        "x": nd.array(random.standard_normal(shape)),
        "f_parameters": nd.array(random.standard_normal(size) / 2),
    }
    apart = stack.pack_weights(cell.unpack_weights(values))
    fused, *fused_states = run(outputs, states, values)
    plain, *plain_states = run(*stack.unroll(STEPS, sym.var("x"), layout=layout, merge_outputs=True), apart)
    numpy.testing.assert_allclose(fused, plain, rtol=1e-4, atol=1e-5)
    count = len(fused_states)
    for place, state in enumerate(fused_states):
        numpy.testing.assert_allclose(state, numpy.stack(plain_states[place::count]), rtol=1e-4, atol=1e-5)


def test_states_come_when_they_are_asked_for():
    outputs, states = rnn.FusedRNNCell(HIDDEN).unroll(STEPS, sym.var("x"), layout="TNC", merge_outputs=True)
    assert states == [] and len(outputs) == 1
    with pytest.warns(UserWarning, match="TNC is faster"):
        steps, _ = rnn.FusedRNNCell(HIDDEN).unroll(STEPS, sym.var("x"), merge_outputs=False)
    assert len(steps) == STEPS
    stack = rnn.SequentialRNNCell()
    stack.add(rnn.FusedRNNCell(HIDDEN, prefix="a_"))
    stack.add(rnn.ResidualCell(rnn.FusedRNNCell(HIDDEN, prefix="b_")))
    outputs, _ = stack.unroll(STEPS, sym.var("x"), layout="TNC", merge_outputs=True)
    assert outputs.infer_shape(x=(STEPS, BATCH, INPUTS))[1] == [(STEPS, BATCH, HIDDEN)]
