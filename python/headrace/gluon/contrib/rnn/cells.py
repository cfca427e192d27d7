"""A modifier cell with one dropout mask per sequence, LSTM with projection, and unrolling as a loop."""

from ...rnn.formulas import lstm_step
from ...rnn.gated_cells import FullyConnectedCell
from ...rnn.modifier_cells import ModifierCell, check_can_step
from ...rnn.operators import activation, operators
from ...rnn.sequences import begin_state_of, format_sequence, mask_sequence

__all__ = ["LSTMPCell", "VariationalDropoutCell", "dynamic_unroll"]


class VariationalDropoutCell(ModifierCell):
    """Dropout in training with one mask for all steps of a sequence, drawn anew after `reset`.

    `drop_inputs`, `drop_states` (the first state) and `drop_outputs` are the rates. AssertionError:
    `drop_states` with a base cell that reads in two directions.

    Examples
    --------
    >>> cell = gluon.contrib.rnn.VariationalDropoutCell(gluon.rnn.LSTMCell(4), drop_inputs=0.2)
    >>> cell.initialize()
    >>> outputs, states = cell.unroll(3, nd.ones((2, 3, 2)), merge_outputs=True)
    >>> outputs.shape
    (2, 3, 4)
    """

    def __init__(self, base_cell, drop_inputs=0.0, drop_states=0.0, drop_outputs=0.0):
        if drop_states:
            check_can_step(base_cell, "dropout of states")
        super().__init__(base_cell)
        self.drop_inputs = drop_inputs
        self.drop_states = drop_states
        self.drop_outputs = drop_outputs
        self._forget_masks()

    def _alias(self):
        return "vardrop"

    def _forget_masks(self):
        self.drop_inputs_mask = None
        self.drop_states_mask = None
        self.drop_outputs_mask = None

    def reset(self):
        """As RecurrentCell.reset; the next step draws new masks."""
        super().reset()
        self._forget_masks()

    def _masked(self, F, value, what):
        """`value` with the mask of this sequence, drawn at its first step; `what` is 'drop_inputs', ..."""
        rate = getattr(self, what)
        if not rate:
            return value
        mask = getattr(self, what + "_mask")
        if mask is None:
            ops = operators(F)
            mask = ops.Dropout(ops.ones_like(value), p=rate)
            setattr(self, what + "_mask", mask)
        return value * mask

    def hybrid_forward(self, F, inputs, states):
        hidden = self._masked(F, states[0], "drop_states")
        inputs = self._masked(F, inputs, "drop_inputs")
        output, states = self.base_cell(inputs, [hidden, *states[1:]])
        return self._masked(F, output, "drop_outputs"), states

    def unroll(self, length, inputs, begin_state=None, layout="NTC", merge_outputs=None, valid_length=None):
        """As RecurrentCell.unroll; without `drop_states`, masks go over the whole sequence at once."""
        if self.drop_states:
            return super().unroll(length, inputs, begin_state, layout, merge_outputs, valid_length)
        self.reset()
        inputs, axis, F, batch_size = format_sequence(length, inputs, layout, True)
        states = begin_state_of(self, F, begin_state, inputs, batch_size)
        inputs = _dropped(F, inputs, self.drop_inputs, axis)
        with self._open() as cell:
            outputs, states = cell.unroll(
                length,
                inputs=inputs,
                begin_state=states,
                layout=layout,
                merge_outputs=True,
                valid_length=valid_length,
            )
        outputs = _dropped(F, outputs, self.drop_outputs, axis)
        merge = merge_outputs is None or merge_outputs
        outputs, _, _, _ = format_sequence(length, outputs, layout, merge)
        if valid_length is not None:
            outputs = mask_sequence(F, outputs, length, valid_length, axis, merge)
        return outputs, states

    def __repr__(self):
        return f"{type(self).__name__}(p_out = {self.drop_outputs}, p_state = {self.drop_states})"


def _dropped(F, sequence, rate, axis):
    """Dropout of a merged sequence, with one mask for all steps."""
    return operators(F).Dropout(sequence, p=rate, axes=(axis,)) if rate else sequence


class LSTMPCell(FullyConnectedCell):
    """LSTM whose output r' = V h' is a projection, (N, projection_size); the states are [r', c'].

    See LSTMCell; r takes the place of h in the gates. `h2r_weight` is V.

    Examples
    --------
    >>> cell = gluon.contrib.rnn.LSTMPCell(hidden_size=8, projection_size=4)
    >>> cell.initialize()
    >>> output, states = cell(nd.ones((2, 3)), cell.begin_state(batch_size=2))
    >>> output.shape, [state.shape for state in states]
    ((2, 4), [(2, 4), (2, 8)])
    """

    _gates = 4
    _states = 2

    def __init__(
        self,
        hidden_size,
        projection_size,
        i2h_weight_initializer=None,
        h2h_weight_initializer=None,
        h2r_weight_initializer=None,
        i2h_bias_initializer="zeros",
        h2h_bias_initializer="zeros",
        input_size=0,
        prefix=None,
        params=None,
    ):
        self._projection_size = projection_size
        self._h2r_initializer = h2r_weight_initializer
        initializers = (
            i2h_weight_initializer,
            h2h_weight_initializer,
            i2h_bias_initializer,
            h2h_bias_initializer,
        )
        super().__init__(hidden_size, input_size, initializers, prefix, params)

    def _add_more_weights(self):
        self._add_parameter("h2r_weight", (self._projection_size, self._hidden_size), self._h2r_initializer)

    def _alias(self):
        return "lstmp"

    def _output_size(self):
        return self._projection_size

    def state_info(self, batch_size=0):
        """The projected output and the cell's memory."""
        sizes = (self._projection_size, self._hidden_size)
        return [{"shape": (batch_size, size), "__layout__": "NC"} for size in sizes]

    def hybrid_forward(self, F, inputs, states, i2h_weight, h2h_weight, h2r_weight, i2h_bias, h2h_bias):
        ops, step = operators(F), f"t{self._counter}_"
        i2h, h2h = self._project(ops, step, inputs, states[0], (i2h_weight, h2h_weight), (i2h_bias, h2h_bias))
        gates = ops.SliceChannel(i2h + h2h, num_outputs=4, name=step + "slice")
        sigmoid, tanh = activation(ops, "sigmoid"), activation(ops, "tanh")
        hidden, memory = lstm_step(ops, step, gates, states[1], sigmoid, tanh, tanh, out="hidden")
        output = ops.FullyConnected(
            hidden, h2r_weight, num_hidden=self._projection_size, no_bias=True, name=step + "out"
        )
        return output, [output, memory]

    def __repr__(self):
        return f"{type(self).__name__}({self._mapping()} -> {self._projection_size})"


def dynamic_unroll(cell, inputs, begin_state, drop_inputs=0, drop_outputs=0, layout="TNC", valid_length=None):
    """Unrolls a cell as a loop: in a graph it is one node, whatever the number of steps.

    `inputs` are one array or symbol of `layout`; TNC is the fastest. `drop_inputs` and `drop_outputs` are
    rates of dropout with one mask for all steps. Returns (outputs, states after the last step); with
    `valid_length` (N,) as RecurrentCell.unroll.

    Examples
    --------
    >>> cell = gluon.rnn.RNNCell(4)
    >>> cell.initialize()
    >>> steps = nd.ones((7, 2, 3))  # 7 steps of a batch of 2
    >>> outputs, states = gluon.contrib.rnn.dynamic_unroll(cell, steps, cell.begin_state(batch_size=2))
    >>> outputs.shape, states[0].shape
    ((7, 2, 4), (2, 4))
    """
    inputs, axis, F, _ = format_sequence(0, inputs, layout, True)
    ops = operators(F)
    if axis != 0:
        inputs = ops.swapaxes(inputs, dim1=0, dim2=axis)
    inputs = _dropped(F, inputs, drop_inputs, 0)
    if valid_length is None:
        outputs, states = F.contrib.foreach(cell, inputs, begin_state)
    else:
        outputs, states = _masked_loop(F, cell, inputs, begin_state, valid_length)
    outputs = _dropped(F, outputs, drop_outputs, 0)
    if axis != 0:
        outputs = ops.swapaxes(outputs, dim1=0, dim2=axis)
    if valid_length is not None:
        outputs = ops.SequenceMask(outputs, sequence_length=valid_length, use_sequence_length=True, axis=axis)
    return outputs, states


def _masked_loop(F, cell, inputs, begin_state, valid_length):
    """The loop whose states stay as they are once a sequence has ended; it counts steps in a last state."""
    ops = operators(F)

    def step(x, states):
        *old, count = states
        output, new = cell(x, old)
        goes_on = ops.broadcast_greater(valid_length, count)
        kept = [ops.where(goes_on, after, before) for after, before in zip(new, old)]
        return output, [*kept, count + 1]

    states = begin_state if isinstance(begin_state, (list, tuple)) else [begin_state]
    count = ops.zeros_like(ops.slice_axis(valid_length, axis=0, begin=0, end=1))
    outputs, states = F.contrib.foreach(step, inputs, [*states, count])
    return outputs, states[:-1]
