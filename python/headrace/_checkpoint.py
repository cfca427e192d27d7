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
    """Writes `<prefix>-symbol.json` (unless `symbol` is None) and `<prefix>-<epoch, 4 digits>.params`."""
    if symbol is not None:
        symbol.save(f"{prefix}-symbol.json", remove_amp_cast)
    name = f"{prefix}-{epoch:04d}.params"
    save_param_file(name, arg_params, aux_params)
    logging.info('Saved checkpoint to "%s"', name)


def load_params(prefix, epoch):
    """(arg_params, aux_params) of `<prefix>-<epoch, 4 digits>.params`.

    MXNetError: the file is missing or broken. ValueError: it holds other things than parameters.
    """
    return load_param_file(f"{prefix}-{epoch:04d}.params")


def load_checkpoint(prefix, epoch):
    """(symbol, arg_params, aux_params) of the files that save_checkpoint wrote; errors as load_params."""
    return (sym.load(f"{prefix}-symbol.json"), *load_params(prefix, epoch))
