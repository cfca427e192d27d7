"""Checkpoints: a symbol and its parameters as files."""

import logging

from . import _arrays as arrays
from . import symbol as sym
from .context import cpu

__all__ = ["load_checkpoint", "load_params", "save_checkpoint"]


def save_param_file(fname, arg_params, aux_params):
    """Writes parameters (name to array) to one file, with keys 'arg:<name>' and 'aux:<name>'."""
    named = {f"arg:{name}": array.as_in_context(cpu()) for name, array in arg_params.items()}
    named.update((f"aux:{name}", array.as_in_context(cpu())) for name, array in aux_params.items())
    arrays.save(fname, named)


def load_param_file(fname):
    """(arg_params, aux_params) of a file. ValueError: a key says neither 'arg:' nor 'aux:'."""
    found = {"arg": {}, "aux": {}}
    loaded = arrays.load(fname)
    if not loaded:
        logging.warning("Params file '%s' is empty", fname)
    for key, array in loaded.items():
        kind, _, name = key.partition(":")
        if kind not in found or not name:
            raise ValueError(
                f"Invalid param file {fname}: key '{key}' does not begin with 'arg:' or 'aux:'; expected a "
                "file written by save_checkpoint or Module.save_params"
            )
        found[kind][name] = array
    return found["arg"], found["aux"]


def save_checkpoint(prefix, epoch, symbol, arg_params, aux_params, remove_amp_cast=True):
    """Writes `<prefix>-symbol.json` (unless `symbol` is None) and `<prefix>-<epoch, 4 digits>.params`.

    Examples
    --------
    >>> import os, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> net = sym.FullyConnected(sym.var("data"), num_hidden=1, no_bias=True, name="fc")
    >>> parameters = {"fc_weight": nd.array([[1, 2]])}
    >>> mx.model.save_checkpoint(os.path.join(folder.name, "net"), 3, net, parameters, {})
    >>> sorted(os.listdir(folder.name))
    ['net-0003.params', 'net-symbol.json']
    """
    if symbol is not None:
        symbol.save(f"{prefix}-symbol.json", remove_amp_cast)
    name = f"{prefix}-{epoch:04d}.params"
    save_param_file(name, arg_params, aux_params)
    logging.info('Saved checkpoint to "%s"', name)


def load_params(prefix, epoch):
    """(arg_params, aux_params) of `<prefix>-<epoch, 4 digits>.params`.

    MXNetError: the file is missing or broken. ValueError: it holds other things than parameters.

    Examples
    --------
    >>> import os, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> prefix = os.path.join(folder.name, "net")
    >>> arguments, auxiliary = {"fc_weight": nd.array([[1, 2]])}, {"bn_mean": nd.zeros((1,))}
    >>> mx.model.save_checkpoint(prefix, 3, None, arguments, auxiliary)
    >>> arguments, auxiliary = mx.model.load_params(prefix, 3)
    >>> list(arguments), list(auxiliary)
    (['fc_weight'], ['bn_mean'])
    """
    return load_param_file(f"{prefix}-{epoch:04d}.params")


def load_checkpoint(prefix, epoch):
    """(symbol, arg_params, aux_params) of the files that save_checkpoint wrote; errors as load_params.

    Examples
    --------
    >>> import os, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> prefix = os.path.join(folder.name, "net")
    >>> net = sym.FullyConnected(sym.var("data"), num_hidden=1, no_bias=True, name="fc")
    >>> mx.model.save_checkpoint(prefix, 3, net, {"fc_weight": nd.array([[1, 2]])}, {})
    >>> net, arguments, auxiliary = mx.model.load_checkpoint(prefix, 3)
    >>> net.list_arguments(), list(arguments), auxiliary
    (['data', 'fc_weight'], ['fc_weight'], {})
    """
    return (sym.load(f"{prefix}-symbol.json"), *load_params(prefix, epoch))
