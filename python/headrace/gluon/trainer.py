"""Trainer: applies an optimizer to a set of parameters, on one device or on several."""

import contextlib
import itertools

from .. import _core, distributed
from .. import optimizer as opt
from .._exchange import GradientExchange
from .._file import open_file, write_file
from ..base import ArrayValueError, MXNetError
from ..kvstore import KVStore, KVStoreBase, is_capable
from ..optimizer.fused import are_numbers
from .parameter import Parameter
from .parameter_dict import ParameterDict
from .trainer_store import TrainerStore

__all__ = ["Trainer"]


def _check_parameters(params):
    if not isinstance(params, (list, tuple)):
        raise ValueError(f"First argument must be a list or dict of Parameters, got {type(params)}.")
    for param in params:
        if not isinstance(param, Parameter):
            raise ValueError(
                f"First argument must be a list or dict of Parameters, got list of {type(param)}."
            )
    if not params:
        raise ArrayValueError(
            "Trainer: there are no parameters to update; give those of a network, net.collect_params()"
        )


class Trainer(TrainerStore):
    """Updates `params` after backward.

    Parameters
    ----------
    params : ParameterDict or dict (then in the order of their names), or a list of Parameters.
    optimizer : name or Optimizer.
    optimizer_params : arguments of the optimizer when it is given by name.
    kvstore : what sums gradients over contexts: a KVStore or its name. On one context a name makes no
        store, unless the kind is distributed: nothing has to be exchanged. None: every context goes on with
        its own gradients.
    compression_params : of `KVStore.set_gradient_compression`, e.g. {'type': '2bit', 'threshold': 0.5}.
    update_on_kvstore : True: the store updates its copy of the parameters and sends it to the contexts;
        False: it sums gradients, and each context updates its own. None: True where the store can, the
        environment variable MXNET_UPDATE_ON_KVSTORE is not 0, and no parameter of the store 'local' has more
        than 2^24 elements. An asynchronous store always updates, and one that holds row_sparse parameters; of
        row_sparse gradients of dense parameters a store updates if it spans processes.

    ValueError: no parameters, or none of the right kind, or an unknown optimizer. AssertionError: parameters
    on different contexts, or `optimizer_params` beside an Optimizer. What is wrong with the store is raised
    by the first step.

    Examples
    --------
    >>> net = nn.Dense(1, in_units=1)
    >>> net.initialize(init.One())
    >>> trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.5})
    >>> with autograd.record():
    ...     loss = gluon.loss.L2Loss()(net(nd.array([[1]])), nd.array([[0]]))
    >>> loss.backward()
    >>> trainer.step(batch_size=1)
    >>> net.weight.data()
    [[0.5]]
    <NDArray 1x1 @cpu(0)>
    """

    _amp_loss_scaler = None  # of amp.init_trainer: its has_overflow(params) tells which steps to leave out

    def __init__(
        self,
        params,
        optimizer,
        optimizer_params=None,
        kvstore="device",
        compression_params=None,
        update_on_kvstore=None,
    ):
        layers = list(params) if isinstance(params, (list, tuple)) else []
        if isinstance(params, (dict, ParameterDict)):
            layers = list(params.values())
            params = [params[name] for name in sorted(params.keys())]
        _check_parameters(params)
        self._params = list(params)
        for param in params:
            param._set_trainer(self)
        self._contains_sparse_weight = any(param.stype != "default" for param in params)
        self._contains_sparse_grad = any(param.grad_stype != "default" for param in params)
        self._param2idx = {param.name: index for index, param in enumerate(self._params)}
        # Backward completes the gradients of the last layers first.
        index_of = {}
        for index, param in enumerate(self._params):
            index_of.setdefault(id(param), index)
        self._backward_order = list(dict.fromkeys(index_of[id(param)] for param in reversed(layers)))
        self._own_indices = set(index_of.values())  # a parameter that is given twice is updated once
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
        self._updaters = [opt.get_updater(self._optimizer) for _ in self._contexts]
        self._latest_version = None  # of all parameters there are, when these were last looked at
        self._version = self._dtypes = None  # of the parameters when what follows was made
        self._lists = []  # for each context (indices, gradients, weights) of the parameters with gradients
        self._store = self._exchange = self._update_on_kvstore = None
        self._repeated = None  # what does the last step again
        self._chosen = None  # see _choosing
        self._stored = {}  # what the store holds: index of the parameter to its version
        self._has_store = False  # or has found that none is needed
        self._distributed = False
        if isinstance(kvstore, KVStore):
            kvstore._trainers.add(self)

    def _begin(self):
        """Has the weights of the store before the first step, if their shapes are known."""
        if all(param._data is not None for param in self._params):
            self._prepare()

    def _check_contexts(self):
        contexts = None
        for param in self._params:
            found = param.list_ctx()
            assert contexts is None or contexts == found, (
                f"All Parameters must be initialized on the same set of contexts, but Parameter {param.name} "
                f"is initialized on {found} while previous Parameters are initialized on {contexts}."
            )
            contexts = found
        return contexts or []

    # --- the learning rate ---

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

    # --- steps ---

    def step(self, batch_size, ignore_stale_grad=False):
        """Updates every parameter with its gradient, summed over the contexts and divided by `batch_size`.

        A gradient is stale when no backward has written it since the last step. UserWarning (raised, before
        anything changes): one is stale on some context; with `ignore_stale_grad` it counts as zero there, and
        a parameter whose gradient is stale on all contexts stays as it is; where several workers share a
        synchronous store with servers it is updated with zeros. ValueError: `batch_size` is 0.
        """
        if self._repeated is not None and self._repeated(batch_size, Parameter._latest_version):
            return
        self._rescale(batch_size)
        self._prepare()
        fresh = self._fresh(ignore_stale_grad)
        self._step(fresh, ignore_stale_grad)
        self._repeated = self._repeated_step(batch_size) if fresh is None else None

    def _repeated_step(self, batch_size):
        """What does this step again and finds out itself whether it may; None where steps differ."""
        if self._store is not None or len(self._updaters) != 1 or type(self) is not Trainer:
            return None
        updater, optimizer = self._updaters[0], self._optimizer
        updates = updater.repeated_updates()
        if updates is None or self._amp_loss_scaler is not None:
            return None
        indices, _, weights = self._lists[0]
        if not all(are_numbers(param.lr_mult, param.wd_mult) for param in self._params):
            return None
        watched = [
            (vars(self), ("_amp_loss_scaler", "_lists", "_optimizer", "_scale", "_store", "_updaters")),
            (vars(updater), ("optimizer", "states")),
            (vars(optimizer), [name for name in vars(optimizer) if name != "num_update"]),
            (optimizer.param_dict, list(optimizer.param_dict)),
            *((vars(param), ("lr_mult", "wd_mult")) for param in self._params),
        ]
        return _core.RepeatedStep(
            updates,
            optimizer,
            optimizer._index_update_count,
            indices,
            weights,
            watched,
            batch_size,
            self._latest_version,
        )

    def _step(self, fresh, ignore_stale_grad):
        """A step, once `_fresh` has found what it is to update."""
        if fresh is not None and not any(map(any, fresh)):
            return
        if self._update_on_kvstore and self._overflowed():  # before the store has seen it
            return
        with self._choosing(fresh):
            self._allreduce_grads()
            if self._distributed:
                scale = float(self._optimizer.rescale_grad)
                self._store._agree_in(f"Trainer.step(batch_size) with gradients times {scale:.9g}")
            self._update(ignore_stale_grad)

    @contextlib.contextmanager
    def _choosing(self, fresh, written_by_hand=False):
        """Within it, what `_allreduce_grads` and `_update` work on, which have MXNet's arguments as programs
        override them. `fresh` is what `_fresh` has found. Gradients that backward has not written count as
        zeros, unless the program has written them by other means.
        """
        self._chosen = (fresh, written_by_hand)
        try:
            yield
        finally:
            self._chosen = None

    def _choice(self, ignore_stale_grad):
        """What `_choosing` was given; found here where a program calls a part of a step by itself."""
        if self._chosen is not None:
            return self._chosen
        self._prepare()
        return self._fresh(ignore_stale_grad), False

    def join(self, batch_size, ignore_stale_grad=False):
        """For a worker that has no more data while others go on: takes part in their steps with gradients of
        zeros, until all workers have come here. They have the same parameters then. Arguments of `step`.

        Without other workers it does nothing, and nothing where a store is asynchronous. MXNetError: a worker
        has ended and has not come here. Errors of `step`.

        Examples
        --------
        >>> net = nn.Dense(1, in_units=1)
        >>> net.initialize()
        >>> trainer = gluon.Trainer(net.collect_params(), "sgd", kvstore="mpi")
        >>> for batch in [nd.ones((2, 1))] * (1 + mx.distributed.rank()):  # one rank has more than another
        ...     with autograd.record():
        ...         loss = net(batch).sum()
        ...     loss.backward()
        ...     trainer.step(2)
        >>> trainer.join(2)
        """
        self._rescale(batch_size)
        self._prepare()
        if self._lists[0][0]:
            self._join(lambda: self._step_with_zeros(batch_size, ignore_stale_grad))

    def _join(self, take_part):
        if isinstance(self._store, KVStore):
            self._store.join(self._lists[0][0][0], take_part)
        elif self._distributed:
            raise MXNetError(f"Trainer join: stores of {type(self._store).__name__} have no join")

    def _step_with_zeros(self, batch_size, ignore_stale_grad):
        if self._amp_loss_scaler is not None:
            self._amp_loss_scaler.follow(self)
        self._rescale(batch_size)
        self._prepare()
        for _, grads, weights in self._lists:
            _core.make_stale(weights)
            for grad in grads:  # of which some may have overflowed
                grad[:] = 0
        self._step(self._fresh(True) if ignore_stale_grad else None, ignore_stale_grad)

    def allreduce_grads(self):
        """Sums the gradients over the contexts: the first half of `step`.

        AssertionError: parameters are updated on the store.
        """
        self._prepare()
        self._check_updates_here("allreduce_grads()")
        by_hand = not any(weight._fresh_grad for _, _, weights in self._lists for weight in weights)
        with self._choosing(self._fresh(True), by_hand):
            self._allreduce_grads()

    def update(self, batch_size, ignore_stale_grad=False):
        """The second half of `step`, after `allreduce_grads`; errors of both."""
        self._rescale(batch_size)
        self._prepare()
        self._check_updates_here("update()")
        with self._choosing(self._fresh(ignore_stale_grad)):
            self._update(ignore_stale_grad)

    def _check_updates_here(self, call):
        assert not self._update_on_kvstore, (
            f"{call} when parameters are updated on kvstore is not supported. Try setting "
            "`update_on_kvstore` to False when creating trainer."
        )

    def _rescale(self, batch_size):
        try:
            scale = self._scale / batch_size
        except ZeroDivisionError:
            raise ArrayValueError(
                "Trainer: batch_size must not be 0, gradients are divided by it; give the number of samples "
                "of the batch"
            ) from None
        self._check_and_rescale_grad(scale)

    def _check_and_rescale_grad(self, scale):
        if self._update_on_kvstore and self._optimizer.rescale_grad != scale and self._has_remote_optimizer():
            raise UserWarning(
                "Possible change in the `batch_size` from previous `step` detected. Optimizer gradient "
                "normalizing factor will not change w.r.t new batch_size when update_on_kvstore=True and "
                "when distributed kvstore is used."
            )
        self._optimizer.rescale_grad = scale

    def _has_remote_optimizer(self):
        """Whether other processes update, by copies of the optimizer that do not see its changes."""
        if not self._distributed or self._store.follows_optimizer:
            return False
        return getattr(self._store.updater, "optimizer", None) is not self._optimizer

    def _fresh(self, ignore_stale_grad):
        """For each context, which parameters a step is to update; None: all of them on all contexts.

        What one context or rank has contributed to, all take, so that replicas stay equal.
        """
        is_whole = True
        for _, _, weights in self._lists:
            is_whole = is_whole and _core.are_fresh(weights)
        if is_whole and not (self._distributed and ignore_stale_grad):
            return None
        fresh = [[weight._fresh_grad for weight in weights] for _, _, weights in self._lists]
        if not is_whole and not ignore_stale_grad:
            raise self._stale(fresh)
        if self._distributed and ignore_stale_grad:
            return [self._store._agree(list(map(any, zip(*fresh))))] * len(fresh)
        return fresh if self._store is None else [list(map(any, zip(*fresh)))] * len(fresh)

    def _stale(self, fresh):
        place, context = min((row.index(False), k) for k, row in enumerate(fresh) if not all(row))
        indices, _, weights = self._lists[context]
        return UserWarning(
            f"Gradient of Parameter `{self._params[indices[place]].name}` on context {weights[place].ctx} "
            "has not been updated by backward since last `step`. This could mean a bug in your model that "
            "made it only use a subset of the Parameters for this iteration. If that is intended, call step "
            "with ignore_stale_grad=True."
        )

    def _allreduce_grads(self):
        wanted, written_by_hand = self._choice(True)
        if self._store is None:
            return
        fresh = list(zip(*([weight._fresh_grad for weight in weights] for _, _, weights in self._lists)))
        chosen = [place for place in range(len(fresh)) if wanted is None or wanted[0][place]]
        if not chosen or all(map(all, fresh)):
            self._exchange.run()
            return
        for place in chosen:
            for (_, grads, _), is_fresh in zip(self._lists, fresh[place]):
                if not is_fresh and not written_by_hand:
                    grads[place][:] = 0
        exchange = self._exchange if len(chosen) == len(fresh) else self._exchange_of(chosen)
        exchange.run()

    def _update(self, ignore_stale_grad=False):
        fresh, _ = self._choice(ignore_stale_grad)
        if not self._update_on_kvstore:
            if self._amp_loss_scaler is not None and self._overflowed():
                return
            for k, updater in enumerate(self._updaters):
                indices, grads, weights = self._lists[k]
                if fresh is not None:
                    indices, grads, weights = (
                        list(itertools.compress(items, fresh[k])) for items in self._lists[k]
                    )
                if indices:
                    updater(indices, grads, weights)
        for _, _, weights in self._lists:
            _core.make_stale(weights)

    def _overflowed(self):
        """Whether losses are scaled and a gradient overflowed, so that this step is left out."""
        scaler = self._amp_loss_scaler
        if scaler is None:
            return False
        if self._steps_with_others():
            scaler.agree = lambda found: any(distributed.all_gather_object(bool(found)))
        if not scaler.has_overflow(self._params):
            return False
        for _, _, weights in self._lists:
            _core.make_stale(weights)
        return True

    def _steps_with_others(self):
        """Whether other workers update by each step of this one, and have not seen its gradients before."""
        is_synchronous = self._distributed and not is_capable(self._store, KVStoreBase.ASYNCHRONOUS)
        return is_synchronous and bool(self._update_on_kvstore)

    # --- what a step works on ---

    def _prepare(self):
        """Makes what a step works on; it stays the same until arrays of parameters are replaced or set.

        MXNetError (or what else it was): an earlier step failed, and left the parameters as they were.
        """
        _core.raise_kept()
        latest = Parameter._latest_version
        if latest == self._latest_version:
            return
        version = self._version_now()
        if version != self._version:
            self._prepare_anew(version)
        self._latest_version = latest

    def _prepare_anew(self, version):
        dtypes = [param._check_and_get(param._data, list)[0]._dtype_name for param in self._params]
        contexts = self._check_contexts()
        is_first = self._version is None
        if is_first or contexts != self._contexts or (self._store is not None and dtypes != self._dtypes):
            if not is_first:
                self._check_store_may_change()
            updaters = self._updaters if is_first else self._active_updaters()
            keeps_updaters = is_first and len(updaters) == len(contexts)
            states = None if keeps_updaters else updaters[0].get_states()
            before = self._contexts, self._dtypes
            self._contexts, self._dtypes = contexts, dtypes
            try:
                self._make_store()
            except BaseException:
                self._contexts, self._dtypes = before
                raise
            if states is not None:
                self._updaters = [opt.get_updater(self._optimizer) for _ in contexts]
                self._take_states(states)
        elif self._update_on_kvstore:
            self._write_to_store()
        trained = [
            (index, param)
            for index, param in enumerate(self._params)
            if param.grad_req != "null" and index in self._own_indices
        ]
        self._lists = [
            (
                [index for index, _ in trained],
                [param._grad[k] for _, param in trained],
                [param._data[k] for _, param in trained],
            )
            for k in range(len(contexts))
        ]
        if self._store is not None:
            self._exchange = self._exchange_of(range(len(trained)))
        self._version = version

    # What MXNet's trainer has, and programs read or call.

    def _init_kvstore(self):
        """Makes the store; the first step gives it the parameters."""
        if not self._has_store:
            self._contexts = self._check_contexts()
            self._create_store()

    @property
    def _kvstore(self):
        """The store; None where there is none, or it has older values than the parameters have now."""
        return self._store if self._kv_initialized or not self._update_on_kvstore else None

    @property
    def _kv_initialized(self):
        if self._version is None or not self._update_on_kvstore:
            return self._has_store
        return self._version == self._version_now()

    def _version_now(self):
        return max([param._version for param in self._params])

    @property
    def _params_to_init(self):
        """The parameters that the store does not have yet."""
        if self._kv_initialized and (self._store is None or self._version is not None):
            return []
        return [param for index, param in enumerate(self._params) if index not in self._stored]

    def _active_updaters(self):
        if not self._update_on_kvstore:
            return self._updaters
        if self._store.updater is None:
            raise MXNetError(
                f"Trainer: the store {self._store.type} updates parameters out of reach, so other contexts "
                "or dtypes of theirs would lose the optimizer's states; make a new Trainer"
            )
        return [self._store.updater]

    def _exchange_of(self, places):
        """The exchange of the gradients at `places` of the lists."""
        indices = self._lists[0][0]
        grads, weights = (
            [[lists[kind][place] for lists in self._lists] for place in places] for kind in (1, 2)
        )
        where = {indices[place]: i for i, place in enumerate(places)}
        order = [where[index] for index in self._backward_order if index in where]
        keys = [indices[place] for place in places]
        if self._update_on_kvstore:
            outs = [
                copies if self._params[key].stype == "default" else None for key, copies in zip(keys, weights)
            ]
        else:
            outs = None
        return GradientExchange(self._store, keys, grads, outs, order)

    # --- files ---

    def save_states(self, fname):
        """Writes the optimizer and its states to a file."""
        self._prepare()
        if self._update_on_kvstore:
            self._store.save_optimizer_states(fname, dump_optimizer=True)
            return
        write_file(fname, self._updaters[0].get_states(dump_optimizer=True))

    def load_states(self, fname):
        """Reads a file of `save_states` (MXNet's as well); its optimizer, learning rate included, replaces
        ours. The number of contexts may be another than when it was saved.

        ValueError: the file is broken or holds other things than optimizer states.
        """
        self._prepare()
        if self._update_on_kvstore:
            self._store.load_optimizer_states(fname)
            if self._store.updater is not None:
                self._take_optimizer(self._store.updater.optimizer)
            return
        with open_file(fname) as file:
            self._take_states(file.read())

    def _take_states(self, states):
        updaters = self._active_updaters()
        for updater in updaters:
            updater.set_states(states)
            updater.optimizer = updaters[0].optimizer
        self._take_optimizer(updaters[0].optimizer)

    def _take_optimizer(self, optimizer):
        optimizer.param_dict = dict(enumerate(self._params))
        optimizer._share_update_counts([ctx.device_id for ctx in self._contexts])
        self._optimizer = optimizer
