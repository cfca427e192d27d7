"""Cells of gluon.contrib: convolutional, with projection, with one mask per sequence; the loop."""

import inspect

import numpy
import pytest

import headrace as hr
from headrace import autograd, gluon
from headrace.gluon import rnn
from headrace.gluon.contrib import rnn as contrib
from headrace.gluon.contrib.rnn.rnn_cell import dynamic_unroll

STEPS, BATCH, SIZE = 3, 2, 4
KINDS = ["RNN", "LSTM", "GRU"]


def sequence(*shape, seed=0):
    return numpy.random.RandomState(seed).standard_normal(shape).astype("float32")


def close(array, expected):
    numpy.testing.assert_allclose(array.asnumpy(), expected, rtol=2e-5, atol=2e-6)


def initialized(cell):
    cell.initialize(hr.init.Uniform(0.7))
    return cell


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("axes", [1, 2, 3])
@pytest.mark.parametrize("hybrid", [False, True])
def test_kernels_of_one_make_a_cell_for_every_place(kind, axes, hybrid, array):
    sizes = (5, 3, 2)[:axes]
    conv = initialized(getattr(contrib, f"Conv{axes}D{kind}Cell")((2, *sizes), SIZE, 1, 1))
    plain = initialized(getattr(rnn, f"{kind}Cell")(SIZE, input_size=2))
    for name, param in plain._reg_params.items():
        value = getattr(conv, name).data().asnumpy()
        param.set_data(array(value.reshape(param.shape)))
    if hybrid:
        conv.hybridize()
    x = sequence(BATCH, STEPS, 2, *sizes)
    outputs, states = conv.unroll(STEPS, array(x), merge_outputs=True)
    assert outputs.shape == (BATCH, STEPS, SIZE, *sizes)
    pixels = numpy.moveaxis(x.reshape(BATCH, STEPS, 2, -1), 3, 1).reshape(-1, STEPS, 2)
    expected, expected_states = plain.unroll(STEPS, array(pixels), merge_outputs=True)
    got = numpy.moveaxis(outputs.asnumpy().reshape(BATCH, STEPS, SIZE, -1), 3, 1)
    close(expected, got.reshape(-1, STEPS, SIZE))
    for one, other in zip(states, expected_states):
        got = numpy.moveaxis(one.asnumpy().reshape(BATCH, SIZE, -1), 2, 1)
        close(other, got.reshape(-1, SIZE))


def test_sizes_of_convolutional_states():
    cell = contrib.Conv2DLSTMCell((3, 10, 9), 4, (3, 2), 3, i2h_pad=(1, 0), i2h_dilate=2, h2h_dilate=(1, 2))
    assert [info["shape"] for info in cell.state_info(7)] == [(7, 4, 8, 7)] * 2
    assert cell.i2h_weight.shape == (16, 3, 3, 2) and cell.h2h_weight.shape == (16, 4, 3, 3)
    assert cell.state_info()[0]["__layout__"] == "NCHW"
    initialized(cell)
    outputs, _ = cell.unroll(2, hr.nd.ones((7, 2, 3, 10, 9)), merge_outputs=False)
    assert [out.shape for out in outputs] == [(7, 4, 8, 7)] * 2
    last = contrib.Conv1DGRUCell((10, 3), 4, 3, 3, conv_layout="NWC")
    assert last.state_info(7)[0]["shape"] == (7, 8, 4)
    assert last.i2h_weight.shape == (12, 3, 3)
    assert repr(last) == "Conv1DGRUCell(3 -> 12, tanh, NWC)"


def test_convolutional_cells_take_blocks_as_activation(array):
    x = sequence(BATCH, STEPS, 2, 5)
    named = contrib.Conv1DLSTMCell((2, 5), 3, 3, 3, i2h_pad=1, activation="relu", prefix="a_")
    block = contrib.Conv1DLSTMCell(
        (2, 5), 3, 3, 3, i2h_pad=1, activation=gluon.nn.LeakyReLU(0.0), prefix="a_", params=named.params
    )
    initialized(named)
    expected, _ = named.unroll(STEPS, array(x), merge_outputs=True)
    outputs, _ = block.unroll(STEPS, array(x), merge_outputs=True)
    close(outputs, expected.asnumpy())


def test_sizes_that_do_not_fit_are_named():
    with pytest.raises(AssertionError, match="expected odd sizes of h2h_kernel, got 2"):
        contrib.Conv1DRNNCell((2, 5), 3, 3, 2)
    with pytest.raises(AssertionError, match="i2h_kernel must be a number or a list of 2 ints"):
        contrib.Conv2DRNNCell((2, 5, 5), 3, (3, 3, 3), 3)


def test_lstm_with_projection(array):
    cell = initialized(contrib.LSTMPCell(5, SIZE, prefix="rnn_"))
    x, r, c = sequence(BATCH, 3), sequence(BATCH, SIZE, seed=1), sequence(BATCH, 5, seed=2)
    out, states = cell(array(x), [array(r), array(c)])
    p = {name: param.data().asnumpy() for name, param in cell._reg_params.items()}
    gates = x @ p["i2h_weight"].T + p["i2h_bias"] + r @ p["h2h_weight"].T + p["h2h_bias"]
    i, f, g, o = numpy.split(gates, 4, axis=1)
    i, f, o = (1 / (1 + numpy.exp(-one)) for one in (i, f, o))
    memory = f * c + i * numpy.tanh(g)
    close(states[1], memory)
    close(out, (o * numpy.tanh(memory)) @ p["h2r_weight"].T)
    close(states[0], out.asnumpy())
    assert repr(cell) == "LSTMPCell(3 -> 20 -> 4)"
    assert [info["shape"] for info in cell.state_info(2)] == [(2, SIZE), (2, 5)]
    outputs, _ = cell.unroll(1, [hr.sym.var("x")])
    assert outputs[0].list_outputs() == ["rnn_t0_out_output"]


class Through(rnn.HybridRecurrentCell):
    """The output is the input, the state what it was."""

    def state_info(self, batch_size=0):
        return [{"shape": (batch_size, 40), "__layout__": "NC"}]

    def hybrid_forward(self, F, x, states):
        return x * 1, [states[0] * 1]


@pytest.mark.parametrize("rates", [(0.3, 0, 0), (0, 0, 0.3), (0.3, 0.3, 0.3)])
def test_one_mask_serves_all_steps(rates, array):
    hr.random.seed(5)
    cell = contrib.VariationalDropoutCell(Through(), *rates)
    ones = array(numpy.ones((BATCH, STEPS, 40), "float32"))
    states = [array(numpy.ones((BATCH, 40), "float32"))]
    masks = []
    for _ in range(2):
        with autograd.record():
            outputs, new = cell.unroll(STEPS, ones, states, merge_outputs=True)
        mask = outputs.asnumpy()
        assert (mask == mask[:, :1]).all() and 0.1 < (mask == 0).mean() < 0.8
        assert ((new[0].asnumpy() == 0).any()) == bool(rates[1])
        masks.append(mask)
    assert (masks[0] != masks[1]).any()  # every sequence draws its own
    outputs, _ = cell.unroll(STEPS, ones, states, merge_outputs=True)
    close(outputs, numpy.ones((BATCH, STEPS, 40)))


def test_dropout_of_states_needs_steps():
    both = rnn.BidirectionalCell(rnn.GRUCell(2), rnn.GRUCell(2))
    with pytest.raises(AssertionError, match="no steps for dropout of states"):
        contrib.VariationalDropoutCell(both, drop_states=0.1)
    cell = contrib.VariationalDropoutCell(both, 0.1, 0, 0.2)
    assert repr(cell) == "VariationalDropoutCell(p_out = 0.2, p_state = 0)"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("layout", ["TNC", "NTC"])
@pytest.mark.parametrize("lengths", [None, [2, 1]])
@pytest.mark.parametrize("hybrid", [False, True])
def test_the_loop_computes_what_unroll_does(kind, layout, lengths, hybrid, array):
    class Reader(gluon.HybridBlock):
        def __init__(self):
            super().__init__()
            with self.name_scope():
                self.cell = getattr(rnn, f"{kind}Cell")(SIZE)

        def hybrid_forward(self, F, x, states, *lengths):
            out, states = dynamic_unroll(
                self.cell, x, states, layout=layout, valid_length=(*lengths, None)[0]
            )
            return [out, *states]

    net = initialized(Reader())
    if hybrid:
        net.hybridize()
    x = sequence(STEPS, BATCH, 3) if layout == "TNC" else sequence(BATCH, STEPS, 3)
    more = [] if lengths is None else [array(numpy.array(lengths, "float32"))]
    states = net.cell.begin_state(BATCH)
    out, *last = net(array(x), states, *more)
    expected, expected_last = net.cell.unroll(
        STEPS, array(x), states, layout=layout, merge_outputs=True, valid_length=(*more, None)[0]
    )
    close(out, expected.asnumpy())
    for one, other in zip(last, expected_last):
        close(one, other.asnumpy())


def test_the_loop_drops_the_same_elements_at_all_steps(array):
    hr.random.seed(5)
    ones = array(numpy.ones((STEPS, BATCH, 40), "float32"))
    states = [array(numpy.zeros((BATCH, 40), "float32"))]
    for kwargs in ({"drop_inputs": 0.3}, {"drop_outputs": 0.3}):
        with autograd.record():
            outputs, _ = dynamic_unroll(Through(), ones, states, **kwargs)
        mask = outputs.asnumpy()
        assert (mask == mask[:1]).all() and 0.1 < (mask == 0).mean() < 0.5


def test_the_names_of_mxnets_modules():
    from headrace.gluon.contrib.rnn import conv_rnn_cell, rnn_cell

    assert conv_rnn_cell.Conv2DGRUCell is contrib.Conv2DGRUCell
    assert rnn_cell.LSTMPCell is contrib.LSTMPCell
    names = list(inspect.signature(contrib.Conv3DLSTMCell).parameters)
    assert names[:7] == [
        *("input_shape", "hidden_channels", "i2h_kernel", "h2h_kernel"),
        *("i2h_pad", "i2h_dilate", "h2h_dilate"),
    ]
