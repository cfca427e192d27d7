"""All layers, directions and steps as one operator."""

import warnings

from ... import initializer, symbol
from ... import ndarray as nd
from .base import BaseRNNCell, as_asked, as_one
from .composite_cells import BidirectionalCell, SequentialRNNCell
from .dropout_cell import DropoutCell
from .gated_cells import GRUCell, LSTMCell, RNNCell

__all__ = ["FusedRNNCell"]

_GATES = {
    "rnn_relu": [""],
    "rnn_tanh": [""],
    "lstm": ["_i", "_f", "_c", "_o"],
    "gru": ["_r", "_z", "_o"],
}


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
        if mode not in _GATES:
            raise ValueError(f"FusedRNNCell: expected one of {', '.join(_GATES)} as mode, got {mode!r}")
        super().__init__(f"{mode}_" if prefix is None else prefix, params)
        self._num_hidden = num_hidden
        self._num_layers = num_layers
        self._mode = mode
        self._bidirectional = bidirectional
        self._dropout = dropout
        self._get_next_state = get_next_state
        self._directions = ["l", "r"] if bidirectional else ["l"]
        init = initializer.FusedRNN(None, num_hidden, num_layers, mode, bidirectional, forget_bias)
        self._parameter = self.params.get("parameters", init=init)

    @property
    def state_info(self):
        """The hidden states of all layers and directions, and with LSTM the cells' memories."""
        shape = (len(self._directions) * self._num_layers, 0, self._num_hidden)
        return [{"shape": shape, "__layout__": "LNC"} for _ in range(2 if self._mode == "lstm" else 1)]

    @property
    def _gate_names(self):
        return _GATES[self._mode]

    @property
    def _num_gates(self):
        return len(self._gate_names)

    def _parts(self, num_input):
        """(name, shape) of every gate's weights and biases, in the order of `parameters`."""
        size = self._num_hidden
        cells = [(layer, side) for layer in range(self._num_layers) for side in self._directions]
        for kind in ("weight", "bias"):
            for layer, side in cells:
                width = num_input if layer == 0 else len(self._directions) * size
                for group, columns in (("i2h", width), ("h2h", size)):
                    for gate in self._gate_names:
                        name = f"{self._prefix}{side}{layer}_{group}{gate}_{kind}"
                        yield name, (size, columns) if kind == "weight" else (size,)

    def _slice_weights(self, array, num_input):
        """Name to a view of `array`, the flat parameters. AssertionError: they have another size."""
        views, place = {}, 0
        for name, shape in self._parts(num_input):
            size = shape[0] * (shape[1] if len(shape) > 1 else 1)
            views[name] = array[place : place + size].reshape(shape)
            place += size
        assert place == array.size, (
            f"FusedRNNCell: expected {place} parameters for inputs of size {num_input}, got {array.size}"
        )
        return views

    def _input_size(self, count):
        """The size of the inputs that `count` parameters are for."""
        size, sides = self._num_hidden, len(self._directions)
        rest = (self._num_layers - 1) * (size + sides * size + 2)
        return count // sides // size // self._num_gates - rest - size - 2

    def unpack_weights(self, args):
        """A copy of `args` (name to array) with an array for every gate in the place of `parameters`."""
        args = dict(args)
        packed = args.pop(self._parameter.name)
        views = self._slice_weights(packed, self._input_size(packed.size))
        args.update((name, view.copy()) for name, view in views.items())
        return args

    def pack_weights(self, args):
        """What unpack_weights took apart."""
        args = dict(args)
        parts = list(self._parts(0))
        first = args[parts[0][0]]
        sizes = self._parts(first.shape[1])
        total = sum(shape[0] * (shape[1] if len(shape) > 1 else 1) for _, shape in sizes)
        packed = nd.zeros((total,), ctx=first.context, dtype=first.dtype)
        for name, view in self._slice_weights(packed, first.shape[1]).items():
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
            cells = [self._unfused(f"{self._prefix}{side}{layer}_") for side in self._directions]
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
