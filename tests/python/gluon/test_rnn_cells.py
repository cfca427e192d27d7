"""Cells: what one step and many steps compute, beside NumPy; names, shapes, errors."""

import numpy
import pytest

import headrace as hr
from headrace import autograd, gluon, nd
from headrace.gluon import rnn

STEPS, BATCH, INPUTS, HIDDEN = 4, 3, 5, 2


def sigmoid(x):
    return 1 / (1 + numpy.exp(-x))


def rnn_step(x, states, p):
    h = numpy.tanh(x @ p["i2h_weight"].T + p["i2h_bias"] + states[0] @ p["h2h_weight"].T + p["h2h_bias"])
    return h, [h]


def lstm_step(x, states, p):
    gates = x @ p["i2h_weight"].T + p["i2h_bias"] + states[0] @ p["h2h_weight"].T + p["h2h_bias"]
    i, f, g, o = numpy.split(gates, 4, axis=1)
    c = sigmoid(f) * states[1] + sigmoid(i) * numpy.tanh(g)
    h = sigmoid(o) * numpy.tanh(c)
    return h, [h, c]


def gru_step(x, states, p):
    xr, xz, xn = numpy.split(x @ p["i2h_weight"].T + p["i2h_bias"], 3, axis=1)
    hr_, hz, hn = numpy.split(states[0] @ p["h2h_weight"].T + p["h2h_bias"], 3, axis=1)
    z = sigmoid(xz + hz)
    h = (1 - z) * numpy.tanh(xn + sigmoid(xr + hr_) * hn) + z * states[0]
    return h, [h]


KINDS = {"RNNCell": (rnn_step, 1), "LSTMCell": (lstm_step, 2), "GRUCell": (gru_step, 1)}


def make(kind, **kwargs):
    cell = getattr(rnn, kind)(HIDDEN, **kwargs)
    cell.initialize(hr.init.Uniform(0.7))
    for name in ("i2h_bias", "h2h_bias"):
        getattr(cell, name).initialize(hr.init.Uniform(0.7), force_reinit=True)
    return cell


def parameters_of(cell):
    return {name: param.data().asnumpy() for name, param in cell._reg_params.items()}


def sequence(*shape, seed=0):
    return numpy.random.RandomState(seed).standard_normal(shape).astype("float32")


def walk(kind, cell, inputs, states):
    """Outputs and states of every step, by NumPy; inputs are (N, T, C)."""
    step, history, outputs = KINDS[kind][0], [], []
    parameters = parameters_of(cell)
    for t in range(inputs.shape[1]):
        out, states = step(inputs[:, t], states, parameters)
        outputs.append(out)
        history.append(states)
    return numpy.stack(outputs, 1), history


def zero_states(kind):
    return [numpy.zeros((BATCH, HIDDEN), "float32") for _ in range(KINDS[kind][1])]


def close(array, expected):
    numpy.testing.assert_allclose(array.asnumpy(), expected, rtol=2e-5, atol=2e-6)


@pytest.fixture(params=list(KINDS))
def kind(request):
    return request.param


@pytest.mark.parametrize("hybrid", [False, True])
def test_a_step_computes_the_formula(kind, hybrid, array):
    cell = make(kind)
    if hybrid:
        cell.hybridize()
    x = sequence(BATCH, INPUTS)
    states = [sequence(BATCH, HIDDEN, seed=i) for i in range(1, KINDS[kind][1] + 1)]
    out, new = cell(array(x), [array(one) for one in states])
    expected_out, expected = KINDS[kind][0](x, states, parameters_of(cell))
    close(out, expected_out)
    assert len(new) == len(expected)
    for one, other in zip(new, expected):
        close(one, other)
    assert type(out) is type(array(x)) and type(new[0]) is type(array(x))


@pytest.mark.parametrize("hybrid", [False, True])
@pytest.mark.parametrize("layout", ["NTC", "TNC"])
@pytest.mark.parametrize("merge", [None, True, False])
@pytest.mark.parametrize("given", ["one", "list"])
def test_unroll_walks_the_sequence(kind, hybrid, layout, merge, given, array):
    cell = make(kind)
    if hybrid:
        cell.hybridize()
    x = sequence(BATCH, STEPS, INPUTS)
    inputs = array(x if layout == "NTC" else x.swapaxes(0, 1))
    if given == "list":
        inputs = [array(x[:, t]) for t in range(STEPS)]
    outputs, states = cell.unroll(STEPS, inputs, layout=layout, merge_outputs=merge)
    expected, history = walk(kind, cell, x, zero_states(kind))
    if merge:
        close(outputs, expected if layout == "NTC" else expected.swapaxes(0, 1))
    else:
        assert isinstance(outputs, list) and len(outputs) == STEPS
        for t in range(STEPS):
            close(outputs[t], expected[:, t])
    for one, other in zip(states, history[-1]):
        close(one, other)


@pytest.mark.parametrize("layout", ["NTC", "TNC"])
@pytest.mark.parametrize("merge", [True, False])
def test_valid_length_masks_outputs_and_keeps_the_last_valid_states(kind, layout, merge, array):
    cell = make(kind)
    x = sequence(BATCH, STEPS, INPUTS)
    lengths = [2, 4, 1]
    outputs, states = cell.unroll(
        STEPS,
        array(x if layout == "NTC" else x.swapaxes(0, 1)),
        layout=layout,
        merge_outputs=merge,
        valid_length=array(numpy.array(lengths, "float32")),
    )
    expected, history = walk(kind, cell, x, zero_states(kind))
    for n, length in enumerate(lengths):
        expected[n, length:] = 0
    if merge:
        close(outputs, expected if layout == "NTC" else expected.swapaxes(0, 1))
    else:
        for t in range(STEPS):
            close(outputs[t], expected[:, t])
    for place, state in enumerate(states):
        close(state, numpy.stack([history[length - 1][place][n] for n, length in enumerate(lengths)]))


def test_begin_state_is_where_unroll_begins(kind):
    cell = make(kind)
    x = sequence(BATCH, STEPS, INPUTS)
    states = [sequence(BATCH, HIDDEN, seed=i) for i in range(1, KINDS[kind][1] + 1)]
    outputs, _ = cell.unroll(STEPS, nd.array(x), [nd.array(one) for one in states], merge_outputs=True)
    close(outputs, walk(kind, cell, x, states)[0])


def test_gradients_are_those_of_differences(kind):
    cell = make(kind, input_size=INPUTS)
    cell.cast("float64")
    x = nd.array(sequence(BATCH, 3, INPUTS), dtype="float64")
    x.attach_grad()
    weight = nd.array(sequence(BATCH, 3, HIDDEN, seed=9), dtype="float64")

    def loss():
        states = cell.begin_state(BATCH, dtype="float64")
        outputs, states = cell.unroll(3, x, states, merge_outputs=True)
        return (outputs * weight).sum() + sum((state * state).sum() for state in states)

    with autograd.record():
        value = loss()
    value.backward()
    variables = [(x, x.grad)] + [(p.data(), p.grad()) for p in cell.collect_params().values()]
    random = numpy.random.RandomState(3)
    for variable, gradient in variables:
        for _ in range(5):
            place = tuple(random.randint(0, extent) for extent in variable.shape)
            kept = variable[place].asscalar()
            around = []
            for change in (1e-5, -1e-5):
                variable[place] = kept + change
                around.append(loss().asscalar())
            variable[place] = kept
            assert (around[0] - around[1]) / 2e-5 == pytest.approx(
                gradient[place].asscalar(), rel=1e-5, abs=1e-8
            )


def test_shapes_of_parameters_follow_from_the_first_input(kind):
    cell = make(kind)
    rows = cell.i2h_weight.shape[0]
    assert cell.i2h_weight.shape == (rows, 0)
    cell.unroll(2, nd.zeros((BATCH, 2, INPUTS)))
    assert cell.i2h_weight.shape == (rows, INPUTS)
    assert cell.h2h_weight.shape == (rows, HIDDEN)


@pytest.mark.parametrize("hybrid", [False, True])
def test_hybridized_parents_trace_the_steps(kind, hybrid, array):
    class Reader(gluon.HybridBlock):
        def __init__(self):
            super().__init__()
            with self.name_scope():
                self.cell = getattr(rnn, kind)(HIDDEN)

        def hybrid_forward(self, F, x):
            outputs, states = self.cell.unroll(STEPS, x, merge_outputs=True)
            return outputs, states[-1]

    net = Reader()
    net.initialize(hr.init.Uniform(0.7))
    if hybrid:
        net.hybridize()
    x = sequence(BATCH, STEPS, INPUTS)
    outputs, last = net(array(x))
    expected, history = walk(kind, net.cell, x, zero_states(kind))
    close(outputs, expected)
    close(last, history[-1][-1])


def test_exported_cells_compute_the_same(tmp_path):
    cell = make("LSTMCell", prefix="lstm_")
    cell.hybridize()
    x, states = nd.array(sequence(BATCH, INPUTS)), [nd.ones((BATCH, HIDDEN)), nd.zeros((BATCH, HIDDEN))]
    out, new = cell(x, states)
    cell.export(str(tmp_path / "cell"))
    block = gluon.SymbolBlock.imports(
        str(tmp_path / "cell-symbol.json"), ["data0", "data1", "data2"], str(tmp_path / "cell-0000.params")
    )
    for one, other in zip(block(x, *states), [out, *new]):
        close(one, other.asnumpy())


def test_operators_of_a_symbol_are_named_by_step():
    cell = rnn.LSTMCell(HIDDEN, prefix="rnn_")
    outputs, states = cell.unroll(2, [hr.sym.var(f"t{t}") for t in range(2)])
    assert hr.sym.Group(outputs).list_outputs() == ["rnn_t0_out_output", "rnn_t1_out_output"]
    assert states[1].list_outputs() == ["rnn_t1_state_output"]
    assert sorted(cell.collect_params().keys()) == [
        f"rnn_{which}_{what}" for which in ("h2h", "i2h") for what in ("bias", "weight")
    ]
    _, shapes, _ = hr.sym.Group(outputs).infer_shape(t0=(7, INPUTS), t1=(7, INPUTS))
    assert shapes == [(7, HIDDEN)] * 2
    again, _ = cell.unroll(1, [hr.sym.var("t0")])
    assert again[0].list_outputs() == ["rnn_t0_out_output"]  # unroll starts to count anew


@pytest.mark.parametrize(
    ("layout", "shape"), [("NTC", (BATCH, STEPS, HIDDEN)), ("TNC", (STEPS, BATCH, HIDDEN))]
)
def test_symbols_are_split_and_merged_along_time(layout, shape):
    cell = rnn.GRUCell(HIDDEN)
    outputs, _ = cell.unroll(
        STEPS, hr.sym.var("x"), layout=layout, merge_outputs=True, valid_length=hr.sym.var("lengths")
    )
    data = (BATCH, STEPS, INPUTS) if layout == "NTC" else (STEPS, BATCH, INPUTS)
    assert outputs.infer_shape(x=data, lengths=(BATCH,))[1] == [shape]


def test_begin_state_uses_the_function_and_what_it_is_given():
    cell = rnn.LSTMCell(HIDDEN, prefix="rnn_")
    assert cell.state_info(3) == [{"shape": (3, HIDDEN), "__layout__": "NC"}] * 2
    ones = cell.begin_state(3, func=nd.ones, dtype="float64")
    assert [one.shape for one in ones] == [(3, HIDDEN)] * 2
    assert ones[0].dtype == numpy.float64 and (ones[0].asnumpy() == 1).all()
    variables = cell.begin_state(func=hr.sym.Variable)
    assert [one.name for one in variables] == ["rnn_begin_state_2", "rnn_begin_state_3"]
    assert variables[0].attr("__layout__") == "NC"
    cell.reset()
    assert cell.begin_state(func=hr.sym.zeros)[0].name == "rnn_begin_state_0"


def test_states_begin_in_the_mode_of_the_program(np_mode):
    assert isinstance(rnn.GRUCell(HIDDEN).begin_state(3)[0], hr.np.ndarray)
    assert isinstance(rnn.GRUCell(HIDDEN).begin_state(3, func=hr.np.ones)[0], hr.np.ndarray)


def test_activations_are_names_blocks_or_functions():
    x, h = sequence(BATCH, INPUTS), sequence(BATCH, HIDDEN, seed=1)
    functions = {
        "relu": lambda v: numpy.maximum(v, 0),
        "softsign": lambda v: v / (1 + abs(v)),
        "softrelu": lambda v: numpy.log1p(numpy.exp(v)),
        gluon.nn.LeakyReLU(0.3): lambda v: numpy.where(v > 0, v, 0.3 * v),
        gluon.nn.ELU(0.5): lambda v: numpy.where(v > 0, v, 0.5 * numpy.expm1(v)),
        (lambda v, name: nd.square(v, name=name)): lambda v: v * v,
    }
    for activation, expected in functions.items():
        cell = make("RNNCell", activation=activation, input_size=INPUTS)
        cell.reset()
        out, _ = cell(nd.array(x), [nd.array(h)])
        p = parameters_of(cell)
        total = x @ p["i2h_weight"].T + p["i2h_bias"] + h @ p["h2h_weight"].T + p["h2h_bias"]
        close(out, expected(total))


def test_lstm_takes_both_activations():
    cell = make("LSTMCell", activation="softsign", recurrent_activation="relu", input_size=INPUTS)
    x, h, c = sequence(BATCH, INPUTS), sequence(BATCH, HIDDEN, seed=1), sequence(BATCH, HIDDEN, seed=2)
    out, states = cell(nd.array(x), [nd.array(h), nd.array(c)])
    p = parameters_of(cell)
    gates = x @ p["i2h_weight"].T + p["i2h_bias"] + h @ p["h2h_weight"].T + p["h2h_bias"]
    i, f, g, o = numpy.split(gates, 4, axis=1)
    i, f, o, g = (*(numpy.maximum(one, 0) for one in (i, f, o)), g / (1 + abs(g)))
    memory = f * c + i * g
    close(states[1], memory)
    close(out, o * memory / (1 + abs(memory)))


def test_shared_parameters_are_one():
    first = rnn.LSTMCell(HIDDEN, prefix="a_")
    second = rnn.LSTMCell(HIDDEN, prefix="b_", params=first.params)
    assert second.i2h_weight is first.i2h_weight


def test_printed_forms():
    assert repr(rnn.RNNCell(3, input_size=2)) == "RNNCell(2 -> 3, tanh)"
    assert repr(rnn.LSTMCell(3)) == "LSTMCell(None -> 12)"
    assert repr(rnn.GRUCell(3, input_size=2)) == "GRUCell(2 -> 9)"


def test_a_cell_of_ones_own_unrolls():
    class Adder(rnn.HybridRecurrentCell):
        def state_info(self, batch_size=0):
            return [{"shape": (batch_size, INPUTS), "__layout__": "NC"}]

        def hybrid_forward(self, F, x, states):
            total = x + states[0]
            return total, [total]

    x = sequence(BATCH, STEPS, INPUTS)
    outputs, _ = Adder().unroll(STEPS, nd.array(x), merge_outputs=True)
    close(outputs, x.cumsum(axis=1))


def test_bad_input_is_named():
    cell = make("LSTMCell", input_size=INPUTS)
    x, state = nd.zeros((BATCH, INPUTS)), nd.zeros((BATCH, HIDDEN))
    with pytest.raises(ValueError, match=r"LSTMCell lstm\d+: expected a list of 2 states .* got 1 of them"):
        cell(x, [state])
    with pytest.raises(ValueError, match="expected a list of 2 states .* got NDArray"):
        cell(x, state)
    with pytest.raises(AssertionError, match="the inputs have 4 steps, but length is 3"):
        cell.unroll(3, nd.zeros((BATCH, 4, INPUTS)))
    with pytest.raises(AssertionError, match="the inputs have 1 steps, but length is 3"):
        cell.unroll(3, [x])
    with pytest.raises(AssertionError, match="expected inputs, got None"):
        cell.unroll(3, None)
    with pytest.raises(AssertionError, match="symbol of several outputs"):
        cell.unroll(2, hr.sym.split(hr.sym.var("x"), num_outputs=2))
    with pytest.raises(ValueError, match="expected a layout with T and N"):
        cell.unroll(3, nd.zeros((BATCH, 3, INPUTS)), layout="NCW")
    with pytest.raises(TypeError, match="unroll: expected inputs as an array, a symbol, or a list"):
        cell.unroll(1, [numpy.zeros((BATCH, INPUTS))])
    with pytest.raises(NotImplementedError, match="RecurrentCell has no state_info"):
        rnn.RecurrentCell().begin_state(1)
    with pytest.raises(NotImplementedError, match="HybridRecurrentCell has no hybrid_forward"):
        rnn.HybridRecurrentCell()(x, [])


def test_the_names_of_mxnets_modules():
    from headrace.gluon.rnn import rnn_cell

    assert rnn_cell.LSTMCell is rnn.LSTMCell
    steps, axis, F, batch = rnn_cell._format_sequence(2, nd.zeros((3, 2, 4)), "NTC", False)
    assert [one.shape for one in steps] == [(3, 4)] * 2
    assert (axis, F, batch) == (1, nd, 3)
    assert set(gluon.tensor_types) == {hr.sym.Symbol, nd.NDArray}


@pytest.mark.parametrize("layer", [rnn.LSTMCell(3), rnn.LSTM(3)])
def test_states_to_begin_with_are_drawn(layer):
    states = layer.begin_state(2, func=nd.random.uniform, low=1, high=1.5)
    assert len(states) == 2 and all((state.asnumpy() >= 1).all() for state in states)
