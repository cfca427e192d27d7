"""BucketingModule: a module for each kind of batch, with common parameters."""

import logging
import numbers
import warnings
from pathlib import Path

from .. import ndarray as nd
from .. import symbol
from .._checkpoint import load_param_file, save_param_file
from ..name import NameManager
from .base_module import DEFAULT_INITIALIZER, BaseModule
from .module import Module

__all__ = ["BucketingModule"]


class BucketingModule(BaseModule):
    """Modules for batches of different lengths; a batch's `bucket_key` says which one it needs.

    `sym_gen(key)` gives (symbol, data_names, label_names); the symbol of `default_bucket_key` must have all
    parameters. The other arguments are those of Module.

    Examples
    --------
    >>> def make(length):
    ...     net = sym.FullyConnected(sym.var("data"), num_hidden=2, name="fc")
    ...     return sym.SoftmaxOutput(net, name="softmax"), ("data",), ("softmax_label",)
    >>> module = mx.mod.BucketingModule(make, default_bucket_key=3)
    >>> module.bind([("data", (2, 3))], [("softmax_label", (2,))])
    >>> module.init_params()
    >>> module.output_names
    ['softmax_output']
    """

    def __init__(self, sym_gen, default_bucket_key=None, logger=logging, context=None,
                 work_load_list=None, fixed_param_names=None, state_names=None, group2ctxs=None,
                 compression_params=None):  # fmt: skip
        super().__init__(logger)
        assert default_bucket_key is not None, "default_bucket_key is needed"
        self._sym_gen = sym_gen
        self._default_bucket_key = default_bucket_key
        self._context, self._work_load_list = context, work_load_list
        self._fixed_param_names, self._state_names = fixed_param_names, state_names
        self._group2ctxs, self._compression_params = group2ctxs, compression_params
        self._make(default_bucket_key)  # wrong names are reported here
        self._buckets = {}
        self._curr_module = None
        self._curr_bucket_key = None
        self._given = None
        self._monitor = None
        self._grad_req = "write"

    def _describe(self, key):
        """What `sym_gen` gives for a key; automatic names count anew, so they agree among the symbols."""
        with NameManager():
            return self._sym_gen(key)

    def _make(self, key):
        symbol, data_names, label_names = self._describe(key)
        return Module(symbol, data_names, label_names, self.logger, self._context, self._work_load_list,
                      self._fixed_param_names, self._state_names, self._group2ctxs,
                      self._compression_params)  # fmt: skip

    # --- files ---

    @staticmethod
    def load(prefix, epoch, sym_gen=None, default_bucket_key=None, **kwargs):
        """A BucketingModule with the parameters of a checkpoint, which are set when it is bound.

        Buckets that the checkpoint has take their symbols from it, all others, and names, from `sym_gen`.
        """
        assert sym_gen is not None, "sym_gen is needed: it names the data and labels of each bucket"
        saved = {}
        if Path(f"{prefix}.buckets").exists():
            keys = nd.load(f"{prefix}.buckets")[0].asnumpy().tolist()
            saved = {key: symbol.load(f"{prefix}-{key}-symbol.json") for key in keys}

        def described(key):
            made, *names = sym_gen(key)
            return saved.get(key, made), *names

        arg_params, aux_params = load_param_file(f"{prefix}-{epoch:04d}.params")
        return BucketingModule.load_dict(
            None, described, default_bucket_key, arg_params, aux_params, **kwargs
        )

    @staticmethod
    def load_dict(sym_dict=None, sym_gen=None, default_bucket_key=None, arg_params=None, aux_params=None,
                  **kwargs):  # fmt: skip
        """A BucketingModule with the parameters given; `sym_dict` has what `sym_gen` gives for each key."""
        made = BucketingModule(sym_gen or sym_dict.__getitem__, default_bucket_key, **kwargs)
        made._given = (arg_params or {}, aux_params or {})
        made.params_initialized = True
        return made

    def save_checkpoint(self, prefix, epoch, remove_amp_cast=False):
        """Writes the symbol of each bucket (`<prefix>-<key>-symbol.json`), `<prefix>-<epoch>.params`, and the
        keys, where they are integers (`<prefix>.buckets`).
        """
        self._check("save_checkpoint")
        for key, module in self._buckets.items():
            module.symbol.save(f"{prefix}-{key}-symbol.json", remove_amp_cast)
        save_param_file(f"{prefix}-{epoch:04d}.params", *self.get_params())
        if all(isinstance(key, numbers.Integral) for key in self._buckets):
            nd.save(f"{prefix}.buckets", nd.array(list(self._buckets), dtype="int32"))

    # --- descriptions ---

    def _current(self):
        assert self.binded, "call bind first"
        return self._curr_module

    @property
    def data_names(self):
        """Names of the data of the present bucket."""
        return self._curr_module.data_names if self.binded else self._describe(self._default_bucket_key)[1]

    @property
    def output_names(self):
        """Names of the outputs of the present bucket."""
        if self.binded:
            return self._curr_module.output_names
        return self._describe(self._default_bucket_key)[0].list_outputs()

    @property
    def data_shapes(self):
        """Descriptions of the data of the present bucket."""
        return self._current().data_shapes

    @property
    def label_shapes(self):
        """Descriptions of the labels of the present bucket, or None."""
        return self._current().label_shapes

    @property
    def output_shapes(self):
        """[(name, shape)] of the outputs of the present bucket."""
        return self._current().output_shapes

    @property
    def symbol(self):
        """The symbol of the present bucket."""
        return self._current().symbol

    # --- buckets ---

    def bind(self, data_shapes, label_shapes=None, for_training=True, inputs_need_grad=False,
             force_rebind=False, shared_module=None, grad_req="write"):  # fmt: skip
        """Binds the default bucket; the others follow when their first batch comes.

        AssertionError: a shared module is given.
        """
        assert shared_module is None, "shared_module for BucketingModule is not supported"
        if self.binded and not force_rebind:
            self.logger.warning("Already bound, ignoring bind()")
            return
        if self.binded and self.params_initialized:
            self._given = self.get_params()
        self.for_training = for_training
        self.inputs_need_grad = inputs_need_grad
        self._grad_req = grad_req
        module = self._make(self._default_bucket_key)
        module.bind(data_shapes, label_shapes, for_training, inputs_need_grad, grad_req=grad_req)
        self._curr_module, self._curr_bucket_key = module, self._default_bucket_key
        self._buckets = {self._default_bucket_key: module}
        self.binded = True
        self.optimizer_initialized = False
        if self._given is not None:
            self.set_params(*self._given)
            self._given = None

    def switch_bucket(self, bucket_key, data_shapes, label_shapes=None):
        """Goes on with another bucket, which is bound if it is new."""
        assert self.binded, "call bind before switching bucket"
        if bucket_key not in self._buckets:
            module = self._make(bucket_key)
            owner = self._buckets[self._default_bucket_key]
            module.bind(data_shapes, label_shapes, self.for_training, self.inputs_need_grad,
                        shared_module=owner, grad_req=self._grad_req)  # fmt: skip
            if self._monitor is not None:
                module.install_monitor(self._monitor)
            self._buckets[bucket_key] = module
        self._curr_module, self._curr_bucket_key = self._buckets[bucket_key], bucket_key

    # --- parameters and optimizer ---

    def get_params(self):
        """(arg_params, aux_params): copies of the parameters of the default bucket."""
        self._check("get_params")
        return self._buckets[self._default_bucket_key].get_params()

    def init_params(self, initializer=DEFAULT_INITIALIZER, arg_params=None, aux_params=None,
                    allow_missing=False, force_init=False, allow_extra=False):  # fmt: skip
        """Fills the parameters; see Module."""
        if self.params_initialized and not force_init:
            return
        assert self.binded, "call bind before initializing the parameters"
        self._buckets[self._default_bucket_key].init_params(
            initializer, arg_params, aux_params, allow_missing, True, allow_extra
        )
        self._share_readiness()

    def set_params(self, arg_params, aux_params, allow_missing=False, force_init=True, allow_extra=False):
        """Writes parameters; see Module."""
        if self.params_initialized and not force_init:
            warnings.warn(
                "Parameters already initialized and force_init=False. set_params call ignored.", stacklevel=2
            )
            return
        self._buckets[self._default_bucket_key].set_params(
            arg_params, aux_params, allow_missing, True, allow_extra
        )
        self._share_readiness()

    def _share_readiness(self):
        for module in self._buckets.values():
            module.params_initialized = True
        self.params_initialized = True

    def init_optimizer(self, kvstore="local", optimizer="sgd", optimizer_params=(("learning_rate", 0.01),),
                       force_init=False):  # fmt: skip
        """Makes one optimizer for all buckets; see Module."""
        self._check("init_optimizer")
        if self.optimizer_initialized and not force_init:
            self.logger.warning("optimizer already initialized, ignoring.")
            return
        owner = self._buckets[self._default_bucket_key]
        owner.init_optimizer(kvstore, optimizer, optimizer_params, force_init)
        for module in self._buckets.values():
            if module is not owner:
                module.borrow_optimizer(owner)
        self.optimizer_initialized = True

    def get_states(self, merge_multi_context=True):
        """The arrays of the states of the present bucket."""
        self._check("get_states")
        return self._curr_module.get_states(merge_multi_context)

    def set_states(self, states=None, value=None):
        """Sets the states of the present bucket."""
        self._check("set_states")
        self._curr_module.set_states(states, value)

    def install_monitor(self, mon):
        """Lets a Monitor watch the executors of all buckets, present and coming."""
        self._current()
        self._monitor = mon
        for module in self._buckets.values():
            module.install_monitor(mon)

    # --- steps ---

    def prepare(self, data_batch, sparse_row_id_fn=None):
        """Binds the bucket of a batch ahead, if it is new, and brings the rows that the batch needs."""
        self._check("prepare")
        now = self._curr_module, self._curr_bucket_key
        try:
            self.switch_bucket(data_batch.bucket_key, data_batch.provide_data, data_batch.provide_label)
            self._curr_module.prepare(data_batch, sparse_row_id_fn)
        finally:
            self._curr_module, self._curr_bucket_key = now

    def forward(self, data_batch, is_train=None):
        """Switches to the bucket of a batch and computes its outputs."""
        self._check("forward")
        self.switch_bucket(data_batch.bucket_key, data_batch.provide_data, data_batch.provide_label)
        self._curr_module.forward(data_batch, is_train)

    def backward(self, out_grads=None):
        """Computes the gradients; see Module."""
        self._check("backward")
        self._curr_module.backward(out_grads)

    def update(self):
        """Updates the parameters that the present bucket uses."""
        self._check("update", optimizer=True)
        self._curr_module.update()

    def get_outputs(self, merge_multi_context=True):
        """The outputs of the last forward."""
        self._check("get_outputs")
        return self._curr_module.get_outputs(merge_multi_context)

    def get_input_grads(self, merge_multi_context=True):
        """The gradients of the data; see Module."""
        self._check("get_input_grads")
        return self._curr_module.get_input_grads(merge_multi_context)

    def update_metric(self, eval_metric, labels, pre_sliced=False):
        """Adds the last outputs to a metric."""
        self._check("update_metric")
        self._curr_module.update_metric(eval_metric, labels, pre_sliced)
