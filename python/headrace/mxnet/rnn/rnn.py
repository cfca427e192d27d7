"""Checkpoints that hold an array for every gate, and the old name of unroll."""

import warnings

from ..._checkpoint import load_checkpoint, save_checkpoint
from ...symbol import Variable
from .base import BaseRNNCell

__all__ = ["do_rnn_checkpoint", "load_rnn_checkpoint", "rnn_unroll", "save_rnn_checkpoint"]


def rnn_unroll(cell, length, inputs=None, begin_state=None, input_prefix="", layout="NTC"):
    """Deprecated: use cell.unroll. Without inputs there is a variable per step, `<input_prefix>t<t>_data`."""
    warnings.warn("rnn_unroll is deprecated. Please call cell.unroll directly.", stacklevel=2)
    if inputs is None:
        inputs = [Variable(f"{input_prefix}t{i}_data") for i in range(length)]
    return cell.unroll(length, inputs, begin_state, layout)


def _as_list(cells):
    return [cells] if isinstance(cells, BaseRNNCell) else cells


def save_rnn_checkpoint(cells, prefix, epoch, symbol, arg_params, aux_params):
    """As model.save_checkpoint, with the weights of `cells` (one or a list) taken apart gate by gate."""
    for cell in _as_list(cells):
        arg_params = cell.unpack_weights(arg_params)
    save_checkpoint(prefix, epoch, symbol, arg_params, aux_params)


def load_rnn_checkpoint(cells, prefix, epoch):
    """(symbol, arg_params, aux_params) of what save_rnn_checkpoint wrote."""
    symbol, arg_params, aux_params = load_checkpoint(prefix, epoch)
    for cell in _as_list(cells):
        arg_params = cell.pack_weights(arg_params)
    return symbol, arg_params, aux_params


def do_rnn_checkpoint(cells, prefix, period=1):
    """A callback for the end of epochs that saves every `period` epochs with save_rnn_checkpoint."""
    period = int(max(1, period))

    def save(epoch, symbol=None, arg_params=None, aux_params=None):
        if (epoch + 1) % period == 0:
            save_rnn_checkpoint(cells, prefix, epoch + 1, symbol, arg_params, aux_params)

    return save
