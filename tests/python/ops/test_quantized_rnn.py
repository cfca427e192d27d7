"""The LSTM on bytes: against the formula, and near to what the LSTM of the same floats gives."""

import numpy
import pytest

from headrace import nd, sym
from headrace.base import MXNetError

RANDOM = numpy.random.RandomState(2)
STEPS, BATCH, INPUTS, STATE = 5, 2, 6, 4


def drawn(*shape):
    return RANDOM.uniform(-1, 1, shape).astype("float32")


def arrays(layers, directions):
    """Data, parameters, first states and cells of an LSTM."""
    sizes = [INPUTS] + [directions * STATE] * (layers - 1)
    count = sum(directions * 4 * STATE * (size + STATE + 2) for size in sizes)
    states = layers * directions, BATCH, STATE
    return drawn(STEPS, BATCH, INPUTS), drawn(count), drawn(*states), drawn(*states)


def as_bytes(data):
    """Bytes, and the scale and shift by which they stand for numbers."""
    scale = 128 / (data.max() - data.min())
    shift = 128 - data.max() * scale
    return (data * scale + shift + 0.5).astype("uint8"), scale, shift


def run(data, parameters, state, cell, layers=1, **attrs):
    quantized, scale, shift = as_bytes(data)
    inputs = [nd.array(quantized, dtype="uint8")] + [nd.array(x) for x in (parameters, state, cell)]
    inputs += [nd.array([scale]), nd.array([shift])]
    return nd.contrib.quantized_rnn(
        *inputs, state_size=STATE, num_layers=layers, mode="lstm", state_outputs=True, **attrs
    )


def sigmoid(x):
    return 1 / (1 + numpy.exp(-x))


def lstm(data, parameters, h, c):
    """One layer in one direction, with weights of int8 and outputs of uint8."""
    quantized, scale, shift = as_bytes(data)

    def rounded(x):
        return (numpy.clip(numpy.rint(x * scale + shift), 0, 255) - shift) / scale

    rows = 4 * STATE
    weights = [parameters[: rows * INPUTS].reshape(rows, INPUTS)]
    weights += [parameters[rows * INPUTS : rows * (INPUTS + STATE)].reshape(rows, STATE)]
    parts = 127 / abs(numpy.concatenate(weights, axis=1)).max(axis=1, keepdims=True)
    of_input, of_state = (numpy.rint(w * parts) / parts for w in weights)
    bias = parameters[rows * (INPUTS + STATE) :].reshape(2, rows).sum(axis=0)
    h, outputs = rounded(h), []
    for x in (quantized - shift) / scale:
        i, f, new, o = numpy.split(x @ of_input.T + h @ of_state.T + bias, 4, axis=1)
        c = sigmoid(f) * c + sigmoid(i) * numpy.tanh(new)
        h = rounded(sigmoid(o) * numpy.tanh(c))
        outputs.append(h)
    return numpy.array(outputs), h, c


def test_outputs_and_weights_are_rounded():
    given = arrays(1, 1)
    results = run(*given)
    expected = lstm(given[0], given[1], given[2][0], given[3][0])
    for got, wanted in zip(results, [expected[0], expected[1][None], expected[2][None]], strict=True):
        assert got.dtype == numpy.float32
        numpy.testing.assert_allclose(got.asnumpy(), wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("layers, bidirectional", [(1, False), (1, True), (3, True)])
def test_results_are_near_those_of_floats(layers, bidirectional):
    given = arrays(layers, 2 if bidirectional else 1)
    results = run(*given, layers=layers, bidirectional=bidirectional)
    attrs = {"state_size": STATE, "num_layers": layers, "mode": "lstm", "state_outputs": True}
    exact = nd.RNN(*(nd.array(x) for x in given), bidirectional=bidirectional, **attrs)
    for got, wanted in zip(results, exact, strict=True):
        assert got.shape == wanted.shape
        assert ((got - wanted) ** 2).mean().asscalar() < 1e-3


def test_symbols_have_the_names_of_mxnet():
    net = sym.contrib.quantized_rnn(
        sym.var("x", dtype="uint8"), state_size=4, num_layers=1, mode="lstm", state_outputs=True, name="q"
    )
    names = ["x", "q_parameters", "q_state", "q_state_cell", "q_min_data", "q_max_data"]
    assert net.list_arguments() == names
    assert net.list_outputs() == ["q_output", "q_state_output", "q_statecell_ouput"]
    shapes = [(5, 2, 6), (192,), (1, 2, 4), (1, 2, 4), (1,), (1,)]
    assert net.infer_shape(x=(5, 2, 6))[0] == shapes


def test_other_modes_and_dtypes_are_refused():
    floats = [nd.array(x) for x in arrays(1, 1)] + [nd.ones(1), nd.ones(1)]
    with pytest.raises(MXNetError, match="data must hold uint8"):
        nd.contrib.quantized_rnn(*floats, state_size=STATE, num_layers=1, mode="lstm")
    with pytest.raises(MXNetError, match="only mode='lstm'"):
        nd.contrib.quantized_rnn(*floats, state_size=STATE, num_layers=1, mode="gru")
