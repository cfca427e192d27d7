"""Cells whose inputs and states go through two-dimensional convolutions."""

import functools

from ... import symbol
from ...gluon.rnn.operators import activation as operator
from .base import BaseRNNCell
from .steps import gru_step, lstm_step

__all__ = ["BaseConvRNNCell", "ConvGRUCell", "ConvLSTMCell", "ConvRNNCell"]

_leaky = functools.partial(symbol.LeakyReLU, act_type="leaky", slope=0.2)


class BaseConvRNNCell(BaseRNNCell):
    """What the convolutional cells share.

    Parameters
    ----------
    input_shape : shape of one step, with its batch.
    num_hidden : channels of output and states.
    h2h_kernel, h2h_dilate : the states' convolution, padded so that it keeps the size; kernels are odd.
    i2h_kernel, i2h_stride, i2h_pad, i2h_dilate : the inputs' convolution.
    activation : name or function; a leaky ReLU of slope 0.2 is usual.
    conv_layout : 'NCHW' or 'NHWC'.

    AssertionError: an even `h2h_kernel`.

    Examples
    --------
    >>> from headrace.mxnet import rnn
    >>> cells = rnn.ConvRNNCell((1, 3, 8, 8), 4), rnn.ConvLSTMCell((1, 3, 8, 8), 4)
    >>> [isinstance(cell, rnn.BaseConvRNNCell) for cell in cells]
    [True, True]
    """

    _kind = ""
    _states = 1

    def __init__(
        self,
        input_shape,
        num_hidden,
        h2h_kernel=(3, 3),
        h2h_dilate=(1, 1),
        i2h_kernel=(3, 3),
        i2h_stride=(1, 1),
        i2h_pad=(1, 1),
        i2h_dilate=(1, 1),
        i2h_weight_initializer=None,
        h2h_weight_initializer=None,
        i2h_bias_initializer="zeros",
        h2h_bias_initializer="zeros",
        activation=_leaky,
        prefix=None,
        params=None,
        conv_layout="NCHW",
    ):
        super().__init__(f"{self._kind}_" if prefix is None else prefix, params)
        assert all(size % 2 == 1 for size in h2h_kernel), (
            f"{type(self).__name__}: expected odd sizes of h2h_kernel, got {h2h_kernel}; even ones cannot "
            "keep the size of the states"
        )
        self._num_hidden = num_hidden
        self._input_shape = input_shape
        self._conv_layout = conv_layout
        self._activation = activation
        self._i2h = {"kernel": i2h_kernel, "stride": i2h_stride, "pad": i2h_pad, "dilate": i2h_dilate}
        pad = tuple(d * (k - 1) // 2 for d, k in zip(h2h_dilate, h2h_kernel))
        self._h2h = {"kernel": h2h_kernel, "stride": (1, 1), "pad": pad, "dilate": h2h_dilate}
        one_gate = symbol.Convolution(
            symbol.Variable("data"), num_filter=num_hidden, layout=conv_layout, **self._i2h
        )
        self._state_shape = (0, *one_gate.infer_shape(data=input_shape)[1][0][1:])
        self._iW = self.params.get("i2h_weight", init=i2h_weight_initializer)
        self._hW = self.params.get("h2h_weight", init=h2h_weight_initializer)
        self._iB = self.params.get("i2h_bias", init=i2h_bias_initializer)
        self._hB = self.params.get("h2h_bias", init=h2h_bias_initializer)

    @property
    def _num_gates(self):
        return len(self._gate_names)

    @property
    def state_info(self):
        """The hidden state, and with LSTM the cell's memory of the same shape."""
        return [{"shape": self._state_shape, "__layout__": self._conv_layout} for _ in range(self._states)]

    def _convolve(self, step, inputs, hidden):
        shared = {"num_filter": self._num_hidden * self._num_gates, "layout": self._conv_layout}
        i2h = symbol.Convolution(inputs, self._iW, self._iB, name=step + "i2h", **shared, **self._i2h)
        h2h = symbol.Convolution(hidden, self._hW, self._hB, name=step + "h2h", **shared, **self._h2h)
        return i2h, h2h

    def _slices(self, value, name):
        axis = self._conv_layout.find("C")
        return symbol.SliceChannel(value, num_outputs=self._num_gates, axis=axis, name=name)

    def _activate(self, value, name):
        return self._get_activation(value, self._activation, name=name)


class ConvRNNCell(BaseConvRNNCell):
    """`h' = activation(W * x + b + U * h + c)` with convolutions; see BaseConvRNNCell.

    Examples
    --------
    >>> from headrace.mxnet import rnn
    >>> cell = rnn.ConvRNNCell(input_shape=(1, 3, 8, 8), num_hidden=4)
    >>> outputs, states = cell.unroll(2, sym.var("data"), merge_outputs=True)
    >>> outputs.infer_shape(data=(1, 2, 3, 8, 8))[1]
    [(1, 2, 4, 8, 8)]
    """

    _kind = "ConvRNN"

    @property
    def _gate_names(self):
        return ("",)

    def __call__(self, inputs, states):
        """One step."""
        step = self._next_step()
        i2h, h2h = self._convolve(step, inputs, states[0])
        output = self._activate(i2h + h2h, step + "out")
        return output, [output]


class ConvLSTMCell(BaseConvRNNCell):
    """LSTMCell with convolutions in the place of its matrices; see BaseConvRNNCell.

    Examples
    --------
    >>> from headrace.mxnet import rnn
    >>> cell = rnn.ConvLSTMCell(input_shape=(1, 3, 8, 8), num_hidden=4)
    >>> [state["shape"] for state in cell.state_info]
    [(0, 4, 8, 8), (0, 4, 8, 8)]
    """

    _kind = "ConvLSTM"
    _states = 2

    @property
    def _gate_names(self):
        return ["_i", "_f", "_c", "_o"]

    def __call__(self, inputs, states):
        """One step."""
        step = self._next_step()
        i2h, h2h = self._convolve(step, inputs, states[0])
        gates = self._slices(i2h + h2h, step + "slice")
        sigmoid = operator(symbol, "sigmoid")
        output, memory = lstm_step(step, gates, states[1], sigmoid, self._activate)
        return output, [output, memory]


class ConvGRUCell(BaseConvRNNCell):
    """GRUCell with convolutions in the place of its matrices; see BaseConvRNNCell.

    Examples
    --------
    >>> from headrace.mxnet import rnn
    >>> cell = rnn.ConvGRUCell(input_shape=(1, 3, 8, 8), num_hidden=4)
    >>> outputs, states = cell.unroll(2, sym.var("data"), merge_outputs=True)
    >>> outputs.infer_shape(data=(1, 2, 3, 8, 8))[1]
    [(1, 2, 4, 8, 8)]
    """

    _kind = "ConvGRU"

    @property
    def _gate_names(self):
        return ["_r", "_z", "_o"]

    def __call__(self, inputs, states):
        """One step."""
        step = self._next_step()
        i2h, h2h = self._convolve(step, inputs, states[0])
        i2h, h2h = self._slices(i2h, step + "_i2h_slice"), self._slices(h2h, step + "_h2h_slice")
        sigmoid = operator(symbol, "sigmoid")
        output = gru_step(step, i2h, h2h, states[0], sigmoid, self._activate)
        return output, [output]
