"""SequentialModule: modules one after the other."""

import logging

from ..io import DataBatch, DataDesc
from .base_module import DEFAULT_INITIALIZER, BaseModule

__all__ = ["SequentialModule"]


class SequentialModule(BaseModule):
    """Modules where each takes the outputs of the one before as its data.

    `add(module, take_labels=True)`: this module gets the labels; `auto_wiring=True`: its data names are given
    to the outputs before it, in their order.

    Examples
    --------
    >>> chain = mx.mod.SequentialModule()
    >>> layer = sym.FullyConnected(sym.var("data"), num_hidden=4, name="fc")
    >>> first = mx.mod.Module(layer, label_names=None)
    >>> chain = chain.add(first)
    >>> chain.data_names
    ['data']
    """

    META_TAKE_LABELS = "take_labels"
    META_AUTO_WIRING = "auto_wiring"

    def __init__(self, logger=logging):
        super().__init__(logger)
        self._modules = []
        self._metas = []
        self._label_shapes = None

    def add(self, module, **kwargs):
        """Adds a module and gives the sequence back. AssertionError: a keyword is unknown."""
        known = {self.META_TAKE_LABELS, self.META_AUTO_WIRING}
        assert known.issuperset(kwargs), f"Unknown meta {sorted(set(kwargs) - known)}, a typo?"
        self._modules.append(module)
        self._metas.append(kwargs)
        self.binded = self.params_initialized = self.optimizer_initialized = False
        return self

    def _takes_labels(self):
        """(module, whether it gets the labels) for each module."""
        return [(module, meta.get(self.META_TAKE_LABELS)) for module, meta in zip(self._modules, self._metas)]

    def _bound(self):
        assert self.binded, "call bind first"
        return self._modules

    @property
    def data_names(self):
        """Names of the data of the first module."""
        return self._modules[0].data_names if self._modules else []

    @property
    def output_names(self):
        """Names of the outputs of the last module."""
        return self._modules[-1].output_names if self._modules else []

    @property
    def data_shapes(self):
        """Descriptions of the data of the first module."""
        return self._bound()[0].data_shapes

    @property
    def label_shapes(self):
        """Descriptions of the labels, or None."""
        self._bound()
        return self._label_shapes

    @property
    def output_shapes(self):
        """[(name, shape)] of the outputs of the last module."""
        return self._bound()[-1].output_shapes

    def get_params(self):
        """(arg_params, aux_params) of all modules."""
        self._check("get_params")
        arg_params, aux_params = {}, {}
        for module in self._modules:
            arg, aux = module.get_params()
            arg_params.update(arg)
            aux_params.update(aux)
        return arg_params, aux_params

    def init_params(self, initializer=DEFAULT_INITIALIZER, arg_params=None, aux_params=None,
                    allow_missing=False, force_init=False, allow_extra=False):  # fmt: skip
        """Fills the parameters of all modules; see Module. ValueError: two modules have parameters of one
        name.
        """
        if self.params_initialized and not force_init:
            return
        assert self.binded, "call bind before initializing the parameters"
        owners = {}
        for number, module in enumerate(self._modules):
            module.init_params(initializer=initializer, arg_params=arg_params, aux_params=aux_params,
                               allow_missing=allow_missing, force_init=force_init,
                               allow_extra=allow_extra)  # fmt: skip
            for params in module.get_params():
                for name in params:
                    if name in owners:
                        raise ValueError(
                            f'Duplicated parameter names: name "{name}" in layer {number} is already used in '
                            f"layer {owners[name]}"
                        )
                    owners[name] = number
        self.params_initialized = True

    def bind(self, data_shapes, label_shapes=None, for_training=True, inputs_need_grad=False,
             force_rebind=False, shared_module=None, grad_req="write"):  # fmt: skip
        """Binds all modules in turn. AssertionError: no modules, a shared module, or unfit numbers of
        outputs.
        """
        if self.binded and not force_rebind:
            self.logger.warning("Already bound, ignoring bind()")
            return
        assert for_training or not inputs_need_grad, "inputs_need_grad needs for_training"
        assert shared_module is None, "Shared module is not supported"
        assert self._modules, "Attempting to bind an empty SequentialModule"
        self.for_training = for_training
        self.inputs_need_grad = inputs_need_grad
        shapes, labels_used = data_shapes, False
        for number, (module, meta) in enumerate(zip(self._modules, self._metas)):
            takes_labels = meta.get(self.META_TAKE_LABELS, False)
            labels_used = labels_used or takes_labels
            if meta.get(self.META_AUTO_WIRING, False):
                names = module.data_names
                assert len(names) == len(shapes), (
                    f"module {number} takes {len(names)} data, gets {len(shapes)}"
                )
                shapes = [
                    DataDesc(name, *one[1:2])
                    if not isinstance(one, DataDesc)
                    else DataDesc(name, one.shape, one.dtype, one.layout)
                    for name, one in zip(names, shapes)
                ]
            module.bind(
                data_shapes=shapes,
                label_shapes=label_shapes if takes_labels else None,
                for_training=for_training,
                inputs_need_grad=for_training and (inputs_need_grad or number > 0),
                force_rebind=force_rebind,
                shared_module=None,
                grad_req=grad_req,
            )
            shapes = module.output_shapes
        self._label_shapes = label_shapes if labels_used else None
        self.binded = True

    def init_optimizer(self, kvstore="local", optimizer="sgd", optimizer_params=(("learning_rate", 0.01),),
                       force_init=False):  # fmt: skip
        """Makes an optimizer for each module."""
        self._check("init_optimizer")
        if self.optimizer_initialized and not force_init:
            self.logger.warning("optimizer already initialized, ignoring.")
            return
        for module in self._modules:
            module.init_optimizer(kvstore=kvstore, optimizer=optimizer, optimizer_params=optimizer_params,
                                  force_init=force_init)  # fmt: skip
        self.optimizer_initialized = True

    def forward(self, data_batch, is_train=None):
        """Runs all modules; see Module."""
        self._check("forward")
        data, rest = data_batch.data, [getattr(data_batch, name, None) for name in ("label", "pad", "index")]
        for before, module in zip([None, *self._modules], self._modules):
            data = data if before is None else before.get_outputs()
            module.forward(DataBatch(data, *rest), is_train=is_train)

    def backward(self, out_grads=None):
        """Runs all modules backward; `out_grads`: those of the last one's outputs."""
        self._check("backward")
        for module in reversed(self._modules):
            module.backward(out_grads=out_grads)
            if module is not self._modules[0]:
                out_grads = module.get_input_grads()

    def update(self):
        """Updates the parameters of all modules."""
        self._check("update", optimizer=True)
        for module in self._modules:
            module.update()

    def get_outputs(self, merge_multi_context=True):
        """The outputs of the last module."""
        self._check("get_outputs")
        return self._modules[-1].get_outputs(merge_multi_context)

    def get_input_grads(self, merge_multi_context=True):
        """The gradients of the data of the first module."""
        self._check("get_input_grads")
        assert self.inputs_need_grad, "bind with inputs_need_grad=True"
        return self._modules[0].get_input_grads(merge_multi_context)

    def update_metric(self, eval_metric, labels, pre_sliced=False):
        """Adds the outputs of the modules that take labels to a metric."""
        self._check("update_metric")
        for module, takes_labels in self._takes_labels():
            if takes_labels:
                module.update_metric(eval_metric, labels, pre_sliced)

    def install_monitor(self, mon):
        """Lets a Monitor watch the executors of all modules."""
        for module in self._bound():
            module.install_monitor(mon)
