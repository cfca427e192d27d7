"""What all cells share: states to begin with, one step, and many steps."""

import inspect

from ... import _arrays as arrays
from ... import ndarray as nd
from ... import symbol
from ..block import Block
from ..hybrid_block import HybridBlock
from ..nn import LeakyReLU
from .operators import operators
from .sequences import begin_state_of, format_sequence, mask_sequence, merge_steps

__all__ = ["HybridRecurrentCell", "RecurrentCell"]


def _in_mode(state):
    if isinstance(state, symbol.Symbol):
        return state.as_np_ndarray() if arrays.is_np_array() else state
    return arrays.in_mode(state) if isinstance(state, nd.NDArray) else state


def make_state(func, name, info):
    """`func(name=..., **info)`; functions of arrays get no texts of nodes such as `__layout__`."""
    if isinstance(func, type(nd.exp)) or any(func is one for one in vars(nd).values()):
        info = {key: value for key, value in info.items() if not key.startswith("__")}
    return _in_mode(func(name=name, **info))


class RecurrentCell(Block):
    """One step of a recurrent network: `cell(inputs, states)` gives (output, new states).

    Subclasses define `state_info` and `forward`. Steps are counted, so that the operators of step t are
    named `t<t>_...`; `reset` starts anew.

    Examples
    --------
    >>> class Sum(gluon.rnn.RecurrentCell):
    ...     def state_info(self, batch_size=0):
    ...         return [{"shape": (batch_size, 1), "__layout__": "NC"}]
    ...     def forward(self, inputs, states):
    ...         self._counter += 1
    ...         total = states[0] + inputs
    ...         return total, [total]
    >>> outputs, states = Sum().unroll(3, nd.array([[[1], [2], [3]]]), merge_outputs=True)
    >>> outputs
    [[[1.]
      [3.]
      [6.]]]
    <NDArray 1x3x1 @cpu(0)>
    """

    def __init__(self, prefix=None, params=None):
        super().__init__(prefix=prefix, params=params)
        self._modified = False
        self.reset()

    def reset(self):
        """Forgets what earlier steps left behind, of this cell and those inside: the next step is t0."""
        self._init_counter = -1
        self._counter = -1
        for child in self._children.values():
            if isinstance(child, RecurrentCell):
                child.reset()

    def state_info(self, batch_size=0):
        """A list with one dictionary per state: `shape` and `__layout__`."""
        raise NotImplementedError(f"{type(self).__name__} has no state_info(self, batch_size)")

    def _check_not_modified(self):
        assert not self._modified, (
            f"Cell {self.name} is part of a modifier cell (ZoneoutCell, ResidualCell, ...) and cannot be "
            "called directly; call the modifier cell instead."
        )

    def begin_state(self, batch_size=0, func=nd.zeros, **kwargs):
        """The states before the first step, made by `func(name=, shape=, **kwargs)`.

        `func` is nd.zeros or its like, with the batch size, or sym.zeros, sym.var or their like.
        AssertionError: the cell belongs to a modifier cell.
        """
        self._check_not_modified()
        states = []
        for info in self.state_info(batch_size):
            self._init_counter += 1
            name = f"{self._prefix}begin_state_{self._init_counter}"
            states.append(make_state(func, name, {**(info or {}), **kwargs}))
        return states

    def unroll(self, length, inputs, begin_state=None, layout="NTC", merge_outputs=None, valid_length=None):
        """Calls the cell for `length` steps; returns (outputs, states after the last step).

        Parameters
        ----------
        length : the number of steps.
        inputs : one array or symbol of `layout` (steps along T), or a list with one (N, C) per step.
        begin_state : states to begin with; None: zeros.
        layout : 'NTC' or 'TNC'.
        merge_outputs : True: outputs are one array or symbol of `layout`; False: a list with one per step;
            None: whatever is faster.
        valid_length : array or symbol (N,), how many steps of each sequence count. Outputs behind them are
            zeros, and the states are those after the last step that counts.
        """
        self.reset()
        inputs, axis, F, batch_size = format_sequence(length, inputs, layout, False)
        states = begin_state_of(self, F, begin_state, inputs, batch_size)
        outputs, history = [], []
        for i in range(length):
            output, states = self(inputs[i], states)
            outputs.append(output)
            if valid_length is not None:
                history.append(states)
        if valid_length is not None:
            states = [_last_valid(F, steps, valid_length) for steps in zip(*history)]
            outputs = mask_sequence(F, outputs, length, valid_length, axis, True)
        outputs, _, _, _ = format_sequence(length, outputs, layout, merge_outputs)
        return outputs, states

    def _get_activation(self, F, inputs, activation, **kwargs):
        """`activation` (a name, a block or a function) of the inputs; `kwargs` may name the operator."""
        ops = operators(F)
        if isinstance(activation, str):
            if activation in ("tanh", "relu", "sigmoid", "softsign"):
                return getattr(ops, activation)(inputs, **kwargs)
            return ops.Activation(inputs, act_type=activation, **kwargs)
        if isinstance(activation, LeakyReLU):
            return ops.LeakyReLU(inputs, act_type="leaky", slope=activation._alpha, **kwargs)
        return activation(inputs) if isinstance(activation, Block) else activation(inputs, **kwargs)

    def _check_inputs(self, args):
        super()._check_inputs(args)
        if inspect.unwrap(type(self).state_info) is RecurrentCell.state_info:
            return
        expected = len(self.state_info())
        states = args[1] if len(args) > 1 else None
        if not isinstance(states, (list, tuple, symbol.Symbol)) or len(states) != expected:
            got = f"{len(states)} of them" if isinstance(states, (list, tuple)) else type(states).__name__
            raise ValueError(
                f"{type(self).__name__} {self.name}: expected a list of {expected} states as second input, "
                f"got {got}; begin_state(batch_size) makes the first ones"
            )

    def forward(self, inputs, states):
        """One step: (output, new states) of inputs (N, C) and the states that the last step gave."""
        self._counter += 1
        return super().forward(inputs, states)


def _last_valid(F, steps, valid_length):
    """The state after the last step that counts, of each sequence."""
    steps = merge_steps(F, steps, 0)
    return operators(F).SequenceLast(steps, sequence_length=valid_length, use_sequence_length=True, axis=0)


class HybridRecurrentCell(RecurrentCell, HybridBlock):
    """A cell that defines `hybrid_forward(self, F, inputs, states, **parameters)` and can be hybridized.

    Examples
    --------
    >>> class Sums(gluon.rnn.HybridRecurrentCell):
    ...     def state_info(self, batch_size=0):
    ...         return [{"shape": (batch_size, 3), "__layout__": "NC"}]
    ...     def hybrid_forward(self, F, inputs, states):
    ...         return inputs + states[0], [inputs + states[0]]
    >>> outputs, states = Sums().unroll(4, nd.ones((1, 4, 3)), merge_outputs=True)
    >>> outputs[0, :, 0]
    [1. 2. 3. 4.]
    <NDArray 4 @cpu(0)>
    """

    def hybrid_forward(self, F, x, *args, **kwargs):
        """Computes (output, new states) with the operators of `F`; every subclass defines it."""
        raise NotImplementedError(
            f"{type(self).__name__} has no hybrid_forward(self, F, inputs, states, ...)"
        )
