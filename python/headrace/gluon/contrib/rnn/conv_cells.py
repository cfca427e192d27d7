"""Cells whose inputs and states go through convolutions."""

from ...nn.conv_layers import spread
from ...rnn.formulas import gru_step, lstm_step
from ...rnn.operators import activation, operators
from ...rnn.recurrent_cell import HybridRecurrentCell

__all__ = [f"Conv{axes}D{kind}Cell" for kind in ("RNN", "LSTM", "GRU") for axes in (1, 2, 3)]


def _out_size(size, kernel, pad, dilate):
    return size + 2 * pad - dilate * (kernel - 1) if size else 0


class _ConvCell(HybridRecurrentCell):
    """What the convolutional cells share.

    Parameters
    ----------
    input_shape : shape of one step of one sample, as `conv_layout` without N.
    hidden_channels : channels of output and states.
    i2h_kernel, i2h_pad, i2h_dilate : the inputs' convolution; numbers, or one per axis.
    h2h_kernel, h2h_dilate : the states' convolution, padded so that it keeps the size; kernels are odd.
    conv_layout : where the channels are; the usual one has them after N.
    activation : name, block or function.

    AssertionError: an even `h2h_kernel`, or sizes for another number of axes.
    """

    _layout = ""
    _gates = 1
    _states = 1

    def __init__(
        self,
        input_shape,
        hidden_channels,
        i2h_kernel,
        h2h_kernel,
        i2h_pad=0,
        i2h_dilate=1,
        h2h_dilate=1,
        i2h_weight_initializer=None,
        h2h_weight_initializer=None,
        i2h_bias_initializer="zeros",
        h2h_bias_initializer="zeros",
        conv_layout=None,
        activation="tanh",
        prefix=None,
        params=None,
    ):
        super().__init__(prefix=prefix, params=params)
        layout = self._layout if conv_layout is None else conv_layout
        axes = len(self._layout) - 2
        self._hidden_channels = hidden_channels
        self._input_shape = input_shape
        self._conv_layout = layout
        self._activation = activation
        self._i2h_kernel = spread(i2h_kernel, axes, "i2h_kernel")
        self._i2h_pad = spread(i2h_pad, axes, "i2h_pad")
        self._i2h_dilate = spread(i2h_dilate, axes, "i2h_dilate")
        self._h2h_kernel = spread(h2h_kernel, axes, "h2h_kernel")
        self._h2h_dilate = spread(h2h_dilate, axes, "h2h_dilate")
        assert all(size % 2 == 1 for size in self._h2h_kernel), (
            f"{type(self).__name__}: expected odd sizes of h2h_kernel, got {h2h_kernel}; even ones cannot "
            "keep the size of the states"
        )
        self._h2h_pad = tuple(d * (k - 1) // 2 for d, k in zip(self._h2h_dilate, self._h2h_kernel))
        self._channel_axis = layout.index("C")
        channels, sizes = self._split_channels(input_shape)
        sizes = map(_out_size, sizes, self._i2h_kernel, self._i2h_pad, self._i2h_dilate)
        self._state_shape = self._with_channels(hidden_channels, sizes)
        rows = self._gates * hidden_channels
        i2h_shape = (rows, *self._with_channels(channels, self._i2h_kernel))
        h2h_shape = (rows, *self._with_channels(hidden_channels, self._h2h_kernel))
        self._add_parameter("i2h_weight", i2h_shape, i2h_weight_initializer)
        self._add_parameter("h2h_weight", h2h_shape, h2h_weight_initializer)
        self._add_parameter("i2h_bias", (rows,), i2h_bias_initializer)
        self._add_parameter("h2h_bias", (rows,), h2h_bias_initializer)

    def _split_channels(self, shape):
        place = self._channel_axis - 1
        return shape[place], (*shape[:place], *shape[place + 1 :])

    def _with_channels(self, channels, sizes):
        return (channels, *sizes) if self._channel_axis == 1 else (*sizes, channels)

    def _add_parameter(self, name, shape, init):
        setattr(self, name, self.params.get(name, shape=shape, init=init, allow_deferred_init=True))

    def state_info(self, batch_size=0):
        """The hidden state, and with LSTM the cell's memory of the same shape."""
        shape = (batch_size, *self._state_shape)
        return [{"shape": shape, "__layout__": self._conv_layout} for _ in range(self._states)]

    def _convolve(self, ops, step, inputs, hidden, weights, biases):
        """(of the inputs, of the hidden state): what the convolutions make of them, all gates together."""
        shared = {
            "num_filter": self._gates * self._hidden_channels,
            "stride": (1,) * len(self._i2h_kernel),
            "layout": self._conv_layout,
        }
        i2h = ops.Convolution(
            inputs,
            weights[0],
            biases[0],
            kernel=self._i2h_kernel,
            pad=self._i2h_pad,
            dilate=self._i2h_dilate,
            name=step + "i2h",
            **shared,
        )
        h2h = ops.Convolution(
            hidden,
            weights[1],
            biases[1],
            kernel=self._h2h_kernel,
            pad=self._h2h_pad,
            dilate=self._h2h_dilate,
            name=step + "h2h",
            **shared,
        )
        return i2h, h2h

    def hybrid_forward(self, F, inputs, states, i2h_weight, h2h_weight, i2h_bias, h2h_bias):
        ops, step = operators(F), f"t{self._counter}_"
        i2h, h2h = self._convolve(
            ops, step, inputs, states[0], (i2h_weight, h2h_weight), (i2h_bias, h2h_bias)
        )
        return self._step(F, ops, step, i2h, h2h, states)

    def _activate(self, F):
        return lambda x, name: self._get_activation(F, x, self._activation, name=name)

    def __repr__(self):
        shape = self.i2h_weight.shape
        channels = shape[1 if self._channel_axis == 1 else -1]
        mapping = f"{channels or None} -> {shape[0]}"
        return f"{type(self).__name__}({mapping}, {self._activation}, {self._conv_layout})"


class _ConvRNNCell(_ConvCell):
    def _alias(self):
        return "conv_rnn"

    def _step(self, F, ops, step, i2h, h2h, states):
        output = self._activate(F)(i2h + h2h, step + "out")
        return output, [output]


class _ConvLSTMCell(_ConvCell):
    _gates = 4
    _states = 2

    def _alias(self):
        return "conv_lstm"

    def _step(self, F, ops, step, i2h, h2h, states):
        gates = ops.SliceChannel(i2h + h2h, num_outputs=4, name=step + "slice", axis=self._channel_axis)
        tanh = self._activate(F)
        output, memory = lstm_step(ops, step, gates, states[1], activation(ops, "sigmoid"), tanh, tanh)
        return output, [output, memory]


class _ConvGRUCell(_ConvCell):
    _gates = 3

    def _alias(self):
        return "conv_gru"

    def _step(self, F, ops, step, i2h, h2h, states):
        axis = self._channel_axis
        i2h = ops.SliceChannel(i2h, num_outputs=3, name=step + "i2h_slice", axis=axis)
        h2h = ops.SliceChannel(h2h, num_outputs=3, name=step + "h2h_slice", axis=axis)
        sigmoid = activation(ops, "sigmoid")
        output = gru_step(ops, step, i2h, h2h, states[0], sigmoid, self._activate(F))
        return output, [output]


class Conv1DRNNCell(_ConvRNNCell):
    """`h' = activation(W * x + b + U * h + c)` with convolutions along one axis; see RNNCell.

    Examples
    --------
    >>> cell = gluon.contrib.rnn.Conv1DRNNCell((3, 8), 4, i2h_kernel=3, h2h_kernel=3, i2h_pad=1)
    >>> cell.initialize()
    >>> output, states = cell(nd.ones((2, 3, 8)), cell.begin_state(batch_size=2))
    >>> output.shape
    (2, 4, 8)
    """

    _layout = "NCW"


class Conv2DRNNCell(_ConvRNNCell):
    """`h' = activation(W * x + b + U * h + c)` with convolutions along two axes; see RNNCell.

    Examples
    --------
    >>> cell = gluon.contrib.rnn.Conv2DRNNCell((3, 8, 8), 4, i2h_kernel=3, h2h_kernel=3, i2h_pad=1)
    >>> cell.initialize()
    >>> output, states = cell(nd.ones((2, 3, 8, 8)), cell.begin_state(batch_size=2))
    >>> output.shape
    (2, 4, 8, 8)
    """

    _layout = "NCHW"


class Conv3DRNNCell(_ConvRNNCell):
    """`h' = activation(W * x + b + U * h + c)` with convolutions along three axes; see RNNCell.

    Examples
    --------
    >>> cell = gluon.contrib.rnn.Conv3DRNNCell((3, 4, 4, 4), 2, i2h_kernel=3, h2h_kernel=3, i2h_pad=1)
    >>> cell.initialize()
    >>> output, states = cell(nd.ones((1, 3, 4, 4, 4)), cell.begin_state(batch_size=1))
    >>> output.shape
    (1, 2, 4, 4, 4)
    """

    _layout = "NCDHW"


class Conv1DLSTMCell(_ConvLSTMCell):
    """LSTMCell with convolutions along one axis in the place of its matrices.

    Examples
    --------
    >>> cell = gluon.contrib.rnn.Conv1DLSTMCell((3, 8), 4, i2h_kernel=3, h2h_kernel=3, i2h_pad=1)
    >>> cell.initialize()
    >>> output, states = cell(nd.ones((2, 3, 8)), cell.begin_state(batch_size=2))
    >>> output.shape, len(states)
    ((2, 4, 8), 2)
    """

    _layout = "NCW"


class Conv2DLSTMCell(_ConvLSTMCell):
    """LSTMCell with convolutions along two axes in the place of its matrices.

    Examples
    --------
    >>> cell = gluon.contrib.rnn.Conv2DLSTMCell((3, 8, 8), 4, i2h_kernel=3, h2h_kernel=3, i2h_pad=1)
    >>> cell.initialize()
    >>> output, states = cell(nd.ones((2, 3, 8, 8)), cell.begin_state(batch_size=2))
    >>> output.shape, len(states)
    ((2, 4, 8, 8), 2)
    """

    _layout = "NCHW"


class Conv3DLSTMCell(_ConvLSTMCell):
    """LSTMCell with convolutions along three axes in the place of its matrices.

    Examples
    --------
    >>> cell = gluon.contrib.rnn.Conv3DLSTMCell((3, 4, 4, 4), 2, i2h_kernel=3, h2h_kernel=3, i2h_pad=1)
    >>> cell.initialize()
    >>> output, states = cell(nd.ones((1, 3, 4, 4, 4)), cell.begin_state(batch_size=1))
    >>> output.shape, len(states)
    ((1, 2, 4, 4, 4), 2)
    """

    _layout = "NCDHW"


class Conv1DGRUCell(_ConvGRUCell):
    """GRUCell with convolutions along one axis in the place of its matrices.

    Examples
    --------
    >>> cell = gluon.contrib.rnn.Conv1DGRUCell((3, 8), 4, i2h_kernel=3, h2h_kernel=3, i2h_pad=1)
    >>> cell.initialize()
    >>> output, states = cell(nd.ones((2, 3, 8)), cell.begin_state(batch_size=2))
    >>> output.shape
    (2, 4, 8)
    """

    _layout = "NCW"


class Conv2DGRUCell(_ConvGRUCell):
    """GRUCell with convolutions along two axes in the place of its matrices.

    Examples
    --------
    >>> cell = gluon.contrib.rnn.Conv2DGRUCell((3, 8, 8), 4, i2h_kernel=3, h2h_kernel=3, i2h_pad=1)
    >>> cell.initialize()
    >>> output, states = cell(nd.ones((2, 3, 8, 8)), cell.begin_state(batch_size=2))
    >>> output.shape
    (2, 4, 8, 8)
    """

    _layout = "NCHW"


class Conv3DGRUCell(_ConvGRUCell):
    """GRUCell with convolutions along three axes in the place of its matrices.

    Examples
    --------
    >>> cell = gluon.contrib.rnn.Conv3DGRUCell((3, 4, 4, 4), 2, i2h_kernel=3, h2h_kernel=3, i2h_pad=1)
    >>> cell.initialize()
    >>> output, states = cell(nd.ones((1, 3, 4, 4, 4)), cell.begin_state(batch_size=1))
    >>> output.shape
    (1, 2, 4, 4, 4)
    """

    _layout = "NCDHW"
