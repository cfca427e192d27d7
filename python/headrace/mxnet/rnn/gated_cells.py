"""Cells of one layer: plain, LSTM and GRU."""

from ... import initializer, symbol
from ...gluon.rnn.operators import activation
from .base import BaseRNNCell
from .steps import gru_step, lstm_step

__all__ = ["GRUCell", "LSTMCell", "RNNCell"]


class _FullyConnectedCell(BaseRNNCell):
    """A cell whose inputs and hidden state each go through one matrix, which holds those of all gates."""

    _states = 1

    def __init__(self, num_hidden, prefix, params, i2h_bias=None):
        super().__init__(prefix, params)
        self._num_hidden = num_hidden
        self._iW = self.params.get("i2h_weight")
        self._iB = self.params.get("i2h_bias", init=i2h_bias)
        self._hW = self.params.get("h2h_weight")
        self._hB = self.params.get("h2h_bias")

    @property
    def state_info(self):
        """The hidden state, and with LSTM the cell's memory of the same shape."""
        return [{"shape": (0, self._num_hidden), "__layout__": "NC"} for _ in range(self._states)]

    def _project(self, step, inputs, hidden):
        rows = self._num_hidden * len(self._gate_names)
        i2h = symbol.FullyConnected(inputs, self._iW, self._iB, num_hidden=rows, name=step + "i2h")
        h2h = symbol.FullyConnected(hidden, self._hW, self._hB, num_hidden=rows, name=step + "h2h")
        return i2h, h2h


class RNNCell(_FullyConnectedCell):
    """`h' = activation(W x + b + U h + c)`; output and state are h'.

    Examples
    --------
    >>> from headrace.mxnet import rnn
    >>> cell = rnn.RNNCell(2, prefix="rnn_")
    >>> output, states = cell(sym.var("x"), cell.begin_state())
    >>> output.list_arguments()[:3], output.infer_shape(x=(1, 3))[1]
    (['x', 'rnn_i2h_weight', 'rnn_i2h_bias'], [(1, 2)])
    """

    def __init__(self, num_hidden, activation="tanh", prefix="rnn_", params=None):
        super().__init__(num_hidden, prefix, params)
        self._activation = activation

    @property
    def _gate_names(self):
        return ("",)

    def __call__(self, inputs, states):
        """One step."""
        step = self._next_step()
        i2h, h2h = self._project(step, inputs, states[0])
        output = self._get_activation(i2h + h2h, self._activation, name=step + "out")
        return output, [output]


class LSTMCell(_FullyConnectedCell):
    """Long short-term memory, see gluon.rnn.LSTMCell; the forget gate's bias begins at `forget_bias`.

    Examples
    --------
    >>> from headrace.mxnet import rnn
    >>> outputs, states = rnn.LSTMCell(4).unroll(5, sym.var("data"), merge_outputs=True)
    >>> outputs.infer_shape(data=(2, 5, 3))[1], len(states)
    ([(2, 5, 4)], 2)
    """

    _states = 2

    def __init__(self, num_hidden, prefix="lstm_", params=None, forget_bias=1.0):
        super().__init__(num_hidden, prefix, params, initializer.LSTMBias(forget_bias))

    @property
    def _gate_names(self):
        return ["_i", "_f", "_c", "_o"]

    def __call__(self, inputs, states):
        """One step."""
        step = self._next_step()
        i2h, h2h = self._project(step, inputs, states[0])
        gates = symbol.SliceChannel(i2h + h2h, num_outputs=4, name=step + "slice")
        sigmoid, tanh = activation(symbol, "sigmoid"), activation(symbol, "tanh")
        output, memory = lstm_step(step, gates, states[1], sigmoid, tanh)
        return output, [output, memory]


class GRUCell(_FullyConnectedCell):
    """Gated recurrent unit, see gluon.rnn.GRUCell.

    Examples
    --------
    >>> from headrace.mxnet import rnn
    >>> outputs, states = rnn.GRUCell(4).unroll(5, sym.var("data"), merge_outputs=True)
    >>> outputs.infer_shape(data=(2, 5, 3))[1], len(states)
    ([(2, 5, 4)], 1)
    """

    def __init__(self, num_hidden, prefix="gru_", params=None):
        super().__init__(num_hidden, prefix, params)

    @property
    def _gate_names(self):
        return ["_r", "_z", "_o"]

    def __call__(self, inputs, states):
        """One step."""
        step = self._next_step()
        i2h, h2h = (
            symbol.SliceChannel(value, num_outputs=3, name=f"{step}_{name}_slice")
            for value, name in zip(self._project(step + "_", inputs, states[0]), ("i2h", "h2h"))
        )
        sigmoid, tanh = activation(symbol, "sigmoid"), activation(symbol, "tanh")
        output = gru_step(step, i2h, h2h, states[0], sigmoid, tanh)
        return output, [output]
