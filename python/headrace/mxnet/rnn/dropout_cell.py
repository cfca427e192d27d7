"""Dropout between the layers of a stack."""

from ... import symbol
from ...base import numeric_types
from .base import BaseRNNCell, as_asked

__all__ = ["DropoutCell"]


class DropoutCell(BaseRNNCell):
    """Dropout of the inputs in training; it has no states. AssertionError: the rate is no number.

    Examples
    --------
    >>> from headrace.mxnet import rnn
    >>> output, states = rnn.DropoutCell(0.5)(sym.var("x"), [])
    >>> output.eval(x=nd.ones((1, 3)))[0]  # prediction drops nothing
    [[1. 1. 1.]]
    <NDArray 1x3 @cpu(0)>
    """

    def __init__(self, dropout, prefix="dropout_", params=None):
        super().__init__(prefix, params)
        assert isinstance(dropout, numeric_types), f"DropoutCell: expected a number, got {dropout!r}"
        self.dropout = dropout

    @property
    def state_info(self):
        """No states."""
        return []

    def __call__(self, inputs, states):
        """One step."""
        return (symbol.Dropout(inputs, p=self.dropout) if self.dropout > 0 else inputs), states

    def unroll(self, length, inputs, begin_state=None, layout="NTC", merge_outputs=None):
        """As BaseRNNCell.unroll; a merged sequence goes through as one."""
        self.reset()
        inputs = as_asked(length, inputs, layout, merge_outputs)
        if isinstance(inputs, symbol.Symbol):
            return self(inputs, [])
        return super().unroll(length, inputs, begin_state, layout, merge_outputs)
