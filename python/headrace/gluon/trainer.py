"""Trainer: applies an optimizer to a set of parameters."""

from .. import optimizer as opt
from ..base import MXNetError
from .parameter import Parameter
from .parameter_dict import ParameterDict

__all__ = ["Trainer"]


class Trainer:
    """Updates `params` after backward.

    Parameters
    ----------
    params : ParameterDict or dict (then in the order of their names), or a list of Parameters.
    optimizer : name or Optimizer.
    optimizer_params : arguments of the optimizer when it is given by name.
    kvstore, compression_params, update_on_kvstore : accepted; on one device nothing has to be exchanged.

    ValueError: no parameters of the right kind, or an unknown optimizer. AssertionError: parameters on
    different contexts, or `optimizer_params` beside an Optimizer. MXNetError: parameters on several contexts.
    """

    def __init__(
        self,
        params,
        optimizer,
        optimizer_params=None,
        kvstore="device",
        compression_params=None,
        update_on_kvstore=None,
    ):
        if isinstance(params, (dict, ParameterDict)):
            params = [params[name] for name in sorted(params.keys())]
        if not isinstance(params, (list, tuple)):
            raise ValueError(f"First argument must be a list or dict of Parameters, got {type(params)}.")
        for param in params:
            if not isinstance(param, Parameter):
                raise ValueError(
                    f"First argument must be a list or dict of Parameters, got list of {type(param)}."
                )
        self._params = list(params)
        self._param2idx = {param.name: index for index, param in enumerate(self._params)}
        self._kvstore_params = {"kvstore": kvstore, "update_on_kvstore": update_on_kvstore}
        self._compression_params = compression_params
        self._contexts = self._check_contexts()
        optimizer_params = optimizer_params or {}
        param_dict = dict(enumerate(self._params))
        if isinstance(optimizer, opt.Optimizer):
            assert not optimizer_params, (
                "optimizer_params must be None if optimizer is an instance of Optimizer instead of str"
            )
            self._optimizer = optimizer
            self._optimizer.param_dict = param_dict
        else:
            self._optimizer = opt.create(optimizer, param_dict=param_dict, **optimizer_params)
        self._scale = self._optimizer.rescale_grad
        self._updaters = [opt.get_updater(self._optimizer)]
        self._trained = None  # the parameters with gradients, see _lists
        self._version = None

    def _check_contexts(self):
        contexts = None
        for param in self._params:
            found = param.list_ctx()
            assert contexts is None or contexts == found, (
                f"All Parameters must be initialized on the same set of contexts, but Parameter {param.name} "
                f"is initialized on {found} while previous Parameters are initialized on {contexts}."
            )
            contexts = found
        if contexts is not None and len(contexts) > 1:
            raise MXNetError(
                f"Trainer: expected parameters on one context, got {contexts}; training on several "
                "devices is not there yet. Initialize with ctx=one context."
            )
        return contexts

    @property
    def learning_rate(self):
        """The learning rate of the next update."""
        return self._optimizer.learning_rate

    @property
    def optimizer(self):
        return self._optimizer

    def set_learning_rate(self, lr):
        """Sets the learning rate. UserWarning (raised): the optimizer has a scheduler."""
        self._optimizer.set_learning_rate(lr)

    def step(self, batch_size, ignore_stale_grad=False):
        """Updates every parameter with its gradient divided by `batch_size`.

        UserWarning (raised): a gradient is stale, that is no backward has written it since the last step;
        `ignore_stale_grad` leaves such parameters as they are. ZeroDivisionError: `batch_size` is 0.
        """
        self._optimizer.rescale_grad = self._scale / batch_size
        self._update(ignore_stale_grad)

    def allreduce_grads(self):
        """Sums gradients over devices; with one device they already are the sums."""
        self._lists()

    def update(self, batch_size, ignore_stale_grad=False):
        """The second half of `step`, after `allreduce_grads`."""
        self.step(batch_size, ignore_stale_grad)

    def _lists(self):
        """(indices, gradients, weights) of the parameters with a gradient; the same lists until an array is
        replaced.
        """
        version = sum([param._version for param in self._params])
        if version != self._version:
            trained = [(index, param) for index, param in enumerate(self._params) if param.grad_req != "null"]
            self._trained = (
                [index for index, _ in trained],
                [param.grad() for _, param in trained],
                [param.data() for _, param in trained],
            )
            self._version = version
        return self._trained

    def _update(self, ignore_stale_grad):
        indices, grads, weights = self._lists()
        fresh = [weight._fresh_grad for weight in weights]
        if not all(fresh):
            if not ignore_stale_grad:
                raise self._stale(indices[fresh.index(False)])
            kept = [place for place, is_fresh in enumerate(fresh) if is_fresh]
            indices, grads, weights = (
                [items[place] for place in kept] for items in (indices, grads, weights)
            )
        if indices:
            self._updaters[0](indices, grads, weights)
        for weight in weights:
            weight._fresh_grad = False

    def _stale(self, index):
        param = self._params[index]
        return UserWarning(
            f"Gradient of Parameter `{param.name}` on context {param.list_ctx()[0]} has not been updated by "
            "backward since last `step`. This could mean a bug in your model that made it only use a subset "
            "of the Parameters for this iteration. If that is intended, call step with "
            "ignore_stale_grad=True."
        )

    def save_states(self, fname):
        """Writes the optimizer and its states to a file."""
        with open(fname, "wb") as file:
            file.write(self._updaters[0].get_states(dump_optimizer=True))

    def load_states(self, fname):
        """Reads a file of `save_states` (MXNet's as well); its optimizer, learning rate included, replaces
        ours.

        ValueError: the file is broken or holds other things than optimizer states.
        """
        with open(fname, "rb") as file:
            self._updaters[0].set_states(file.read())
        self._optimizer = self._updaters[0].optimizer
        self._optimizer.param_dict = dict(enumerate(self._params))
