"""Cells made of cells: one after another, or one per direction."""

from ... import symbol
from .base import BaseRNNCell, as_steps

__all__ = ["BidirectionalCell", "SequentialRNNCell"]


class _Composite(BaseRNNCell):
    """Cells in `_cells`; states, variables and weights are those of all of them."""

    def __init__(self, params):
        super().__init__("", params)
        self._override_cell_params = params is not None
        self._cells = []

    def _take(self, cell):
        if self._override_cell_params:
            assert cell._own_params, (
                f"Either specify params for {type(self).__name__} or child cells, not both."
            )
            cell.params._params.update(self.params._params)
        self.params._params.update(cell.params._params)
        self._cells.append(cell)

    @property
    def state_info(self):
        """The states of all cells inside, as one list."""
        return [info for cell in self._cells for info in cell.state_info]

    def begin_state(self, **kwargs):
        """The states to begin with of all cells inside."""
        self._check_not_modified()
        return [state for cell in self._cells for state in cell.begin_state(**kwargs)]

    def unpack_weights(self, args):
        """As BaseRNNCell.unpack_weights, for all cells inside."""
        for cell in self._cells:
            args = cell.unpack_weights(args)
        return args

    def pack_weights(self, args):
        """As BaseRNNCell.pack_weights, for all cells inside."""
        for cell in self._cells:
            args = cell.pack_weights(args)
        return args

    def _with_states(self, states):
        """(cell, its part of the states) for every cell inside."""
        place = 0
        for cell in self._cells:
            count = len(cell.state_info)
            yield cell, states[place : place + count]
            place += count


class SequentialRNNCell(_Composite):
    """Cells one after another, added with `add`: the output of each is the input of the next.

    Examples
    --------
    >>> from headrace.mxnet import rnn
    >>> cell = rnn.SequentialRNNCell()
    >>> cell.add(rnn.LSTMCell(4, prefix="first_"))
    >>> cell.add(rnn.LSTMCell(6, prefix="second_"))
    >>> outputs, states = cell.unroll(5, sym.var("data"), merge_outputs=True)
    >>> outputs.infer_shape(data=(2, 5, 3))[1], len(states)
    ([(2, 5, 6)], 4)
    """

    def __init__(self, params=None):
        super().__init__(params)

    def add(self, cell):
        """Appends a cell. AssertionError: it has variables of its own, and so has this one."""
        self._take(cell)

    def _has_bidirectional(self):
        return any(isinstance(cell, BidirectionalCell) for cell in self._cells)

    def __call__(self, inputs, states):
        """One step of every cell. AssertionError: one of them reads in two directions."""
        assert not self._has_bidirectional(), (
            "SequentialRNNCell holds a BidirectionalCell, which cannot be stepped; use unroll"
        )
        self._counter += 1
        new_states = []
        for cell, own in self._with_states(states):
            inputs, own = cell(inputs, own)
            new_states.extend(own)
        return inputs, new_states

    def unroll(self, length, inputs, begin_state=None, layout="NTC", merge_outputs=None):
        """As BaseRNNCell.unroll; every cell is unrolled over what the one before it gave."""
        self.reset()
        begin_state = self.begin_state() if begin_state is None else begin_state
        new_states = []
        for i, (cell, states) in enumerate(self._with_states(begin_state), 1):
            merge = merge_outputs if i == len(self._cells) else None
            inputs, states = cell.unroll(
                length, inputs=inputs, begin_state=states, layout=layout, merge_outputs=merge
            )
            new_states.extend(states)
        return inputs, new_states


class BidirectionalCell(_Composite):
    """Two cells, one that reads the sequence forward and one backward; outputs are joined along C.

    Examples
    --------
    >>> from headrace.mxnet import rnn
    >>> cell = rnn.BidirectionalCell(rnn.GRUCell(4, prefix="l_"), rnn.GRUCell(4, prefix="r_"))
    >>> outputs, states = cell.unroll(5, sym.var("data"), merge_outputs=True)
    >>> outputs.infer_shape(data=(2, 5, 3))[1]
    [(2, 5, 8)]
    """

    def __init__(self, l_cell, r_cell, params=None, output_prefix="bi_"):
        super().__init__(params)
        self._output_prefix = output_prefix
        self._take(l_cell)
        self._take(r_cell)

    def __call__(self, inputs, states):
        """Refuses: the second cell begins at the end."""
        raise NotImplementedError(
            "BidirectionalCell cannot be stepped, its second cell begins at the end; use unroll"
        )

    def unroll(self, length, inputs, begin_state=None, layout="NTC", merge_outputs=None):
        """As BaseRNNCell.unroll; the states are those of both cells, in two lists."""
        self.reset()
        steps = as_steps(length, inputs, layout)
        begin_state = self.begin_state() if begin_state is None else begin_state
        (l_cell, l_begin), (r_cell, r_begin) = self._with_states(begin_state)
        forward, l_states = l_cell.unroll(
            length, inputs=steps, begin_state=l_begin, layout=layout, merge_outputs=merge_outputs
        )
        backward, r_states = r_cell.unroll(
            length,
            inputs=list(reversed(steps)),
            begin_state=r_begin,
            layout=layout,
            merge_outputs=merge_outputs,
        )
        if merge_outputs is None:
            merge_outputs = all(isinstance(out, symbol.Symbol) for out in (forward, backward))
        if merge_outputs:
            backward = symbol.reverse(backward, axis=layout.find("T"))
            joined = symbol.concat(forward, backward, dim=2, name=f"{self._output_prefix}out")
            return joined, [l_states, r_states]
        both = zip(as_steps(length, forward, layout), reversed(as_steps(length, backward, layout)))
        outputs = [
            symbol.concat(*pair, dim=1, name=f"{self._output_prefix}t{i}") for i, pair in enumerate(both)
        ]
        return outputs, [l_states, r_states]
