"""Cells of one layer: the plain cell, LSTM and GRU."""

from .formulas import gru_step, lstm_step
from .operators import activation, operators
from .recurrent_cell import HybridRecurrentCell

__all__ = ["GRUCell", "LSTMCell", "RNNCell"]


class FullyConnectedCell(HybridRecurrentCell):
    """A cell whose inputs and hidden state each go through one matrix, which holds those of all gates.

    Examples
    --------
    >>> issubclass(gluon.rnn.GRUCell, mx.gluon.rnn.gated_cells.FullyConnectedCell)
    True
    """

    _gates = 1
    _states = 1

    def __init__(self, hidden_size, input_size, initializers, prefix, params):
        super().__init__(prefix=prefix, params=params)
        self._hidden_size = hidden_size
        self._input_size = input_size
        rows = self._gates * hidden_size
        i2h_weight, h2h_weight, i2h_bias, h2h_bias = initializers
        self._add_parameter("i2h_weight", (rows, input_size), i2h_weight)
        self._add_parameter("h2h_weight", (rows, self._output_size()), h2h_weight)
        self._add_more_weights()
        self._add_parameter("i2h_bias", (rows,), i2h_bias)
        self._add_parameter("h2h_bias", (rows,), h2h_bias)

    def _output_size(self):
        return self._hidden_size

    def _add_more_weights(self):
        """For subclasses: parameters between the weights and the biases."""

    def _add_parameter(self, name, shape, init):
        setattr(self, name, self.params.get(name, shape=shape, init=init, allow_deferred_init=True))

    def state_info(self, batch_size=0):
        """The hidden state (N, hidden size), and with LSTM the cell's memory of the same shape."""
        shape = (batch_size, self._hidden_size)
        return [{"shape": shape, "__layout__": "NC"} for _ in range(self._states)]

    def _project(self, ops, step, inputs, hidden, weights, biases):
        """(of the inputs, of the hidden state): what the matrices make of them, all gates side by side."""
        rows = self._gates * self._hidden_size
        return [
            ops.FullyConnected(x, weight, bias, num_hidden=rows, name=step + name)
            for x, weight, bias, name in zip((inputs, hidden), weights, biases, ("i2h", "h2h"))
        ]

    def _mapping(self):
        rows, input_size = self.i2h_weight.shape
        return f"{input_size or None} -> {rows}"

    def __repr__(self):
        return f"{type(self).__name__}({self._mapping()})"


class RNNCell(FullyConnectedCell):
    """`h' = activation(W x + b + U h + c)`: output and state are h', (N, hidden_size).

    `activation` is 'tanh', 'relu' or another of nn.Activation, a block, or a function. `input_size` 0 takes
    the size from the first input.

    Examples
    --------
    >>> cell = gluon.rnn.RNNCell(4)
    >>> cell.initialize()
    >>> output, states = cell(nd.ones((2, 3)), cell.begin_state(batch_size=2))
    >>> output.shape, len(states)
    ((2, 4), 1)
    """

    def __init__(
        self,
        hidden_size,
        activation="tanh",
        i2h_weight_initializer=None,
        h2h_weight_initializer=None,
        i2h_bias_initializer="zeros",
        h2h_bias_initializer="zeros",
        input_size=0,
        prefix=None,
        params=None,
    ):
        initializers = (
            i2h_weight_initializer,
            h2h_weight_initializer,
            i2h_bias_initializer,
            h2h_bias_initializer,
        )
        super().__init__(hidden_size, input_size, initializers, prefix, params)
        self._activation = activation

    def _alias(self):
        return "rnn"

    def hybrid_forward(self, F, inputs, states, i2h_weight, h2h_weight, i2h_bias, h2h_bias):
        ops, step = operators(F), f"t{self._counter}_"
        i2h, h2h = self._project(ops, step, inputs, states[0], (i2h_weight, h2h_weight), (i2h_bias, h2h_bias))
        total = ops.elemwise_add(i2h, h2h, name=step + "plus0")
        output = self._get_activation(F, total, self._activation, name=step + "out")
        return output, [output]

    def __repr__(self):
        return f"{type(self).__name__}({self._mapping()}, {self._activation})"


class LSTMCell(FullyConnectedCell):
    """Long short-term memory: the output is h', the states are [h', c'], each (N, hidden_size).

    With gates i, f, o = r(W x + b + U h + c) and g the same with the activation a (r is
    `recurrent_activation`, a is `activation`): `c' = f c + i g`, `h' = o a(c')`. The rows of the parameters
    are those of i, f, g, o, one after another. `input_size` 0 takes the size from the first input.

    Examples
    --------
    >>> cell = gluon.rnn.LSTMCell(4)
    >>> cell.initialize()
    >>> output, states = cell(nd.ones((2, 3)), cell.begin_state(batch_size=2))
    >>> output.shape, len(states)
    ((2, 4), 2)
    """

    _gates = 4
    _states = 2

    def __init__(
        self,
        hidden_size,
        i2h_weight_initializer=None,
        h2h_weight_initializer=None,
        i2h_bias_initializer="zeros",
        h2h_bias_initializer="zeros",
        input_size=0,
        prefix=None,
        params=None,
        activation="tanh",
        recurrent_activation="sigmoid",
    ):
        initializers = (
            i2h_weight_initializer,
            h2h_weight_initializer,
            i2h_bias_initializer,
            h2h_bias_initializer,
        )
        super().__init__(hidden_size, input_size, initializers, prefix, params)
        self._activation = activation
        self._recurrent_activation = recurrent_activation

    def _alias(self):
        return "lstm"

    def hybrid_forward(self, F, inputs, states, i2h_weight, h2h_weight, i2h_bias, h2h_bias):
        ops, step = operators(F), f"t{self._counter}_"
        i2h, h2h = self._project(ops, step, inputs, states[0], (i2h_weight, h2h_weight), (i2h_bias, h2h_bias))
        gates = ops.SliceChannel(
            ops.elemwise_add(i2h, h2h, name=step + "plus0"), num_outputs=4, name=step + "slice"
        )
        output, memory = lstm_step(
            ops,
            step,
            gates,
            states[1],
            sigmoid=lambda x, name: self._get_activation(F, x, self._recurrent_activation, name=name),
            tanh=lambda x, name: self._get_activation(F, x, self._activation, name=name),
            last=lambda x, name: self._last(F, x, name),
        )
        return output, [output, memory]

    def _last(self, F, memory, name):
        if isinstance(self._activation, str):
            return operators(F).Activation(memory, act_type=self._activation, name=name)
        return self._get_activation(F, memory, self._activation, name=name)


class GRUCell(FullyConnectedCell):
    """Gated recurrent unit: output and state are h', (N, hidden_size).

    With gates r, z = sigmoid(W x + b + U h + c) and n = tanh(W x + b + r (U h + c)):
    `h' = (1 - z) n + z h`. The rows of the parameters are those of r, z, n, one after another. `input_size`
    0 takes the size from the first input.

    Examples
    --------
    >>> cell = gluon.rnn.GRUCell(4)
    >>> cell.initialize()
    >>> outputs, states = cell.unroll(5, nd.ones((2, 5, 3)), merge_outputs=True)
    >>> outputs.shape
    (2, 5, 4)
    """

    _gates = 3

    def __init__(
        self,
        hidden_size,
        i2h_weight_initializer=None,
        h2h_weight_initializer=None,
        i2h_bias_initializer="zeros",
        h2h_bias_initializer="zeros",
        input_size=0,
        prefix=None,
        params=None,
    ):
        initializers = (
            i2h_weight_initializer,
            h2h_weight_initializer,
            i2h_bias_initializer,
            h2h_bias_initializer,
        )
        super().__init__(hidden_size, input_size, initializers, prefix, params)

    def _alias(self):
        return "gru"

    def hybrid_forward(self, F, inputs, states, i2h_weight, h2h_weight, i2h_bias, h2h_bias):
        ops, step = operators(F), f"t{self._counter}_"
        i2h, h2h = self._project(ops, step, inputs, states[0], (i2h_weight, h2h_weight), (i2h_bias, h2h_bias))
        i2h = ops.SliceChannel(i2h, num_outputs=3, name=step + "i2h_slice")
        h2h = ops.SliceChannel(h2h, num_outputs=3, name=step + "h2h_slice")
        output = gru_step(ops, step, i2h, h2h, states[0], activation(ops, "sigmoid"), activation(ops, "tanh"))
        return output, [output]
