"""Checkpoints: a symbol and its parameters as files."""

import collections
import logging

from . import _arrays as arrays
from . import symbol as sym
from ._exchange import create_store
from .context import cpu

__all__ = ["BatchEndParam", "load_checkpoint", "load_params", "save_checkpoint"]

# Ends of the names that layers give to their parameters.
PARAMETER_SUFFIXES = (
    *("_weight", "_bias", "_gamma", "_beta"),
    *("_moving_mean", "_moving_var", "_running_mean", "_running_var"),
)

BatchEndParam = collections.namedtuple("BatchEndParams", ["epoch", "nbatch", "eval_metric", "locals"])


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


# --- what training loops of MXNet's programs call: keys are names, replicas are lists over the devices ---


def _create_kvstore(kvstore, num_device, arg_params):
    """(store or None, whether it updates the parameters) for `kvstore`: a store, its name, or None."""
    return create_store(kvstore, num_device, arg_params.values())


def _initialize_kvstore(kvstore, param_arrays, arg_params, param_names, update_on_kvstore):
    """Stores the parameters of `arg_params` under their names and writes them into the replicas: those of
    rank 0, whoever updates.
    """
    for name, replicas in zip(param_names, param_arrays):
        kvstore.broadcast(name, arg_params[name], out=replicas)


def _update_params_on_kvstore(param_arrays, grad_arrays, kvstore, param_names):
    """A step of a store that updates: gradients go there, parameters come back. No gradient: None."""
    for i, (replicas, grads) in enumerate(zip(param_arrays, grad_arrays)):
        if grads[0] is not None:
            kvstore.pushpull(param_names[i], grads, out=replicas, priority=-i)


def _update_params(param_arrays, grad_arrays, updater, num_device, kvstore=None, param_names=None):
    """A step of `updater` on each of `num_device` devices, after `kvstore`, if there is one, has summed the
    gradients. Parameter i has the index `i * num_device + k` on device k.
    """
    trained = [i for i, grads in enumerate(grad_arrays) if grads[0] is not None]
    for i in trained if kvstore else ():
        kvstore.pushpull(param_names[i], grad_arrays[i], priority=-i)
    for k in range(num_device if trained else 0):
        indices = [i * num_device + k for i in trained]
        updater(indices, [grad_arrays[i][k] for i in trained], [param_arrays[i][k] for i in trained])


def __getattr__(name):
    if name != "FeedForward":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from .module.feed_forward import FeedForward  # modules are built on this module

    return FeedForward
