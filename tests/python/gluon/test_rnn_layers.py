"""Layers compute what stacks of cells with the same parameters do, and what MXNet's do."""

import json
import re

import numpy
import pytest
import recorded

import headrace as hr
from headrace import autograd, gluon, nd, np, npx
from headrace.gluon import nn, rnn
from headrace.gluon.contrib import rnn as contrib

STEPS, BATCH, INPUTS, HIDDEN = 4, 3, 5, 2

LAYERS = {
    "rnn_relu": lambda **kwargs: rnn.RNN(HIDDEN, **kwargs),
    "rnn_tanh": lambda **kwargs: rnn.RNN(HIDDEN, activation="tanh", **kwargs),
    "lstm": lambda **kwargs: rnn.LSTM(HIDDEN, **kwargs),
    "gru": lambda **kwargs: rnn.GRU(HIDDEN, **kwargs),
}


@pytest.fixture(params=list(LAYERS))
def mode(request):
    return request.param


def sequence(*shape, seed=0):
    return numpy.random.RandomState(seed).standard_normal(shape).astype("float32")


def close(array, expected, **kwargs):
    numpy.testing.assert_allclose(array.asnumpy(), expected.asnumpy(), rtol=2e-5, atol=2e-6, **kwargs)


def initialized(layer):
    layer.initialize(hr.init.Uniform(0.7))
    for name, param in layer._reg_params.items():
        if name.endswith("bias"):
            param.initialize(hr.init.Uniform(0.7), force_reinit=True)
    return layer


def for_cells(states, layers, sides):
    """A layer's states as the list that its unfused cells have."""
    return [state[place] for place in range(layers * sides) for state in states]


def for_layer(states, count):
    """The states of cells as the layer has them; `count` is the number of states of a cell."""
    stack = np.stack if isinstance(states[0], np.ndarray) else lambda rows: nd.stack(*rows)
    return [stack(states[place::count]) for place in range(count)]


@pytest.mark.parametrize("hybrid", [False, True])
@pytest.mark.parametrize("layout", ["TNC", "NTC"])
@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("bidirectional", [False, True])
def test_layers_are_stacks_of_cells(mode, hybrid, layout, layers, bidirectional, array):
    kwargs = {"num_layers": layers, "bidirectional": bidirectional, "layout": layout}
    layer = initialized(LAYERS[mode](input_size=INPUTS, **kwargs))
    stack = layer._unfuse()
    if hybrid:
        layer.hybridize()
    x = array(sequence(*((STEPS, BATCH) if layout == "TNC" else (BATCH, STEPS)), INPUTS))
    count, sides = len(layer.state_info()), 2 if bidirectional else 1
    states = [array(sequence(layers * sides, BATCH, HIDDEN, seed=i + 1)) for i in range(count)]
    x.attach_grad()
    results = []
    for unroll in (
        lambda: layer(x, states),
        lambda: stack.unroll(STEPS, x, for_cells(states, layers, sides), layout, merge_outputs=True),
    ):
        for param in layer.collect_params().values():
            param.zero_grad()
        with autograd.record():
            outputs, last = unroll()
            loss = (outputs * outputs).sum() + sum((state * state).sum() for state in last)
        loss.backward()
        grads = [param.grad().copy() for param in layer.collect_params().values()]
        results.append((outputs, last, x.grad.copy(), grads))
    (outputs, last, x_grad, grads), (cell_outputs, cell_last, cell_x_grad, cell_grads) = results
    assert type(outputs) is type(x) and outputs.shape == (*x.shape[:2], HIDDEN * sides)
    close(outputs, cell_outputs)
    for one, other in zip(last, for_layer(cell_last, count), strict=True):
        close(one, other)
    close(x_grad, cell_x_grad)
    for name, one, other in zip(layer.collect_params().keys(), grads, cell_grads, strict=True):
        close(one, other, err_msg=name)


@pytest.mark.parametrize("hybrid", [False, True])
def test_states_are_given_back_when_they_are_given(mode, hybrid, array):
    layer = initialized(LAYERS[mode]())
    if hybrid:
        layer.hybridize()
    x = array(sequence(STEPS, BATCH, INPUTS))
    alone = layer(x)
    assert alone.shape == (STEPS, BATCH, HIDDEN)
    outputs, states = layer(x, layer.begin_state(BATCH))
    close(outputs, alone)
    assert [state.shape for state in states] == [(1, BATCH, HIDDEN)] * len(layer.state_info())
    close(states[0][0], outputs[STEPS - 1])
    close(layer(x), alone)
    if len(states) == 1:
        close(layer(x, layer.begin_state(BATCH)[0])[0], alone)


@pytest.mark.parametrize("hybrid", [False, True])
def test_shapes_follow_from_the_first_input(mode, hybrid, array):
    net = nn.HybridSequential()
    # In a compiled network the size of all parameters together is known, which is enough for one unknown.
    net.add(LAYERS[mode](num_layers=2, bidirectional=not hybrid), nn.Dense(3, flatten=False))
    net.initialize()
    if hybrid:
        net.hybridize()
    assert net(array(sequence(STEPS, BATCH, INPUTS))).shape == (STEPS, BATCH, 3)
    rows = net[0].l0_i2h_weight.shape[0]
    assert net[0].l0_i2h_weight.shape == (rows, INPUTS)
    assert hybrid or net[0].r0_i2h_weight.shape == (rows, INPUTS)
    assert net[0].l1_i2h_weight.shape == (rows, HIDDEN if hybrid else 2 * HIDDEN)


@pytest.mark.parametrize("size", [3, HIDDEN])
def test_projections_are_those_of_the_cell(array, size):
    layer = initialized(rnn.LSTM(HIDDEN, projection_size=size, num_layers=2))
    cells = [contrib.LSTMPCell(HIDDEN, size), contrib.LSTMPCell(HIDDEN, size)]
    x = array(sequence(STEPS, BATCH, INPUTS))
    outputs, states = layer(x, layer.begin_state(BATCH))
    expected, last = x, []
    for place, cell in enumerate(cells):
        cell.initialize()
        cell(expected[0], cell.begin_state(BATCH))
        for name, param in cell._reg_params.items():
            param.set_data(getattr(layer, f"l{place}_{name}").data())
        expected, own = cell.unroll(STEPS, expected, layout="TNC", merge_outputs=True)
        last += own
    close(outputs, expected)
    for one, other in zip(states, for_layer(last, 2), strict=True):
        close(one, other)
    assert [info["shape"] for info in layer.state_info(7)] == [(2, 7, size), (2, 7, HIDDEN)]


def test_memories_are_kept_in_bounds(array):
    layer = initialized(rnn.LSTM(HIDDEN, input_size=INPUTS, state_clip_min=-0.1, state_clip_max=0.05))
    x = array(sequence(1, BATCH, INPUTS))
    big = [array(numpy.zeros((1, BATCH, HIDDEN), "float32")), array(sequence(1, BATCH, HIDDEN) * 9)]
    _, (_, memory) = layer(x, big)
    values = memory.asnumpy()
    assert values.min() == numpy.float32(-0.1) and values.max() == numpy.float32(0.05)


@pytest.mark.parametrize("bidirectional", [False, True])
def test_sequences_may_end_early(mode, bidirectional, array):
    layer = initialized(
        LAYERS[mode](input_size=INPUTS, bidirectional=bidirectional, use_sequence_length=True)
    )
    stack = layer._unfuse()
    x = array(sequence(STEPS, BATCH, INPUTS))
    lengths = array(numpy.array([2, 4, 1], "float32"))
    outputs, states = layer(x, layer.begin_state(BATCH), lengths)
    expected, last = stack.unroll(STEPS, x, layout="TNC", merge_outputs=True, valid_length=lengths)
    close(outputs, expected)
    for one, other in zip(states, for_layer(last, len(states)), strict=True):
        close(one, other)
    close(layer(x, None, lengths), expected)


def test_dropout_lies_between_layers(array):
    hr.random.seed(2)
    layer = initialized(rnn.LSTM(64, num_layers=2, dropout=0.5, input_size=INPUTS))
    x = array(sequence(STEPS, BATCH, INPUTS))
    close(layer(x), layer(x))
    with autograd.record():
        first, (hidden, _) = layer(x, layer.begin_state(BATCH))
        second, (other, _) = layer(x, layer.begin_state(BATCH))
    assert (first.asnumpy() != second.asnumpy()).mean() > 0.9
    close(hidden[0], other[0])  # nothing is dropped before the first layer


def test_layers_in_double_precision(mode, array):
    layer = initialized(LAYERS[mode](input_size=INPUTS))
    single = layer(array(sequence(STEPS, BATCH, INPUTS)))
    layer.cast("float64")
    double = layer(array(sequence(STEPS, BATCH, INPUTS).astype("float64")).astype("float64"))
    assert double.dtype == numpy.float64
    close(double.astype("float32"), single)


def test_parameters_states_and_printed_forms():
    layer = rnn.LSTM(3, num_layers=2, bidirectional=True, dropout=0.2, input_size=4, prefix="net_")
    parameters = {param.name: param.shape for param in layer.collect_params().values()}
    assert list(parameters)[:5] == [
        *("net_l0_i2h_weight", "net_l0_h2h_weight", "net_l0_i2h_bias", "net_l0_h2h_bias"),
        "net_r0_i2h_weight",
    ]
    assert parameters["net_l0_i2h_weight"] == (12, 4) and parameters["net_r1_i2h_weight"] == (12, 6)
    assert repr(layer) == "LSTM(4 -> 3, TNC, num_layers=2, dropout=0.2, bidirectional)"
    assert repr(rnn.GRU(3, layout="NTC")) == "GRU(None -> 3, NTC)"
    paths = layer._collect_params_with_prefix()
    assert paths["_unfused.1.r_cell.h2h_bias"] is layer.r1_h2h_bias
    assert "_unfused.0.i2h_weight" in rnn.GRU(3)._collect_params_with_prefix()
    assert "a._unfused.11.i2h_weight" in rnn.RNN(3, num_layers=12)._collect_params_with_prefix("a")
    info = layer.state_info(7)
    assert info == [{"shape": (4, 7, 3), "__layout__": "LNC", "dtype": "float32"}] * 2
    assert [one.name for one in layer.begin_state(func=hr.sym.var)] == ["net_h0_0", "net_h0_1"]
    assert (layer.begin_state(2, func=nd.ones)[1].asnumpy() == 1).all()


@pytest.mark.parametrize("size", [0, -1, 2**31, 2.5, (2, 3), None])
def test_sizes_that_no_layer_can_have_are_refused(size):
    with pytest.raises(ValueError, match="GRU: hidden_size must be an integer from 1 to 2147483647"):
        rnn.GRU(size)
    with pytest.raises(ValueError, match="LSTM: num_layers must be an integer from 1 to 16384"):
        rnn.LSTM(2, num_layers=size)


@pytest.mark.parametrize("hybrid", [False, True])
@pytest.mark.parametrize("shape", [(3, 4), (2, 3, 4, 5)])
def test_an_input_of_other_axes_is_named(shape, hybrid):
    layer = rnn.LSTM(2, layout="NTC", prefix="lstm_")
    layer.initialize()
    if hybrid:
        layer.hybridize()
    wanted = re.escape("LSTM lstm: expected an input of three axes, NTC (T: steps, N: sequences")
    with pytest.raises(ValueError, match=rf"{wanted}.* got shape {re.escape(str(shape))}"):
        layer(nd.ones(shape))


def test_bad_input_is_named():
    with pytest.raises(AssertionError, match=r"Invalid layout NCT; must be one of \['TNC' or 'NTC'\]"):
        rnn.GRU(2, layout="NCT")
    with pytest.raises(ValueError, match="RNN: expected the activation 'relu' or 'tanh', got 'sigmoid'"):
        rnn.RNN(2, activation="sigmoid")
    layer = initialized(rnn.LSTM(HIDDEN, input_size=INPUTS))
    x = nd.zeros((STEPS, BATCH, INPUTS))
    with pytest.raises(ValueError, match=r"Invalid recurrent state shape. Expecting .*\(1, 3, 2\)"):
        layer(x, layer.begin_state(BATCH + 1))
    with pytest.raises(ValueError, match="Invalid recurrent state shape"):
        layer(x, layer.begin_state(BATCH)[:1])
    with pytest.raises(AssertionError, match="_unfuse does not support state clipping"):
        rnn.LSTM(2, state_clip_min=0.0, state_clip_max=0.0)._unfuse()
    with pytest.raises(AssertionError, match="_unfuse does not support projection"):
        rnn.LSTM(2, projection_size=1)._unfuse()


def test_parameter_files_of_mxnet(interop):
    folder = interop / "gluon_states"
    net = nn.HybridSequential(prefix="rn_")
    with net.name_scope():
        net.add(rnn.LSTM(3, num_layers=2, bidirectional=True, input_size=2), rnn.GRU(2, input_size=6))
    net.load_parameters(str(folder / "recurrent.params"))
    named = numpy.load(folder / "recurrent.npz")
    for name, param in net.collect_params().items():
        numpy.testing.assert_array_equal(param.data().asnumpy(), named[name])
    expected = numpy.load(folder / "recurrent_io.npz")
    for _ in range(2):
        outputs = net(nd.array(expected["input"]))
        numpy.testing.assert_allclose(outputs.asnumpy(), expected["output"], rtol=1e-5, atol=1e-6)
        net.hybridize()


class Tagger(nn.HybridBlock):
    """The network of interop's `seq_lstm`."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        with self.name_scope():
            self.embedding = nn.Embedding(11, 6)
            self.rnn = rnn.LSTM(5, num_layers=2, bidirectional=True)
            self.norm = nn.LayerNorm()
            self.out = nn.Dense(7, flatten=False)

    def hybrid_forward(self, F, x):
        return self.out(self.norm(self.rnn(F.transpose(self.embedding(x), axes=(1, 0, 2)))))


@pytest.mark.parametrize("hybrid", [False, True])
def test_a_network_of_mxnet(hybrid):
    folder = recorded.network("seq_lstm")
    meta = json.loads((folder / "meta.json").read_text())
    net = Tagger(prefix="seqlstm_")
    net.collect_params().load(str(folder / meta["params"]))
    if hybrid:
        net.hybridize()
    x = nd.array(numpy.load(folder / meta["inputs"][0]["file"]))
    outputs = net(x).asnumpy()
    numpy.testing.assert_allclose(outputs, numpy.load(folder / meta["outputs"][0]), rtol=1e-4, atol=1e-5)
    expected = numpy.load(folder / "gradients.npz")
    target = nd.array(numpy.random.RandomState(9).standard_normal((4, 2, 7)).astype("float32"))
    with autograd.record():
        loss = ((net(x) - target) ** 2).mean()
    loss.backward()
    for name, param in net.collect_params().items():
        numpy.testing.assert_allclose(
            param.grad().asnumpy(), expected[f"grad:{name}"], rtol=1e-4, atol=1e-5, err_msg=name
        )


def test_exported_layers_compute_the_same(tmp_path, mode):
    layer = initialized(LAYERS[mode](num_layers=2, prefix="net_"))
    layer.hybridize()
    x = nd.array(sequence(STEPS, BATCH, INPUTS))
    outputs, states = layer(x, layer.begin_state(BATCH))
    layer.export(str(tmp_path / "layer"))
    names = [f"data{i}" for i in range(1 + len(states))]
    block = gluon.SymbolBlock.imports(
        str(tmp_path / "layer-symbol.json"), names, str(tmp_path / "layer-0000.params")
    )
    for one, other in zip(block(x, *layer.begin_state(BATCH)), [outputs, *states], strict=True):
        close(one, other)


def test_layers_unroll_symbols_of_unknown_batch():
    outputs = rnn.GRU(HIDDEN, num_layers=2, bidirectional=True, input_size=INPUTS)(hr.sym.var("x"))
    _, shapes, _ = outputs.infer_shape(x=(STEPS, BATCH, INPUTS))
    assert shapes == [(STEPS, BATCH, 2 * HIDDEN)]


def test_hybridized_layers_in_np_mode_begin_with_zeros():
    npx.set_np()
    try:
        layer = initialized(rnn.LSTM(HIDDEN, layout="NTC"))
        net = nn.HybridSequential()
        net.add(layer)
        x = np.array(sequence(BATCH, STEPS, INPUTS))
        eager = net(x)
        net.hybridize()
        close(net(x), eager)
    finally:
        npx.reset_np()


@pytest.mark.parametrize(
    "size", [{"num_layers": 2**63 - 1}, {"state_size": 2**62}, {"num_layers": 2**31 - 1}]
)
def test_sizes_that_no_parameters_can_have_are_refused(size):
    arrays = [nd.zeros((3, 2, 3)), nd.zeros((14,)), nd.zeros((1, 2, 2))]
    attributes = {"state_size": 2, "num_layers": 1, "mode": "rnn_tanh"} | size
    with pytest.raises((ValueError, hr.MXNetError), match="RNN"):
        nd.RNN(*arrays, **attributes)
    symbol = hr.sym.RNN(*map(hr.sym.var, "xps"), **attributes)
    with pytest.raises((ValueError, hr.MXNetError, MemoryError)):
        symbol.infer_shape(x=(3, 2, 3))


@pytest.mark.parametrize("make", [rnn.LSTM, rnn.GRU, rnn.RNN])
@pytest.mark.parametrize("nested", [False, True])
def test_hybridized_layers_of_both_directions_find_their_shapes(make, nested):
    layer = make(3, num_layers=2, bidirectional=True)
    net = layer
    if nested:
        net = nn.HybridSequential()
        net.add(layer, nn.BatchNorm(), nn.Dense(2))
    net.initialize()
    net.hybridize()
    x = nd.random.uniform(shape=(4, 2, 5))
    found = net(x).asnumpy()
    assert layer.l0_i2h_weight.shape == layer.r0_i2h_weight.shape and layer.l0_i2h_weight.shape[1] == 5
    net.hybridize(False)
    numpy.testing.assert_allclose(net(x).asnumpy(), found, rtol=1e-5, atol=1e-6)


def test_a_layer_that_makes_its_states_explains_what_runs():
    layer = gluon.rnn.LSTM(3, input_size=2)
    layer.initialize()
    layer.hybridize()
    x = nd.ones((4, 1, 2))
    first = layer.explain(x)
    layer(x)
    assert "steps" in first and layer.explain(x) == first
    assert "steps" in layer.explain(x, layer.begin_state(1))


def test_layers_of_both_directions_do_not_change_the_order_of_initialization():
    class Net(gluon.HybridBlock):
        def __init__(self, **sizes):
            super().__init__()
            with self.name_scope():
                self.layer = rnn.LSTM(3, layout="NTC", bidirectional=True, **sizes)
                self.a, self.b = nn.Dense(2, flatten=False), nn.Dense(2, flatten=False)

        def hybrid_forward(self, F, x):
            hidden = self.layer(x)
            first = self.a(hidden)
            return F.exp(self.b(hidden)) * first

    def weights(**sizes):
        hr.random.seed(5)
        net = Net(**sizes)
        net.initialize(hr.init.Xavier())
        net.hybridize()
        net(nd.ones((2, 3, 4)))
        return [layer.weight.data().asnumpy() for layer in (net.a, net.b)]

    for found, expected in zip(weights(), weights(input_size=4)):
        assert (found == expected).all()
