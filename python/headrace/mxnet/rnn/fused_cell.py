"""All layers, directions and steps as one operator."""

import warnings

from ... import initializer, symbol
from ... import ndarray as nd
from ...initializer.fused_weights import FusedWeights
from .base import BaseRNNCell, as_asked, as_one
from .composite_cells import BidirectionalCell, SequentialRNNCell
from .dropout_cell import DropoutCell
from .gated_cells import GRUCell, LSTMCell, RNNCell

__all__ = ["FusedRNNCell"]


class FusedRNNCell(BaseRNNCell):
    """Layers of recurrent cells that the operator RNN computes; it only unrolls.

    Parameters
    ----------
    num_hidden : size of the hidden state.
    num_layers : how many layers lie on top of each other.
    mode : 'rnn_relu', 'rnn_tanh', 'lstm' or 'gru'.
    bidirectional : whether every layer reads in both directions.
    dropout : rate of dropout in training between layers.
    get_next_state : whether unroll returns the states after the last step.
    forget_bias : where the biases of LSTM's forget gates begin.

    Its one variable, `parameters`, holds the weights of all layers and directions, then all biases.
    ValueError: an unknown mode.

    Examples
    --------
    >>> from headrace.mxnet import rnn
    >>> cell = rnn.FusedRNNCell(4, num_layers=2, mode="gru")
    >>> outputs, states = cell.unroll(5, sym.var("data"), merge_outputs=True)
    >>> outputs.infer_shape(data=(2, 5, 3))[1]
    [(2, 5, 4)]
    """

    def __init__(
        self,
        num_hidden,
        num_layers=1,
        mode="lstm",
        bidirectional=False,
        dropout=0.0,
        get_next_state=False,
        forget_bias=1.0,
        prefix=None,
        params=None,
    ):
        super().__init__(f"{mode}_" if prefix is None else prefix, params)
        self._weights = FusedWeights(num_hidden, num_layers, mode, bidirectional, self._prefix)
        self._num_hidden = num_hidden
        self._num_layers = num_layers
        self._mode = mode
        self._bidirectional = bidirectional
        self._dropout = dropout
        self._get_next_state = get_next_state
        init = initializer.FusedRNN(None, num_hidden, num_layers, mode, bidirectional, forget_bias)
        self._parameter = self.params.get("parameters", init=init)

    @property
    def state_info(self):
        """The hidden states of all layers and directions, and with LSTM the cells' memories."""
        shape = (len(self._weights.sides) * self._num_layers, 0, self._num_hidden)
        return [{"shape": shape, "__layout__": "LNC"} for _ in range(2 if self._mode == "lstm" else 1)]

    @property
    def _gate_names(self):
        return self._weights.gates

    @property
    def _num_gates(self):
        return len(self._gate_names)

    def unpack_weights(self, args):
        """A copy of `args` (name to array) with an array for every gate in the place of `parameters`."""
        args = dict(args)
        views = self._weights.views(args.pop(self._parameter.name))
        args.update((name, view.copy()) for name, view in views.items())
        return args

    def pack_weights(self, args):
        """What unpack_weights took apart."""
        args = dict(args)
        first = args[next(self._weights.parts(0))[0]]
        count = self._weights.count(first.shape[1])
        packed = nd.zeros((count,), ctx=first.context, dtype=first.dtype)
        for name, view in self._weights.views(packed).items():
            view[:] = args.pop(name)
        args[self._parameter.name] = packed
        return args

    def __call__(self, inputs, states):
        """Refuses: all steps are one operator."""
        raise NotImplementedError("FusedRNNCell cannot be stepped; use unroll, or unfuse() it")

    def unroll(self, length, inputs, begin_state=None, layout="NTC", merge_outputs=None):
        """As BaseRNNCell.unroll; the states are [] unless `get_next_state` was asked for.

        ValueError: the layout has the time at another place than the first or second.
        """
        self.reset()
        axis = layout.find("T")
        if axis not in (0, 1):
            raise ValueError(f"FusedRNNCell: expected the layout 'TNC' or 'NTC', got {layout!r}")
        inputs = as_one(length, inputs, layout)
        if axis == 1:
            warnings.warn("FusedRNNCell: the layout TNC is faster than NTC", stacklevel=2)
            inputs = symbol.swapaxes(inputs, dim1=0, dim2=1)
        states = self.begin_state() if begin_state is None else begin_state
        names = ("state", "state_cell") if self._mode == "lstm" else ("state",)
        out = symbol.RNN(
            data=inputs,
            parameters=self._parameter,
            state_size=self._num_hidden,
            num_layers=self._num_layers,
            bidirectional=self._bidirectional,
            p=self._dropout,
            state_outputs=self._get_next_state,
            mode=self._mode,
            name=self._prefix + "rnn",
            **dict(zip(names, states)),
        )
        outputs, states = (out[0], list(out)[1:]) if self._get_next_state else (out, [])
        for state in states:
            state._set_attr(__layout__="LNC")
        if axis == 1:
            outputs = symbol.swapaxes(outputs, dim1=0, dim2=1)
        return as_asked(length, outputs, layout, merge_outputs), states

    def unfuse(self):
        """The same layers as a SequentialRNNCell of cells that can be stepped; dropout lies between them.

        Its weights are those of unpack_weights, once its own pack_weights has put them together.
        """
        stack = SequentialRNNCell()
        for layer in range(self._num_layers):
            cells = [self._unfused(f"{self._prefix}{side}{layer}_") for side in self._weights.sides]
            if self._bidirectional:
                cells = [BidirectionalCell(*cells, output_prefix=f"{self._prefix}bi_l{layer}_")]
            stack.add(cells[0])
            if self._dropout > 0 and layer != self._num_layers - 1:
                stack.add(DropoutCell(self._dropout, prefix=f"{self._prefix}_dropout{layer}_"))
        return stack

    def _unfused(self, prefix):
        if self._mode == "lstm":
            return LSTMCell(self._num_hidden, prefix=prefix)
        if self._mode == "gru":
            return GRUCell(self._num_hidden, prefix=prefix)
        return RNNCell(self._num_hidden, activation=self._mode[len("rnn_") :], prefix=prefix)
