"""Checkpoints that hold an array for every gate, and the old name of unroll."""

import warnings

from ..._checkpoint import load_checkpoint, save_checkpoint
from ...symbol import Variable
from .base import BaseRNNCell

__all__ = ["do_rnn_checkpoint", "load_rnn_checkpoint", "rnn_unroll", "save_rnn_checkpoint"]


def rnn_unroll(cell, length, inputs=None, begin_state=None, input_prefix="", layout="NTC"):
    """Deprecated: use cell.unroll. Without inputs there is a variable per step, `<input_prefix>t<t>_data`.

    Examples
    --------
    >>> from headrace.mxnet import rnn
    >>> outputs, states = rnn.rnn_unroll(rnn.RNNCell(2), 3, input_prefix="word_")
    >>> outputs[-1].list_inputs()[0], len(outputs)
    ('word_t2_data', 3)
    """
    warnings.warn("rnn_unroll is deprecated. Please call cell.unroll directly.", stacklevel=2)
    if inputs is None:
        inputs = [Variable(f"{input_prefix}t{i}_data") for i in range(length)]
    return cell.unroll(length, inputs=inputs, begin_state=begin_state, layout=layout)


def _as_list(cells):
    return [cells] if isinstance(cells, BaseRNNCell) else cells


def save_rnn_checkpoint(cells, prefix, epoch, symbol, arg_params, aux_params):
    """As model.save_checkpoint, with the weights of `cells` (one or a list) taken apart gate by gate.

    Examples
    --------
    >>> import os, tempfile
    >>> from headrace.mxnet import rnn
    >>> cell, folder = rnn.GRUCell(2), tempfile.TemporaryDirectory()
    >>> output, states = cell(sym.var("x"), cell.begin_state())
    >>> weights = {"gru_i2h_weight": nd.ones((6, 3)), "gru_i2h_bias": nd.ones((6,))}
    >>> weights.update({"gru_h2h_weight": nd.ones((6, 2)), "gru_h2h_bias": nd.ones((6,))})
    >>> prefix = os.path.join(folder.name, "net")
    >>> rnn.save_rnn_checkpoint(cell, prefix, 1, output, weights, {})
    >>> sorted(nd.load(prefix + "-0001.params"))[:3]
    ['arg:gru_h2h_o_bias', 'arg:gru_h2h_o_weight', 'arg:gru_h2h_r_bias']
    """
    for cell in _as_list(cells):
        arg_params = cell.unpack_weights(arg_params)
    save_checkpoint(prefix, epoch, symbol, arg_params, aux_params)


def load_rnn_checkpoint(cells, prefix, epoch):
    """(symbol, arg_params, aux_params) of what save_rnn_checkpoint wrote, with the weights of `cells`
    packed again.

    MXNetError: a file is missing or broken.

    Examples
    --------
    >>> import os, tempfile
    >>> from headrace.mxnet import rnn
    >>> cell, folder = rnn.RNNCell(2), tempfile.TemporaryDirectory()
    >>> output, states = cell(sym.var("x"), cell.begin_state())
    >>> weights = {"rnn_i2h_weight": nd.ones((2, 3)), "rnn_i2h_bias": nd.ones((2,))}
    >>> weights.update({"rnn_h2h_weight": nd.ones((2, 2)), "rnn_h2h_bias": nd.ones((2,))})
    >>> prefix = os.path.join(folder.name, "net")
    >>> rnn.save_rnn_checkpoint(cell, prefix, 1, output, weights, {})
    >>> output, loaded, states = rnn.load_rnn_checkpoint(cell, prefix, 1)
    >>> sorted(loaded)
    ['rnn_h2h_bias', 'rnn_h2h_weight', 'rnn_i2h_bias', 'rnn_i2h_weight']
    """
    symbol, arg_params, aux_params = load_checkpoint(prefix, epoch)
    for cell in _as_list(cells):
        arg_params = cell.pack_weights(arg_params)
    return symbol, arg_params, aux_params


def do_rnn_checkpoint(cells, prefix, period=1):
    """A callback for the end of epochs that saves every `period` epochs with save_rnn_checkpoint.

    Examples
    --------
    >>> import os, tempfile
    >>> from headrace.mxnet import rnn
    >>> cell, folder = rnn.RNNCell(2), tempfile.TemporaryDirectory()
    >>> output, states = cell(sym.var("x"), cell.begin_state())
    >>> save = rnn.do_rnn_checkpoint(cell, os.path.join(folder.name, "net"))
    >>> weights = {"rnn_i2h_weight": nd.ones((2, 3)), "rnn_i2h_bias": nd.ones((2,))}
    >>> weights.update({"rnn_h2h_weight": nd.ones((2, 2)), "rnn_h2h_bias": nd.ones((2,))})
    >>> save(0, output, weights, {})
    >>> sorted(os.listdir(folder.name))
    ['net-0001.params', 'net-symbol.json']
    """
    period = int(max(1, period))

    def save(epoch, symbol=None, arg_params=None, aux_params=None):
        if (epoch + 1) % period == 0:
            save_rnn_checkpoint(cells, prefix, epoch + 1, symbol, arg_params, aux_params)

    return save
