"""What MXNet has in its module `model`: checkpoints, FeedForward, and the steps of a training loop."""

import importlib.util

from ._checkpoint import load_checkpoint, load_params, save_checkpoint
from ._exchange import create_store
from .callback import BatchEndParam
from .module.feed_forward import FeedForward

__all__ = ["BatchEndParam", "FeedForward", "load_checkpoint", "load_params", "save_checkpoint"]

SKLEARN_INSTALLED = importlib.util.find_spec("sklearn") is not None

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
