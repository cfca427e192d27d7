"""Cells that change what another cell takes or gives."""

from ... import ndarray as nd
from ...base import numeric_types
from ..parameter import tensor_types
from .operators import operators
from .recurrent_cell import HybridRecurrentCell
from .sequences import format_sequence, mask_sequence
from .stacked_cells import BidirectionalCell

__all__ = ["DropoutCell", "ModifierCell", "ResidualCell", "ZoneoutCell"]


class DropoutCell(HybridRecurrentCell):
    """Dropout of the inputs in training; it has no states. One decision is shared along the axes in `axes`.

    AssertionError: `rate` is no number.

    Examples
    --------
    >>> cell = gluon.rnn.DropoutCell(0.5)
    >>> output, states = cell(nd.ones((2, 3)), [])
    >>> output
    [[1. 1. 1.]
     [1. 1. 1.]]
    <NDArray 2x3 @cpu(0)>
    """

    def __init__(self, rate, axes=(), prefix=None, params=None):
        super().__init__(prefix, params)
        assert isinstance(rate, numeric_types), f"DropoutCell: rate must be a number, got {rate!r}"
        self._rate = rate
        self._axes = axes

    def _alias(self):
        return "dropout"

    def state_info(self, batch_size=0):
        """No states."""
        return []

    def hybrid_forward(self, F, inputs, states):
        if self._rate > 0:
            name = f"t{self._counter}_fwd"
            inputs = operators(F).Dropout(inputs, p=self._rate, axes=self._axes, name=name)
        return inputs, states

    def unroll(self, length, inputs, begin_state=None, layout="NTC", merge_outputs=None, valid_length=None):
        """As RecurrentCell.unroll; a merged sequence goes through as one. Nothing is masked."""
        self.reset()
        inputs, _, F, _ = format_sequence(length, inputs, layout, merge_outputs)
        if isinstance(inputs, tensor_types):
            return self.hybrid_forward(F, inputs, begin_state or [])
        return super().unroll(length, inputs, begin_state, layout, merge_outputs)

    def __repr__(self):
        return f"{type(self).__name__}(rate={self._rate}, axes={self._axes})"


class ModifierCell(HybridRecurrentCell):
    """A cell around `base_cell`, whose parameters and states it has; call it in the place of that one.

    AssertionError: `base_cell` is in a modifier cell already.

    Examples
    --------
    >>> class Doubled(gluon.rnn.ModifierCell):
    ...     def hybrid_forward(self, F, inputs, states):
    ...         output, states = self.base_cell(inputs, states)
    ...         return output * 2, states
    >>> cell = Doubled(gluon.rnn.RNNCell(4, input_size=3))
    >>> cell.state_info(batch_size=2)
    [{'shape': (2, 4), '__layout__': 'NC'}]
    """

    def __init__(self, base_cell):
        assert not base_cell._modified, (
            f"Cell {base_cell.name} is already modified. One cell cannot be modified twice; modify the "
            "modifier cell instead."
        )
        base_cell._modified = True
        super().__init__(prefix=base_cell.prefix + self._alias(), params=None)
        self.base_cell = base_cell

    @property
    def params(self):
        """The base cell's parameters."""
        return self.base_cell.params

    def state_info(self, batch_size=0):
        """The base cell's states."""
        return self.base_cell.state_info(batch_size)

    def begin_state(self, func=nd.zeros, batch_size=0, **kwargs):
        """The base cell's states to begin with. A number in the place of `func` is the batch size."""
        self._check_not_modified()
        if not callable(func):
            func, batch_size = nd.zeros, func
        with self._open() as cell:
            return cell.begin_state(batch_size=batch_size, func=func, **kwargs)

    def _open(self):
        return _Opened(self.base_cell)

    def hybrid_forward(self, F, inputs, states):
        """Computes (output, new states) with the operators of `F`; every subclass defines it."""
        raise NotImplementedError(f"{type(self).__name__} has no hybrid_forward(self, F, inputs, states)")

    def __repr__(self):
        return f"{type(self).__name__}({self.base_cell})"


class _Opened:
    """Meanwhile a modifier cell may use what its base cell refuses to others."""

    def __init__(self, cell):
        self._cell = cell

    def __enter__(self):
        self._cell._modified = False
        return self._cell

    def __exit__(self, exc_type, exc_value, traceback):
        self._cell._modified = True


def check_can_step(cell, what):
    """AssertionError: `cell` reads in two directions, so it has no steps that `what` could change."""
    has_two = getattr(cell, "_has_bidirectional", None)
    assert not isinstance(cell, BidirectionalCell) and not (has_two and has_two()), (
        f"{type(cell).__name__} {cell.name} reads in two directions and has no steps for {what}; modify the "
        "cells inside instead"
    )


class ZoneoutCell(ModifierCell):
    """In training, elements of outputs and states keep their last step's value at random.

    `zoneout_outputs` and `zoneout_states` are the probabilities. Outside training elements are kept as the
    base cell gives them. AssertionError: the base cell reads in two directions.

    Examples
    --------
    >>> cell = gluon.rnn.ZoneoutCell(gluon.rnn.RNNCell(4), zoneout_states=0.1)
    >>> cell.initialize()
    >>> outputs, states = cell.unroll(5, nd.ones((2, 5, 3)), merge_outputs=True)
    >>> outputs.shape
    (2, 5, 4)
    """

    def __init__(self, base_cell, zoneout_outputs=0.0, zoneout_states=0.0):
        check_can_step(base_cell, "zoneout")
        super().__init__(base_cell)
        self.zoneout_outputs = zoneout_outputs
        self.zoneout_states = zoneout_states
        self._prev_output = None

    def _alias(self):
        return "zoneout"

    def reset(self):
        """As RecurrentCell.reset; the output before the first step is zeros."""
        super().reset()
        self._prev_output = None

    def hybrid_forward(self, F, inputs, states):
        ops = operators(F)
        output, new_states = self.base_cell(inputs, states)
        if self.zoneout_outputs != 0.0:
            before = ops.zeros_like(output) if self._prev_output is None else self._prev_output
            output = _mixed(ops, self.zoneout_outputs, output, before)
        if self.zoneout_states != 0.0:
            new_states = [_mixed(ops, self.zoneout_states, new, old) for new, old in zip(new_states, states)]
        self._prev_output = output
        return output, new_states

    def __repr__(self):
        rates = f"p_out={self.zoneout_outputs}, p_state={self.zoneout_states}"
        return f"{type(self).__name__}({rates}, {self.base_cell})"


def _mixed(ops, rate, new, old):
    """`new`, and `old` at elements chosen with probability `rate`."""
    return ops.where(ops.Dropout(ops.ones_like(new), p=rate), new, old)


class ResidualCell(ModifierCell):
    """The base cell's output plus the input, which must have the same shape.

    Examples
    --------
    >>> cell = gluon.rnn.ResidualCell(gluon.rnn.RNNCell(3))
    >>> cell.initialize(init.Zero())
    >>> output, states = cell(nd.array([[1, 2, 3]]), cell.begin_state(batch_size=1))
    >>> output
    [[1. 2. 3.]]
    <NDArray 1x3 @cpu(0)>
    """

    def hybrid_forward(self, F, inputs, states):
        output, states = self.base_cell(inputs, states)
        return operators(F).elemwise_add(output, inputs, name=f"t{self._counter}_fwd"), states

    def unroll(self, length, inputs, begin_state=None, layout="NTC", merge_outputs=None, valid_length=None):
        """As RecurrentCell.unroll; the base cell is unrolled, and the inputs are added to its outputs."""
        self.reset()
        with self._open() as cell:
            outputs, states = cell.unroll(
                length,
                inputs=inputs,
                begin_state=begin_state,
                layout=layout,
                merge_outputs=merge_outputs,
                valid_length=valid_length,
            )
        merge = isinstance(outputs, tensor_types) if merge_outputs is None else merge_outputs
        inputs, axis, F, _ = format_sequence(length, inputs, layout, merge)
        if valid_length is not None:
            inputs = mask_sequence(F, inputs, length, valid_length, axis, merge)
        add = operators(F).elemwise_add
        if merge:
            return add(outputs, inputs), states
        return [add(output, x) for output, x in zip(outputs, inputs)], states
