"""Cells made of cells: one after another, or one per direction."""

from ..block import _indent
from .operators import operators
from .recurrent_cell import HybridRecurrentCell, RecurrentCell
from .sequences import begin_state_of, format_sequence, mask_sequence, merge_steps, reverse_steps

__all__ = ["BidirectionalCell", "HybridSequentialRNNCell", "SequentialRNNCell"]


def cells_state_info(cells, batch_size):
    """The states of all cells, as one list."""
    return [info for cell in cells for info in cell.state_info(batch_size)]


def cells_begin_state(cells, **kwargs):
    """The states to begin with of all cells, as one list."""
    return [state for cell in cells for state in cell.begin_state(**kwargs)]


class _Composite:
    """States of a cell that is made of cells: those of its parts, as one list."""

    def state_info(self, batch_size=0):
        """The states of all cells inside, as one list."""
        return cells_state_info(self._children.values(), batch_size)

    def begin_state(self, batch_size=0, **kwargs):
        """The states to begin with of all cells inside; `kwargs` as for RecurrentCell.begin_state."""
        self._check_not_modified()
        return cells_begin_state(self._children.values(), batch_size=batch_size, **kwargs)

    def _with_states(self, states):
        """(cell, its part of the states) for every cell inside."""
        place = 0
        for cell in self._children.values():
            count = len(cell.state_info())
            yield cell, states[place : place + count]
            place += count


class _Stack(_Composite):
    """Cells one after another: the output of each is the input of the next."""

    def add(self, cell):
        """Appends a cell."""
        self.register_child(cell)

    def __call__(self, inputs, states):
        assert not self._has_bidirectional(), (
            f"{type(self).__name__} {self.name} holds a BidirectionalCell, which cannot be stepped; use "
            "unroll"
        )
        self._counter += 1
        new_states = []
        for cell, own in self._with_states(states):
            inputs, own = cell(inputs, own)
            new_states.extend(own)
        return inputs, new_states

    def _has_bidirectional(self):
        return any(isinstance(cell, BidirectionalCell) for cell in self._children.values())

    def unroll(self, length, inputs, begin_state=None, layout="NTC", merge_outputs=None, valid_length=None):
        """As RecurrentCell.unroll; every cell is unrolled over what the one before it gave."""
        self.reset()
        inputs, _, F, batch_size = format_sequence(length, inputs, layout, None)
        begin_state = begin_state_of(self, F, begin_state, inputs, batch_size)
        new_states = []
        for i, (cell, states) in enumerate(self._with_states(begin_state), 1):
            merge = merge_outputs if i == len(self) else None
            inputs, states = cell.unroll(
                length,
                inputs=inputs,
                begin_state=states,
                layout=layout,
                merge_outputs=merge,
                valid_length=valid_length,
            )
            new_states.extend(states)
        return inputs, new_states

    def __getitem__(self, i):
        return self._children[str(i)]

    def __len__(self):
        return len(self._children)

    def __repr__(self):
        lines = "\n".join(f"({name}): {_indent(repr(cell))}" for name, cell in self._children.items())
        return f"{type(self).__name__}(\n{lines}\n)"


class SequentialRNNCell(_Stack, RecurrentCell):
    """Cells one after another, added with `add`; the states are those of all cells, as one list.

    Examples
    --------
    >>> cell = gluon.rnn.SequentialRNNCell()
    >>> cell.add(gluon.rnn.LSTMCell(4))
    >>> cell.add(gluon.rnn.LSTMCell(5))
    >>> cell.initialize()
    >>> outputs, states = cell.unroll(3, nd.ones((2, 3, 2)), merge_outputs=True)
    >>> outputs.shape, len(states)
    ((2, 3, 5), 4)
    """


class HybridSequentialRNNCell(_Stack, HybridRecurrentCell):
    """Hybrid cells one after another, added with `add`; the states are those of all cells, as one list.

    Examples
    --------
    >>> cell = gluon.rnn.HybridSequentialRNNCell()
    >>> cell.add(gluon.rnn.GRUCell(4))
    >>> cell.add(gluon.rnn.DropoutCell(0.2))
    >>> cell.initialize()
    >>> outputs, states = cell.unroll(3, nd.ones((2, 3, 2)), merge_outputs=True)
    >>> outputs.shape
    (2, 3, 4)
    """

    def hybrid_forward(self, F, inputs, states):
        return self(inputs, states)


class BidirectionalCell(_Composite, HybridRecurrentCell):
    """Two cells, one that reads the sequence forward and one backward; outputs are joined along C.

    It only unrolls. The operators that join are named `output_prefix` and `t<step>`, or `out`.

    Examples
    --------
    >>> cell = gluon.rnn.BidirectionalCell(gluon.rnn.GRUCell(4), gluon.rnn.GRUCell(4))
    >>> cell.initialize()
    >>> outputs, states = cell.unroll(3, nd.ones((2, 3, 2)), merge_outputs=True)
    >>> outputs.shape
    (2, 3, 8)
    """

    def __init__(self, l_cell, r_cell, output_prefix="bi_"):
        super().__init__(prefix="", params=None)
        self.register_child(l_cell, "l_cell")
        self.register_child(r_cell, "r_cell")
        self._output_prefix = output_prefix

    def __call__(self, inputs, states):
        raise NotImplementedError(
            "BidirectionalCell cannot be stepped, its second cell begins at the end; use unroll"
        )

    def unroll(self, length, inputs, begin_state=None, layout="NTC", merge_outputs=None, valid_length=None):
        """As RecurrentCell.unroll; with `valid_length` the second cell begins at each sequence's end."""
        self.reset()
        steps, axis, F, batch_size = format_sequence(length, inputs, layout, False)
        backward = reverse_steps(steps, length, valid_length)
        begin_state = begin_state_of(self, F, begin_state, steps, batch_size)
        (l_cell, l_states), (r_cell, r_states) = self._with_states(begin_state)
        l_out, l_states = l_cell.unroll(
            length,
            inputs=steps,
            begin_state=l_states,
            layout=layout,
            merge_outputs=merge_outputs,
            valid_length=valid_length,
        )
        r_out, r_states = r_cell.unroll(
            length,
            inputs=backward,
            begin_state=r_states,
            layout=layout,
            merge_outputs=False,
            valid_length=valid_length,
        )
        r_out = reverse_steps(r_out, length, valid_length)
        if merge_outputs is None:
            merge_outputs = not isinstance(l_out, list)
        outputs = self._join(F, l_out, r_out, axis, merge_outputs)
        if valid_length is not None:
            outputs = mask_sequence(F, outputs, length, valid_length, axis, merge_outputs)
        return outputs, [*l_states, *r_states]

    def _join(self, F, forward, backward, axis, merge):
        ops = operators(F)
        if merge:
            backward = merge_steps(F, backward, axis)
            return ops.concat(forward, backward, dim=2, name=f"{self._output_prefix}out")
        return [
            ops.concat(*both, dim=1, name=f"{self._output_prefix}t{i}")
            for i, both in enumerate(zip(forward, backward))
        ]

    def __repr__(self):
        forward, backward = self._children.values()
        return f"{type(self).__name__}(forward={forward}, backward={backward})"
