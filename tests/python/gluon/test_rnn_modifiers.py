"""Stacked, bidirectional and modified cells, beside the cells that they are made of."""

import numpy
import pytest

import headrace as hr
from headrace import autograd, nd
from headrace.gluon import rnn

STEPS, BATCH, SIZE = 4, 3, 2
LENGTHS = [2, 4, 1]


def sequence(*shape, seed=0):
    return numpy.random.RandomState(seed).standard_normal(shape).astype("float32")


X = sequence(BATCH, STEPS, SIZE)


def initialized(cell):
    cell.initialize(hr.init.Uniform(0.7))
    return cell


def close(array, expected):
    numpy.testing.assert_allclose(array.asnumpy(), expected, rtol=2e-5, atol=2e-6)


def unrolled(cell, x, array, **kwargs):
    outputs, states = cell.unroll(x.shape[1], array(x), merge_outputs=True, **kwargs)
    return outputs.asnumpy(), [state.asnumpy() for state in states]


@pytest.mark.parametrize("stack_class", ["SequentialRNNCell", "HybridSequentialRNNCell"])
@pytest.mark.parametrize("lengths", [None, LENGTHS])
def test_a_stack_feeds_each_cell_with_the_one_before(stack_class, lengths, array):
    stack = getattr(rnn, stack_class)()
    cells = [rnn.LSTMCell(SIZE), rnn.DropoutCell(0.5), rnn.GRUCell(3)]
    for cell in cells:
        stack.add(cell)
    initialized(stack)
    kwargs = {} if lengths is None else {"valid_length": array(numpy.array(lengths, "float32"))}
    outputs, states = unrolled(stack, X, array, **kwargs)
    first, first_states = unrolled(cells[0], X, array, **kwargs)
    second, second_states = unrolled(cells[2], first, array, **kwargs)
    numpy.testing.assert_array_equal(outputs, second)
    assert len(states) == 3 and len(stack) == 3 and stack[2] is cells[2]
    for one, other in zip(states, first_states + second_states):
        numpy.testing.assert_array_equal(one, other)


def test_steps_of_a_stack_are_those_of_unroll(array):
    stack = rnn.HybridSequentialRNNCell()
    stack.add(rnn.LSTMCell(SIZE))
    stack.add(rnn.ResidualCell(rnn.GRUCell(SIZE)))
    initialized(stack)
    states = stack.begin_state(BATCH)
    assert [state.shape for state in states] == [(BATCH, SIZE)] * 3
    expected, last = unrolled(stack, X, array)
    for t in range(STEPS):
        out, states = stack(array(X[:, t]), states)
        close(out, expected[:, t])
    for one, other in zip(states, last):
        close(one, other)


@pytest.mark.parametrize("hybrid", [False, True])
@pytest.mark.parametrize("layout", ["NTC", "TNC"])
@pytest.mark.parametrize("merge", [True, False, None])
@pytest.mark.parametrize("lengths", [None, LENGTHS])
def test_bidirectional_cells_read_both_ways(hybrid, layout, merge, lengths, array):
    forward, backward = initialized(rnn.LSTMCell(SIZE)), initialized(rnn.GRUCell(3))
    cell = rnn.BidirectionalCell(forward, backward)
    if hybrid:
        cell.hybridize()
    kwargs = {} if lengths is None else {"valid_length": array(numpy.array(lengths, "float32"))}
    x = array(X if layout == "NTC" else X.swapaxes(0, 1))
    outputs, states = cell.unroll(STEPS, x, layout=layout, merge_outputs=merge, **kwargs)
    if isinstance(outputs, list):
        outputs = numpy.stack([one.asnumpy() for one in outputs], axis=layout.index("T"))
    else:
        outputs = outputs.asnumpy()
    outputs = outputs if layout == "NTC" else outputs.swapaxes(0, 1)
    for n, length in enumerate(lengths or [STEPS] * BATCH):
        there, there_states = unrolled(forward, X[n : n + 1, :length], array)
        back, back_states = unrolled(backward, X[n : n + 1, :length][:, ::-1].copy(), array)
        expected = numpy.concatenate([there, back[:, ::-1]], axis=2)[0]
        numpy.testing.assert_allclose(outputs[n, :length], expected, rtol=2e-5, atol=2e-6)
        assert (outputs[n, length:] == 0).all()
        for state, one in zip(states, there_states + back_states):
            close(state[n : n + 1], one)


def test_operators_that_join_are_named():
    cell = rnn.BidirectionalCell(
        rnn.LSTMCell(4, prefix="l_"), rnn.LSTMCell(4, prefix="r_"), output_prefix="rnn_bi_"
    )
    outputs, _ = cell.unroll(2, hr.sym.var("x"), merge_outputs=False)
    assert hr.sym.Group(outputs).list_outputs() == ["rnn_bi_t0_output", "rnn_bi_t1_output"]
    merged, _ = cell.unroll(2, hr.sym.var("x"), merge_outputs=True)
    assert merged.list_outputs() == ["rnn_bi_out_output"]


@pytest.mark.parametrize("merge", [True, False])
@pytest.mark.parametrize("lengths", [None, LENGTHS])
def test_residual_cells_add_the_input(merge, lengths, array):
    base = initialized(rnn.GRUCell(SIZE))
    kwargs = {} if lengths is None else {"valid_length": array(numpy.array(lengths, "float32"))}
    plain, _ = unrolled(base, X, array, **kwargs)
    x = X.copy()
    for n, length in enumerate(lengths or []):
        x[n, length:] = 0
    cell = rnn.ResidualCell(base)
    outputs, _ = cell.unroll(STEPS, array(X), merge_outputs=merge, **kwargs)
    for t in range(STEPS):
        close(outputs[:, t] if merge else outputs[t], (plain + x)[:, t])
    out, _ = cell(array(X[:, 0]), cell.begin_state(BATCH))
    close(out, unrolled_step(base, array) + X[:, 0])


def unrolled_step(base, array):
    base._modified = False
    out = unrolled(base, X[:, :1], array)[0][:, 0]
    base._modified = True
    return out


@pytest.mark.parametrize("hybrid", [False, True])
def test_zoneout_keeps_elements_of_the_step_before(hybrid, array):
    hr.random.seed(3)
    base = initialized(rnn.RNNCell(64))
    cell = rnn.ZoneoutCell(base, zoneout_outputs=0.5, zoneout_states=0.25)
    if hybrid:
        base.hybridize()
    x, before = sequence(BATCH, SIZE), sequence(BATCH, 64, seed=1)
    new, _ = base(array(x), [array(before)])
    new = new.asnumpy()
    with autograd.record():
        out, (state,) = cell(array(x), [array(before)])
    out, state = out.asnumpy(), state.asnumpy()
    assert ((out == new) | (out == 0)).all()  # the output before the first step is zeros
    assert 0.3 < (out == 0).mean() < 0.7
    assert ((state == new) | (state == before)).all()
    assert 0.1 < (state == before).mean() < 0.4
    with autograd.record():
        second, _ = cell(array(x), [array(before)])
    assert ((second.asnumpy() == new) | (second.asnumpy() == out)).all()
    cell.reset()
    out, _ = cell(array(x), [array(before)])  # outside training nothing is kept
    close(out, new)


def test_dropout_cells_drop_inputs_in_training(array):
    hr.random.seed(3)
    cell = rnn.DropoutCell(0.4)
    ones = array(numpy.ones((BATCH, 50, SIZE), "float32"))
    assert cell.state_info() == [] and cell.begin_state(BATCH) == []
    with autograd.record():
        outputs, states = cell.unroll(50, ones, merge_outputs=True)
    dropped = outputs.asnumpy()
    assert states == [] and 0.25 < (dropped == 0).mean() < 0.55
    numpy.testing.assert_allclose(dropped[dropped != 0], 1 / 0.6, rtol=1e-6)
    outputs, _ = cell.unroll(50, ones, merge_outputs=False)
    assert len(outputs) == 50
    close(outputs[0], numpy.ones((BATCH, SIZE)))
    with autograd.record():
        shared, _ = rnn.DropoutCell(0.4, axes=(1,)).unroll(50, ones, merge_outputs=True)
    assert (shared.asnumpy() == shared.asnumpy()[:, :1]).all()


def test_modified_cells_have_the_parameters_of_their_base():
    base = rnn.LSTMCell(SIZE, prefix="base_")
    cell = rnn.ZoneoutCell(base, 0.1)
    assert cell.prefix == "base_zoneout" and cell.params is base.params
    assert list(cell.collect_params().keys()) == list(base.collect_params().keys())
    assert cell.state_info(2) == base.state_info(2)
    assert isinstance(cell.begin_state(2)[0], nd.NDArray)


def test_what_cannot_be_modified_or_stepped_says_so():
    base = rnn.LSTMCell(SIZE)
    rnn.ResidualCell(base)
    with pytest.raises(AssertionError, match="One cell cannot be modified twice"):
        rnn.ZoneoutCell(base)
    with pytest.raises(AssertionError, match="is part of a modifier cell"):
        base.begin_state(1)
    both = rnn.BidirectionalCell(rnn.LSTMCell(SIZE), rnn.LSTMCell(SIZE))
    with pytest.raises(NotImplementedError, match="BidirectionalCell cannot be stepped"):
        both(nd.zeros((1, SIZE)), both.begin_state(1))
    with pytest.raises(AssertionError, match="reads in two directions and has no steps for zoneout"):
        rnn.ZoneoutCell(both)
    stack = rnn.SequentialRNNCell()
    stack.add(both)
    with pytest.raises(AssertionError, match="holds a BidirectionalCell, which cannot be stepped"):
        stack(nd.zeros((1, SIZE)), stack.begin_state(1))
    with pytest.raises(AssertionError, match="reads in two directions"):
        rnn.ZoneoutCell(stack)
    with pytest.raises(AssertionError, match="rate must be a number, got 'half'"):
        rnn.DropoutCell("half")
    with pytest.raises(ValueError, match="Children of HybridBlock must also be HybridBlock"):
        rnn.HybridSequentialRNNCell().add(rnn.SequentialRNNCell())


def test_an_error_inside_leaves_the_base_cell_modified():
    base = rnn.GRUCell(SIZE)
    cell = rnn.ResidualCell(base)
    with pytest.raises(AssertionError, match="length is 2"):
        cell.unroll(2, nd.zeros((1, 3, SIZE)))
    assert base._modified


def test_printed_forms():
    stack = rnn.SequentialRNNCell()
    stack.add(rnn.ZoneoutCell(rnn.RNNCell(3), 0.1, 0.2))
    stack.add(rnn.DropoutCell(0.5))
    assert repr(stack) == (
        "SequentialRNNCell(\n(0): ZoneoutCell(p_out=0.1, p_state=0.2, RNNCell(None -> 3, tanh))\n"
        "(1): DropoutCell(rate=0.5, axes=())\n)"
    )
    both = rnn.BidirectionalCell(rnn.GRUCell(1), rnn.ResidualCell(rnn.GRUCell(1)))
    assert repr(both) == (
        "BidirectionalCell(forward=GRUCell(None -> 3), backward=ResidualCell(GRUCell(None -> 3)))"
    )
