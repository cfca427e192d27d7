"""Cells that change what another cell takes or gives."""

from ... import symbol
from .base import BaseRNNCell, as_asked
from .composite_cells import BidirectionalCell, SequentialRNNCell
from .fused_cell import FusedRNNCell

__all__ = ["ModifierCell", "ResidualCell", "ZoneoutCell"]


class ModifierCell(BaseRNNCell):
    """A cell around `base_cell`, whose variables and states it has; call it in the place of that one.

    Examples
    --------
    >>> from headrace.mxnet import rnn
    >>> cell = rnn.ResidualCell(rnn.RNNCell(3))
    >>> isinstance(cell, rnn.ModifierCell), cell.base_cell.state_info
    (True, [{'shape': (0, 3), '__layout__': 'NC'}])
    """

    def __init__(self, base_cell):
        super().__init__()
        base_cell._modified = True
        self.base_cell = base_cell

    @property
    def params(self):
        """The base cell's RNNParams."""
        self._own_params = False
        return self.base_cell.params

    @property
    def state_info(self):
        """The base cell's states."""
        return self.base_cell.state_info

    def begin_state(self, init_sym=symbol.zeros, **kwargs):
        """The base cell's states to begin with; `init_sym` (or `func`) makes them."""
        self._check_not_modified()
        func = kwargs.pop("func", init_sym)
        return self._through(lambda cell: cell.begin_state(func=func, **kwargs))

    def _through(self, use):
        """`use(base cell)`, which refuses others."""
        self.base_cell._modified = False
        try:
            return use(self.base_cell)
        finally:
            self.base_cell._modified = True

    def unpack_weights(self, args):
        """As that of the base cell."""
        return self.base_cell.unpack_weights(args)

    def pack_weights(self, args):
        """As that of the base cell."""
        return self.base_cell.pack_weights(args)


class ZoneoutCell(ModifierCell):
    """In training, elements of outputs and states keep their last step's value at random.

    AssertionError: the base cell is fused or reads in two directions.

    Examples
    --------
    >>> from headrace.mxnet import rnn
    >>> cell = rnn.ZoneoutCell(rnn.RNNCell(4), zoneout_states=0.2)
    >>> outputs, states = cell.unroll(5, sym.var("data"), merge_outputs=True)
    >>> outputs.infer_shape(data=(2, 5, 3))[1]
    [(2, 5, 4)]
    """

    def __init__(self, base_cell, zoneout_outputs=0.0, zoneout_states=0.0):
        assert not isinstance(base_cell, FusedRNNCell), (
            "ZoneoutCell: a FusedRNNCell has no steps; unfuse() it first."
        )
        two = isinstance(base_cell, SequentialRNNCell) and base_cell._has_bidirectional()
        assert not two and not isinstance(base_cell, BidirectionalCell), (
            f"ZoneoutCell: a {type(base_cell).__name__} that reads in two directions has no steps; modify "
            "the cells inside instead"
        )
        super().__init__(base_cell)
        self.zoneout_outputs = zoneout_outputs
        self.zoneout_states = zoneout_states
        self.prev_output = None

    def reset(self):
        """As BaseRNNCell.reset; the output before the first step is zeros."""
        super().reset()
        self.prev_output = None

    def __call__(self, inputs, states):
        """One step."""
        output, new_states = self.base_cell(inputs, states)
        if self.zoneout_outputs != 0.0:
            before = symbol.zeros_like(output) if self.prev_output is None else self.prev_output
            output = _mixed(self.zoneout_outputs, output, before)
        if self.zoneout_states != 0.0:
            new_states = [_mixed(self.zoneout_states, new, old) for new, old in zip(new_states, states)]
        self.prev_output = output
        return output, new_states


def _mixed(rate, new, old):
    """`new`, and `old` at elements chosen with probability `rate`."""
    return symbol.where(symbol.Dropout(symbol.ones_like(new), p=rate), new, old)


class ResidualCell(ModifierCell):
    """The base cell's output plus the input, which must have the same shape.

    Examples
    --------
    >>> from headrace.mxnet import rnn
    >>> cell = rnn.ResidualCell(rnn.RNNCell(3))
    >>> outputs, states = cell.unroll(5, sym.var("data"), merge_outputs=True)
    >>> outputs.infer_shape(data=(2, 5, 3))[1]
    [(2, 5, 3)]
    """

    def __call__(self, inputs, states):
        """One step."""
        output, states = self.base_cell(inputs, states)
        return _added(output, inputs), states

    def unroll(self, length, inputs, begin_state=None, layout="NTC", merge_outputs=None):
        """As BaseRNNCell.unroll; the base cell is unrolled, and the inputs are added to its outputs."""
        self.reset()
        outputs, states = self._through(
            lambda cell: cell.unroll(
                length, inputs=inputs, begin_state=begin_state, layout=layout, merge_outputs=merge_outputs
            )
        )
        merge = isinstance(outputs, symbol.Symbol) if merge_outputs is None else merge_outputs
        inputs = as_asked(length, inputs, layout, merge)
        if merge:
            return _added(outputs, inputs), states
        return [_added(output, x) for output, x in zip(outputs, inputs)], states


def _added(output, inputs):
    return symbol.elemwise_add(output, inputs, name=f"{output.name}_plus_residual")
