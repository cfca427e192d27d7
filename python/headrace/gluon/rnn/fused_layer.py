"""What RNN, LSTM and GRU share: their parameters, and the call of the operator RNN for all steps at once."""

import operator
import re

from ... import ndarray as nd
from ... import symbol
from ..hybrid_block import HybridBlock
from ..parameter import tensor_types
from .gated_cells import GRUCell, LSTMCell, RNNCell
from .modifier_cells import DropoutCell
from .operators import operators
from .recurrent_cell import make_state
from .stacked_cells import BidirectionalCell, HybridSequentialRNNCell

__all__ = ["FusedLayer"]

_GATES = {"rnn_relu": 1, "rnn_tanh": 1, "lstm": 4, "gru": 3}
_MOST_UNITS, _MOST_LAYERS = (1 << 31) - 1, 1 << 14  # the parameters of more layers are no inputs of one node
_PARAMETER = re.compile(r"(l|r)(\d+)_(\w+)")


class FusedLayer(HybridBlock):
    """What the layers share: parameters of all layers and directions, and the call of the operator.

    AssertionError: an unknown layout. ValueError: an unknown mode, a size or a number of layers that is no
    positive integer or beyond what a graph can hold, an input without three axes, or states of another shape.

    Examples
    --------
    >>> issubclass(gluon.rnn.LSTM, mx.gluon.rnn.fused_layer.FusedLayer)
    True
    """

    def __init__(
        self,
        mode,
        hidden_size,
        num_layers,
        layout,
        dropout,
        bidirectional,
        input_size,
        initializers,
        dtype,
        use_sequence_length=False,
        projection_size=None,
        clip=(None, None, False),
        prefix=None,
        params=None,
    ):
        super().__init__(prefix=prefix, params=params)
        assert layout in ("TNC", "NTC"), f"Invalid layout {layout}; must be one of ['TNC' or 'NTC']"
        if mode not in _GATES:
            raise ValueError(
                f"{type(self).__name__}: expected the activation 'relu' or 'tanh', got {mode[4:]!r}"
            )
        self._mode = mode
        self._gates = _GATES[mode]
        self._hidden_size = self._positive("hidden_size", hidden_size, _MOST_UNITS)
        self._num_layers = self._positive("num_layers", num_layers, _MOST_LAYERS)
        self._layout = layout
        self._dropout = dropout
        self._dir = 2 if bidirectional else 1
        self._input_size = input_size
        self._dtype = dtype
        self._use_sequence_length = use_sequence_length
        self._projection_size = projection_size or None
        self._lstm_state_clip_min, self._lstm_state_clip_max, self._lstm_state_clip_nan = clip
        self._initializers = initializers
        self.skip_states = None
        for name, shape in self._shapes(input_size):
            init = initializers[name.partition("_")[2]]
            param = self.params.get(name, shape=shape, init=init, allow_deferred_init=True, dtype=dtype)
            setattr(self, name, param)

    def _positive(self, name, value, most):
        if not hasattr(value, "__index__") or not 1 <= operator.index(value) <= most:
            raise ValueError(
                f"{type(self).__name__}: {name} must be an integer from 1 to {most}, got {value!r}"
            )
        return operator.index(value)

    def _cells(self):
        """What the names of one layer's and direction's parameters start with, in order."""
        return [f"{side}{layer}" for layer in range(self._num_layers) for side in "lr"[: self._dir]]

    def _shapes(self, input_size):
        """(name, shape) of all parameters."""
        rows, out = self._gates * self._hidden_size, self._projection_size or self._hidden_size
        for cell in self._cells():
            columns = input_size if cell[1:] == "0" else out * self._dir
            yield f"{cell}_i2h_weight", (rows, columns)
            yield f"{cell}_h2h_weight", (rows, out)
            yield f"{cell}_i2h_bias", (rows,)
            yield f"{cell}_h2h_bias", (rows,)
            if self._projection_size:
                yield f"{cell}_h2r_weight", (out, self._hidden_size)

    def _collect_params_with_prefix(self, prefix=""):
        # MXNet's files name parameters as if the layer were a stack of cells.
        prefix += "." if prefix else ""
        found = {}
        for name, param in self._reg_params.items():
            side, layer, rest = _PARAMETER.fullmatch(name).groups()
            path = f"{side}_cell.{rest}" if self._dir == 2 else rest
            found[f"{prefix}_unfused.{layer}.{path}"] = param
        for name, child in self._children.items():
            found.update(child._collect_params_with_prefix(prefix + name))
        return found

    def cast(self, dtype):
        """Converts all parameters and gradients to `dtype`; the states begin with it too."""
        super().cast(dtype)
        self._dtype = dtype

    def state_info(self, batch_size=0):
        """A dictionary with `shape`, `__layout__` and `dtype` for each state: (layers directions, N, C)."""
        sizes = [self._projection_size or self._hidden_size]
        if self._mode == "lstm":
            sizes.append(self._hidden_size)
        cells = self._num_layers * self._dir
        return [
            {"shape": (cells, batch_size, size), "__layout__": "LNC", "dtype": self._dtype} for size in sizes
        ]

    def begin_state(self, batch_size=0, func=nd.zeros, **kwargs):
        """The states before the first step, made by `func(name=, shape=, dtype=, **kwargs)`.

        `func` is nd.zeros or its like, with the batch size, or sym.zeros, sym.var or their like.
        """
        return [
            make_state(func, f"{self.prefix}h0_{i}", {**info, **kwargs})
            for i, info in enumerate(self.state_info(batch_size))
        ]

    def __call__(self, inputs, states=None, sequence_length=None):
        """The outputs of all steps, and with `states` the states after the last one: (outputs, states).

        `inputs` are of the layer's layout, `states` a list as begin_state makes it (or the one state).
        `sequence_length` (N,) is for layers made with `use_sequence_length`: outputs behind it are zeros, and
        the states are those after the last step that counts.
        """
        return super().__call__(*self._arguments(inputs, states, sequence_length))

    def explain(self, inputs, states=None, sequence_length=None):
        """As that of HybridBlock, for the arguments of a call."""
        return super().explain(*self._arguments(inputs, states, sequence_length))

    def _arguments(self, inputs, states, sequence_length):
        """Those of `forward`; the graph of other outputs is dropped."""
        if self.skip_states != (states is None):
            self._clear_cached_op()  # which has states among its outputs or not
            self.skip_states = states is None
        if isinstance(inputs, nd.NDArray) and inputs.ndim != len(self._layout):
            raise ValueError(
                f"{type(self).__name__} {self.name}: expected an input of three axes, {self._layout} (T: "
                f"steps, N: sequences, C: channels), got shape {inputs.shape}; expand_dims adds an axis"
            )
        if states is None:
            states = self._zeros(inputs)
        elif isinstance(states, tensor_types):
            states = [states]
        return inputs, list(states), *((sequence_length,) if self._use_sequence_length else ())

    def _zeros(self, inputs):
        if isinstance(inputs, nd.NDArray):
            batch_size = inputs.shape[self._layout.index("N")]
            return self.begin_state(batch_size, ctx=inputs.context, dtype=inputs.dtype)
        return self.begin_state(0, func=symbol.zeros)

    def hybrid_forward(self, F, inputs, states, sequence_length=None, **params):
        if F is nd:
            self._check_states(inputs, states)
        outputs, states = self._compute(operators(F), inputs, states, sequence_length, params)
        return outputs if self.skip_states else (outputs, states)

    def infer_shape(self, inputs, *_):
        """Sets the shapes of the parameters for such inputs."""
        for name, shape in self._shapes(inputs.shape[2]):
            self._reg_params[name].shape = shape

    def _check_states(self, inputs, states):
        expected = [info["shape"] for info in self.state_info(inputs.shape[self._layout.index("N")])]
        given = [state.shape for state in states]
        if given != expected:
            raise ValueError(
                f"Invalid recurrent state shape. Expecting {expected}, got {given}; "
                "begin_state(batch_size) makes states that fit."
            )

    def _compute(self, ops, inputs, states, sequence_length, params):
        if self._layout == "NTC":
            inputs = ops.swapaxes(inputs, dim1=0, dim2=1)
        lengths = [sequence_length] if self._use_sequence_length else []
        outputs, *states = ops.RNN(
            inputs,
            self._flat(ops, params),
            *states,
            *lengths,
            use_sequence_length=self._use_sequence_length,
            state_size=self._hidden_size,
            projection_size=self._projection_size,
            num_layers=self._num_layers,
            bidirectional=self._dir == 2,
            p=self._dropout,
            state_outputs=True,
            mode=self._mode,
            lstm_state_clip_min=self._lstm_state_clip_min,
            lstm_state_clip_max=self._lstm_state_clip_max,
            lstm_state_clip_nan=self._lstm_state_clip_nan,
        )
        if self._layout == "NTC":
            outputs = ops.swapaxes(outputs, dim1=0, dim2=1)
        return outputs, states

    def _flat(self, ops, params):
        """All parameters as the operator wants them: the weights of all cells, then their biases."""
        groups = ["i2h_weight", "h2h_weight", "h2r_weight"][: 3 if self._projection_size else 2]
        names = [f"{cell}_{group}" for cell in self._cells() for group in groups]
        names += [f"{cell}_{group}" for cell in self._cells() for group in ("i2h_bias", "h2h_bias")]
        return ops._internal._rnn_param_concat(*(params[name].reshape(-1) for name in names), dim=0)

    def _unfuse(self):
        """The same layers as cells that share the parameters. AssertionError: cells cannot compute them."""
        assert not self._projection_size, "_unfuse does not support projection layer yet!"
        assert self._lstm_state_clip_min is None and self._lstm_state_clip_max is None, (
            "_unfuse does not support state clipping yet!"
        )
        stack = HybridSequentialRNNCell(prefix=self.prefix, params=self.params)
        with stack.name_scope():
            columns = self._input_size
            for layer in range(self._num_layers):
                cells = [self._unfused_cell(f"{side}{layer}_", columns) for side in "lr"[: self._dir]]
                stack.add(BidirectionalCell(*cells) if self._dir == 2 else cells[0])
                if self._dropout > 0 and layer != self._num_layers - 1:
                    stack.add(DropoutCell(self._dropout))
                columns = self._hidden_size * self._dir
        return stack

    def _unfused_cell(self, prefix, input_size):
        kwargs = {
            f"{name}_initializer": init for name, init in self._initializers.items() if name != "h2r_weight"
        }
        kwargs.update(input_size=input_size, prefix=prefix)
        if self._mode == "lstm":
            return LSTMCell(self._hidden_size, **kwargs)
        if self._mode == "gru":
            return GRUCell(self._hidden_size, **kwargs)
        return RNNCell(self._hidden_size, activation=self._mode[len("rnn_") :], **kwargs)

    def __repr__(self):
        rows, columns = self.l0_i2h_weight.shape
        parts = [f"{columns or None} -> {rows // self._gates}", self._layout]
        if self._num_layers != 1:
            parts.append(f"num_layers={self._num_layers}")
        if self._dropout != 0:
            parts.append(f"dropout={self._dropout}")
        if self._dir == 2:
            parts.append("bidirectional")
        return f"{type(self).__name__}({', '.join(parts)})"
