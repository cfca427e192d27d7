"""Module: one symbol with its parameters and optimizer."""

import logging
import pathlib
import warnings

import numpy

from .. import _arrays as arrays
from .. import optimizer as opt
from .._checkpoint import load_checkpoint, save_checkpoint
from .._exchange import GradientExchange, create_store
from .._file import write_file
from .._lists import as_list
from ..base import ArrayValueError
from ..context import Context, current_context
from ..initializer import InitDesc
from ..io import DataDesc
from ..kvstore import KVStoreBase, is_capable
from ..name import PARAMETER_SUFFIXES
from .base_module import DEFAULT_INITIALIZER, BaseModule, check_descriptions
from .executor_group import ExecutorGroup, groups_of, requests_of

__all__ = ["Module"]


def check_names(symbol, names, what, required):
    """ValueError, or a UserWarning unless `required`: a name is no argument of the symbol."""
    known = symbol.list_arguments()
    for name in names:
        if name in known:
            continue
        inputs = [one for one in known if not one.endswith(PARAMETER_SUFFIXES)]
        listed = "\n\t".join(inputs)
        text = (
            f"\033[91mYou created Module with Module(..., {what}={names}) but input with name '{name}' is "
            f"not found in symbol.list_arguments(). Did you mean one of:\n\t{listed}\033[0m"
        )
        if required:
            raise ArrayValueError(text)
        warnings.warn(text, stacklevel=3)


def _described(one, shape):
    """A DataDesc with another shape."""
    return DataDesc(one.name, shape, one.dtype, one.layout)


def _resized(described, given):
    """The descriptions with the shapes of the arrays given."""
    return [_described(one, tuple(array.shape)) for one, array in zip(described or (), given or ())]


def _fill(array, name, given, initializer, allow_missing):
    if given is not None and name in given:
        value = given[name]
        if value.shape != array.shape:
            raise ArrayValueError(
                f"the parameter {name} has shape {array.shape}, the value given {value.shape}"
            )
        array[:] = arrays.like(value.astype(array._dtype_name).as_in_context(array.ctx), array)
        return
    if given is not None and not allow_missing:
        raise RuntimeError(f"{name} is not presented")
    if initializer is not None:
        initializer(name, array)


class Module(BaseModule):
    """A symbol whose inputs `data_names` and `label_names` come from batches; its other arguments are
    parameters.

    `context`: one context or several, which share each batch in proportion to `work_load_list`. Parameters in
    `fixed_param_names` stay as they are; `state_names` are inputs that set_states sets. `compression_params`:
    of KVStore.set_gradient_compression. `group2ctxs` says where groups of variables are, as `group2ctx` of
    simple_bind: a dictionary, whose values may be lists with a context for each of `context`, or a list of
    dictionaries. ValueError: a name is no argument of the symbol.

    Examples
    --------
    >>> net = sym.FullyConnected(sym.var("data"), num_hidden=2, name="fc")
    >>> net = sym.SoftmaxOutput(net, name="softmax")
    >>> batches = mx.io.NDArrayIter(nd.ones((4, 3)), nd.zeros((4,)), batch_size=2)
    >>> module = mx.mod.Module(net)
    >>> module.fit(batches, num_epoch=1)
    >>> module.predict(batches).shape
    (4, 2)
    """

    def __init__(self, symbol, data_names=("data",), label_names=("softmax_label",), logger=logging,
                 context=None, work_load_list=None, fixed_param_names=None, state_names=None, group2ctxs=None,
                 compression_params=None):  # fmt: skip
        super().__init__(logger)
        context = current_context() if context is None else context
        self._context = [context] if isinstance(context, Context) else list(context)
        self._groups = groups_of(group2ctxs, len(self._context))
        self._work_load_list = list(work_load_list or [1] * len(self._context))
        assert len(self._work_load_list) == len(self._context), (
            "work_load_list must have an item for each context"
        )
        self._symbol = symbol
        self._data_names, self._label_names, self._state_names, self._fixed_param_names = (
            list(names or ()) for names in (data_names, label_names, state_names, fixed_param_names)
        )
        check_names(symbol, self._data_names, "data_names", True)
        check_names(symbol, self._label_names, "label_names", False)
        check_names(symbol, self._state_names, "state_names", True)
        check_names(symbol, self._fixed_param_names, "fixed_param_names", True)
        inputs = {*self._data_names, *self._label_names, *self._state_names}
        self._param_names = [name for name in symbol.list_arguments() if name not in inputs]
        self._aux_names = symbol.list_auxiliary_states()
        self._exec_group = None
        # Two dictionaries: what get_params gives, and until bind the parameters that wait for it.
        self._params = [None, None]
        self._preload_opt_states = None  # file with states of the optimizer that waits for it
        self._compression_params = compression_params
        self._optimizer = self._kvstore = self._grad_req = None
        self._updaters = []
        self._update_on_kvstore = False
        self._forget_updates()

    def _forget_updates(self):
        self._updates = self._exchange = None

    # --- files ---

    @staticmethod
    def load(prefix, epoch, load_optimizer_states=False, **kwargs):
        """A Module of a checkpoint, whose parameters are set when it is bound; keywords go to Module."""
        symbol, *params = load_checkpoint(prefix, epoch)
        made = Module(symbol, **kwargs)
        made._params = params
        made.params_initialized = True
        if load_optimizer_states:
            made._preload_opt_states = f"{prefix}-{epoch:04d}.states"
        return made

    def save_checkpoint(self, prefix, epoch, save_optimizer_states=False, remove_amp_cast=True):
        """Writes `<prefix>-symbol.json`, `<prefix>-<epoch>.params`; `<prefix>-<epoch>.states` if asked."""
        save_checkpoint(prefix, epoch, self._symbol, *self.get_params(), remove_amp_cast)
        if save_optimizer_states:
            name = f"{prefix}-{epoch:04d}.states"
            self.save_optimizer_states(name)
            logging.info('Saved optimizer state to "%s"', name)

    def save_optimizer_states(self, fname):
        """Writes the states of the optimizer to a file."""
        self._check("save_optimizer_states", optimizer=True)
        if self._update_on_kvstore:
            self._kvstore.save_optimizer_states(fname)
        else:
            write_file(fname, self._updaters[0].get_states())

    def load_optimizer_states(self, fname):
        """Reads what save_optimizer_states wrote. OSError: no such file. ValueError: it is another."""
        self._check("load_optimizer_states", optimizer=True)
        if self._update_on_kvstore:
            self._kvstore.load_optimizer_states(fname)
            return
        states = pathlib.Path(fname).read_bytes()
        for updater in self._updaters:
            updater.set_states(states)

    # --- descriptions ---

    @property
    def data_names(self):
        """Names of the data."""
        return self._data_names

    @property
    def label_names(self):
        """Names of the labels."""
        return self._label_names

    @property
    def output_names(self):
        """Names of the outputs."""
        return self._symbol.list_outputs()

    def _bound(self):
        assert self.binded, "call bind first"
        return self._exec_group

    @property
    def data_shapes(self):
        """Descriptions of the data."""
        return self._bound().data_shapes

    @property
    def label_shapes(self):
        """Descriptions of the labels, or None."""
        return self._bound().label_shapes

    @property
    def output_shapes(self):
        """[(name, shape)] of the outputs."""
        return self._bound().get_output_shapes()

    # --- fields of MXNet's Module that programs read and set ---

    @property
    def _data_shapes(self):
        return self.data_shapes if self.binded else None

    @property
    def _label_shapes(self):
        return self.label_shapes if self.binded else None

    @property
    def _output_names(self):
        return self.output_names

    def _sync_params_from_devices(self):
        """The parameters with the values of now, or those that wait for bind."""
        return self.get_params() if self.binded and self.params_initialized else self._params

    @property
    def _arg_params(self):
        return self._sync_params_from_devices()[0]

    @_arg_params.setter
    def _arg_params(self, params):
        self._params[0] = params

    @property
    def _aux_params(self):
        return self._sync_params_from_devices()[1]

    @_aux_params.setter
    def _aux_params(self, params):
        self._params[1] = params

    @property
    def _updater(self):
        return self._updaters[0] if self._updaters and not self._update_on_kvstore else None

    # --- arrays ---

    def bind(self, data_shapes, label_shapes=None, for_training=True, inputs_need_grad=False,
             force_rebind=False, shared_module=None, grad_req="write"):  # fmt: skip
        """Makes executors; parameters and gradients are those of `shared_module` where it has them.

        RuntimeError: a shape stays unknown. ValueError: wrong names, or a batch smaller than the contexts.
        """
        if self.binded and not force_rebind:
            self.logger.warning("Already bound, ignoring bind()")
            return
        if self.binded and self.params_initialized:
            self.get_params()
        self.for_training = for_training
        self.inputs_need_grad = inputs_need_grad
        assert for_training or not inputs_need_grad, "inputs_need_grad needs for_training"
        self._grad_req = grad_req
        self._requests = self._request(grad_req if for_training else "null")
        shared = shared_module and shared_module._bound()
        self._make_executors(data_shapes, label_shapes, shared)
        self.binded = True
        if shared_module is not None and shared_module.params_initialized:
            self.params_initialized = True
            if shared_module.optimizer_initialized:
                self.borrow_optimizer(shared_module)
        elif self.params_initialized:
            self._exec_group.set_params(*(given or {} for given in self._params))

    def _request(self, grad_req):
        """The gradient request of each argument."""
        trained = {name for name in self._param_names if name not in self._fixed_param_names}
        if self.inputs_need_grad:
            trained.update(self._data_names)
        return requests_of(self._symbol, grad_req, trained)

    def _make_executors(self, data_shapes, label_shapes, shared):
        data, label = check_descriptions(self._data_names, self._label_names, data_shapes, label_shapes)
        self._check_labels([one.name for one in label or ()])
        self._exec_group = ExecutorGroup(
            self._symbol, self._context, self._work_load_list, data, label, self._param_names,
            self._state_names, self._requests, shared, self._groups,
        )  # fmt: skip
        self._forget_updates()

    def _check_labels(self, given):
        """KeyError: a label that the symbol waits for was given by a name that it does not have."""
        arguments = self._symbol.list_arguments()
        waiting = [name for name in self._label_names if name in arguments and name not in given]
        unknown = [name for name in given if name not in arguments]
        if waiting and unknown:
            raise KeyError(
                f"{unknown[0]}: the symbol has no such argument; its labels are "
                f"{', '.join(self._label_names)}. Give the iterator's label that name (label_name=), or the "
                "module that of the iterator (label_names=)"
            )

    def reshape(self, data_shapes, label_shapes=None):
        """Goes on with data and labels of other shapes; parameters, gradients and optimizer stay."""
        before = self._bound()
        self._make_executors(data_shapes, label_shapes, before)
        self._exec_group.keep_monitors_of(before)

    def get_params(self):
        """(arg_params, aux_params): copies of the parameters, name to array on the CPU.

        Every call gives the same dictionaries and arrays, with the values of now.
        """
        self._check("get_params")
        self._params = arg_params, aux_params = [{} if held is None else held for held in self._params]
        self._exec_group.get_params(arg_params, aux_params)
        for name in self._stored_rows():
            self._kvstore.pull(name, out=arg_params[name], ignore_sparse=False)
        return arg_params, aux_params

    def _stored_rows(self):
        """The names of row_sparse parameters that a store updates: executors have the rows last asked for."""
        if not self._update_on_kvstore:
            return []
        held = self._exec_group.execs[0].arg_dict
        return [
            name for name in self._param_names if name in self._index and held[name].stype == "row_sparse"
        ]

    def init_params(self, initializer=DEFAULT_INITIALIZER, arg_params=None, aux_params=None,
                    allow_missing=False, force_init=False, allow_extra=False):  # fmt: skip
        """Fills the parameters, in the order of their names.

        A parameter gets its value in `arg_params` or `aux_params`; else `initializer` fills it, by the
        attribute `__init__` of its variable or by the end of its name. Values for other names are passed
        over. RuntimeError: values are given, this one is missing, and `allow_missing` is not set.
        """
        if self.params_initialized and not force_init:
            warnings.warn(
                "Parameters already initialized and force_init=False. init_params call ignored.", stacklevel=2
            )
            return
        assert self.binded, "call bind before initializing the parameters"
        attributes = self._symbol.attr_dict()
        for names, kind, given in (
            (self._param_names, "arg_dict", arg_params),
            (self._aux_names, "aux_dict", aux_params),
        ):
            held = dict(zip(names, self._exec_group.arrays_of(names, kind)))
            for name, (first, *others) in sorted(held.items()):
                _fill(first, InitDesc(name, attributes.get(name)), given, initializer, allow_missing)
                for other in others:
                    other[:] = first.as_in_context(other.ctx)
        self._write_to_store()
        self.params_initialized = True

    def set_params(self, arg_params, aux_params, allow_missing=False, force_init=True, allow_extra=False):
        """Writes parameters. RuntimeError: one is missing and not allowed to. ValueError: one is unknown."""
        if not allow_missing:
            self.init_params(initializer=None, arg_params=arg_params, aux_params=aux_params,
                             allow_missing=False, force_init=force_init, allow_extra=allow_extra)  # fmt: skip
            return
        if self.params_initialized and not force_init:
            warnings.warn(
                "Parameters already initialized and force_init=False. set_params call ignored.", stacklevel=2
            )
            return
        self._bound().set_params(arg_params, aux_params, allow_extra)
        self._write_to_store()
        self.params_initialized = True

    def get_states(self, merge_multi_context=True):
        """The arrays of the states."""
        self._check("get_states")
        return self._exec_group.get_states(merge_multi_context)

    def set_states(self, states=None, value=None):
        """Sets the states to arrays (each a list over the contexts), or all to one number."""
        self._check("set_states")
        given = None if states is None else [as_list(one) for one in states]
        self._exec_group.set_states(given, value)

    def install_monitor(self, mon):
        """Lets a Monitor watch the executors."""
        self._bound().install_monitor(mon)

    # --- the optimizer ---

    def init_optimizer(self, kvstore="local", optimizer="sgd", optimizer_params=(("learning_rate", 0.01),),
                       force_init=False):  # fmt: skip
        """Makes the optimizer; gradients are divided by the batch size unless `rescale_grad` is given.

        `kvstore`, a KVStore or its name, sums the gradients of several contexts and, where it can, updates
        the parameters; None: every context trains with its own gradients. Where it sums those of several
        workers, the batches of all of them count. TypeError, ValueError: it is neither, or no store has that
        name.
        """
        self._check("init_optimizer")
        if self.optimizer_initialized and not force_init:
            self.logger.warning("optimizer already initialized, ignoring...")
            return
        replicas = self._exec_group.arrays_of(self._param_names)
        values = [copies[0] for copies in replicas]
        self._kvstore, self._update_on_kvstore = create_store(kvstore, len(self._context), values)
        count = 1 if self._update_on_kvstore else len(self._context)
        self._index = {name: i * count for i, name in enumerate(self._param_names)}
        names = {index + k: name for name, index in self._index.items() for k in range(count)}
        rescale = 1.0 / (self._exec_group.batch_size * self._summed_workers())
        self._optimizer = optimizer = self._make_optimizer(optimizer, optimizer_params, names, rescale)
        self._updaters = [opt.get_updater(optimizer)] * count
        self._init_kvstore(replicas)
        self._forget_updates()
        self.optimizer_initialized = True
        if self._preload_opt_states is not None:
            self.load_optimizer_states(self._preload_opt_states)
            self._preload_opt_states = None

    def _make_optimizer(self, optimizer, optimizer_params, names, rescale):
        """An Optimizer of what init_optimizer was given; `names`: by index, those of what it updates."""
        if isinstance(optimizer, str):
            options = {"rescale_grad": rescale, **dict(optimizer_params)}
            return opt.create(optimizer, sym=self._symbol, param_idx2name=names, **options)
        if optimizer.rescale_grad != rescale:
            warnings.warn(
                "Optimizer created manually outside Module but rescale_grad is not normalized to "
                f"1.0/batch_size/num_workers ({optimizer.rescale_grad} vs. {rescale}). Is this intended?",
                stacklevel=3,
            )
        optimizer.idx2name = optimizer.idx2name or names
        return optimizer

    def _summed_workers(self):
        """How many workers' gradients an update sums."""
        store = self._kvstore
        if store is None or is_capable(store, KVStoreBase.ASYNCHRONOUS):
            return 1
        return store.num_workers if is_capable(store, KVStoreBase.DISTRIBUTED) else 1

    def _init_kvstore(self, replicas):
        store = self._kvstore
        if store is None:
            return
        if self._compression_params:
            store.set_gradient_compression(self._compression_params)
        if is_capable(store, KVStoreBase.DISTRIBUTED):
            scale = float(self._optimizer.rescale_grad)
            store._agree_in(f"Module.init_optimizer with gradients times {scale:.9g}")
        if self._update_on_kvstore:
            store.set_optimizer(self._optimizer)
        for name, copies in zip(self._param_names, replicas):
            if copies[0].stype == "default":
                store.broadcast(name, copies[0], out=copies)
            else:
                store.init(name, copies[0])

    def _write_to_store(self):
        """Gives a store that updates the parameters the values that were set."""
        if not self._update_on_kvstore:
            return
        names = [name for name in self._param_names if name in self._index]
        try:
            for name, copies in zip(names, self._exec_group.arrays_of(names)):
                self._kvstore.replace(name, copies[0])
        except NotImplementedError as error:  # a store written for MXNet
            warnings.warn(f"the next update starts from what the store holds: {error}", stacklevel=3)

    def borrow_optimizer(self, shared_module):
        """Updates by the optimizer, and with the states, of another module from now on."""
        assert shared_module.optimizer_initialized, "the other module has no optimizer yet"
        for name in ("_optimizer", "_updaters", "_index", "_kvstore", "_update_on_kvstore"):
            setattr(self, name, getattr(shared_module, name))
        self._forget_updates()
        self.optimizer_initialized = True

    def _plan_updates(self):
        """What update needs: (indices, gradients, weights) for each updater, and the exchange before it.

        The lists stay the same from step to step, as an Updater wants it.
        """
        names = [name for name in self._param_names if self._requests[name] != "null" and name in self._index]
        weights = self._exec_group.arrays_of(names)
        grads = self._exec_group.arrays_of(names, "grad_dict")
        if self._kvstore is not None:
            outs = None
            if self._update_on_kvstore:
                outs = [copies if copies[0].stype == "default" else None for copies in weights]
            order = list(reversed(range(len(names))))  # in which backward goes through the layers
            self._exchange = GradientExchange(self._kvstore, names, grads, outs, order)
        index = [self._index[name] for name in names]
        self._updates = [
            ([i + k for i in index], [copies[k] for copies in grads], [copies[k] for copies in weights])
            for k in range(0 if self._update_on_kvstore else len(self._context))
        ]

    # --- steps ---

    def prepare(self, data_batch, sparse_row_id_fn=None):
        """Brings the rows of row_sparse parameters that a batch needs from the store that updates them.

        `sparse_row_id_fn(data_batch)` is a dictionary: name of the parameter to array of the numbers of rows.
        UserWarning: no store updates, or a parameter is dense.
        """
        assert self.binded
        if sparse_row_id_fn is None:
            return
        if not self._update_on_kvstore:
            warnings.warn(
                "Parameters are not updated in the KVStore. No need to call sparse_row_id_fn.", stacklevel=2
            )
            return
        row_ids = sparse_row_id_fn(data_batch)
        assert isinstance(row_ids, dict), "Expected dict output from sparse_row_id_fn"
        for name, rows in row_ids.items():
            (copies,) = self._exec_group.arrays_of([name])
            if copies[0].stype != "row_sparse":
                warnings.warn(
                    f"{name}.stype is not 'row_sparse'. No need to perform row_sparse_pull.", stacklevel=2
                )
            else:
                place = self._param_names.index(name)
                self._kvstore.row_sparse_pull(name, copies, row_ids=rows, priority=-place)

    def forward(self, data_batch, is_train=None):
        """Computes the outputs of a DataBatch, or of a list with one for each context; `is_train` None: as
        bound.

        Of a batch nothing but `data` is needed. One of other shapes makes new executors.
        """
        self._check("forward")
        if not isinstance(data_batch, list):
            self._adapt(data_batch)
        self._exec_group.forward(data_batch, self.for_training if is_train is None else is_train)

    def _adapt(self, batch):
        group = self._exec_group
        data = _resized(group.data_shapes, batch.data)
        label = _resized(group.label_shapes, getattr(batch, "label", None))
        if data == group.data_shapes and (not label or label == group.label_shapes):
            return
        if not label:
            size = data[0].shape[group.data_axes[0]]
            label = [_described(one, (size, *one.shape[1:])) for one in group.label_shapes or ()]
        self.reshape(
            getattr(batch, "provide_data", None) or data, getattr(batch, "provide_label", None) or label
        )

    def backward(self, out_grads=None):
        """Computes the gradients; `out_grads`: those of the outputs, for symbols that end in no loss.

        AssertionError: the module was bound for predictions.
        """
        self._check("backward")
        assert self.for_training, "Module.backward: bind again with for_training=True"
        self._exec_group.backward(None if out_grads is None else as_list(out_grads))

    @property
    def _total_exec_bytes(self):
        """Bytes of the arrays that the executors hold, by MXNet's name."""
        held = self._exec_group.arrays_of(self._exec_group.arg_names)
        held += self._exec_group.arrays_of(self._exec_group.arg_names, "grad_dict")
        held += self._exec_group.aux_arrays
        return sum(
            one.size * numpy.dtype(one.dtype).itemsize for copies in held for one in copies if one is not None
        )

    def update(self):
        """Updates the parameters by their gradients."""
        self._check("update", optimizer=True)
        if self._updates is None:
            self._plan_updates()
        if self._exchange is not None:
            self._exchange.run()
        for updater, (index, grads, weights) in zip(self._updaters, self._updates):
            updater(index, grads, weights)

    def get_outputs(self, merge_multi_context=True):
        """The outputs of the last forward; without merging, a list over the contexts for each."""
        self._check("get_outputs")
        return self._exec_group.get_outputs(merge_multi_context)

    def get_input_grads(self, merge_multi_context=True):
        """The gradients of the data, as get_outputs. AssertionError: bound without inputs_need_grad."""
        self._check("get_input_grads")
        assert self.inputs_need_grad, "bind with inputs_need_grad=True"
        return self._exec_group.get_input_grads(merge_multi_context)

    def update_metric(self, eval_metric, labels, pre_sliced=False):
        """Adds the last outputs to a metric; `pre_sliced`: the labels are lists for each context."""
        self._exec_group.update_metric(eval_metric, self._label_names, labels, pre_sliced)
