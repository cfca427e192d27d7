"""A Module whose gradients have less variance than those of a batch."""

import logging

from ...._arrays import zeros_like
from ....module import Module
from .svrg_optimizer import FULL, _SVRGOptimizer

__all__ = ["SVRGModule"]


class SVRGModule(Module):
    """A Module that trains by stochastic variance reduced gradients, SVRG.

    Every `update_freq` epochs it keeps the parameters w' of that moment and the mean of their gradients over
    all batches, G(w'). A batch then changes the parameters w by g(w) - g(w') + G(w') in place of g(w).

    Other arguments are those of Module. `fit` does all of it; a loop of one's own calls
    `update_full_grads(train_data)` before the first batch. TypeError: `update_freq` is no integer;
    ValueError: it is not positive.

    Examples
    --------
    >>> from headrace.mxnet.contrib.svrg_optimization.svrg_module import SVRGModule
    >>> net = sym.FullyConnected(sym.var("data"), num_hidden=1, name="fc")
    >>> net = sym.LinearRegressionOutput(net, sym.var("label"))
    >>> module = SVRGModule(net, label_names=["label"], update_freq=2)
    >>> data = mx.io.NDArrayIter(nd.array([[1], [2]]), nd.array([2, 4]), 1, label_name="label")
    >>> module.fit(data, num_epoch=40, eval_metric="mse", optimizer_params={"learning_rate": 0.2})
    >>> round(module.get_params()[0]["fc_weight"].asscalar())
    2
    """

    def __init__(self, symbol, data_names=("data",), label_names=("softmax_label",), logger=logging,
                 context=None, work_load_list=None, fixed_param_names=None, state_names=None, group2ctxs=None,
                 compression_params=None, update_freq=None):  # fmt: skip
        text = (
            "update_freq in SVRGModule must be a positive integer, the number of epochs between two passes "
        )
        text += f"for the gradients over all data; got {update_freq!r}"
        if not isinstance(update_freq, int):
            raise TypeError(text)
        if update_freq <= 0:
            raise ValueError(text)
        super().__init__(symbol, data_names, label_names, logger, context, work_load_list, fixed_param_names,
                         state_names, group2ctxs, compression_params)  # fmt: skip
        self.update_freq = update_freq
        self._mod_aux = Module(symbol, data_names, label_names, logger, context, work_load_list,
                               fixed_param_names, state_names, group2ctxs, compression_params)  # fmt: skip
        self._param_dict = None  # for each context: name to mean gradient over all data

    @property
    def _ctx_len(self):
        return len(self._context)

    def bind(self, data_shapes, label_shapes=None, for_training=True, inputs_need_grad=False,
             force_rebind=False, shared_module=None, grad_req="write"):  # fmt: skip
        """As Module.bind, with arrays for the parameters that are kept, too."""
        options = (for_training, inputs_need_grad, force_rebind)
        super().bind(data_shapes, label_shapes, *options, shared_module, grad_req)
        if for_training:
            shared = getattr(shared_module, "_mod_aux", None)
            self._mod_aux.bind(data_shapes, label_shapes, *options, shared, grad_req)

    def reshape(self, data_shapes, label_shapes=None):
        """As Module.reshape."""
        super().reshape(data_shapes, label_shapes)
        if self._mod_aux.binded:
            self._mod_aux.reshape(data_shapes, label_shapes)

    # --- the optimizer ---

    def init_optimizer(self, kvstore="local", optimizer="sgd", optimizer_params=(("learning_rate", 0.01),),
                       force_init=False):  # fmt: skip
        """As Module.init_optimizer; a store sums the gradients over all data, too."""
        fresh = force_init or not self.optimizer_initialized
        super().init_optimizer(kvstore, optimizer, optimizer_params, force_init)
        if not fresh:
            return
        self._param_dict = self._zeros()
        if self._kvstore is not None:
            for name in self._trained():
                sums = [held[name] for held in self._param_dict]
                self._kvstore.broadcast(name + FULL, sums[0], out=sums)

    def _make_optimizer(self, optimizer, optimizer_params, names, rescale):
        made = super()._make_optimizer(optimizer, optimizer_params, names, rescale)
        return _SVRGOptimizer(
            made,
            rescale_grad=made.rescale_grad,
            multi_precision=made.multi_precision,
            param_idx2name=made.idx2name,
        )

    def _trained(self):
        """The names of the parameters that have gradients."""
        return [name for name in self._param_names if self._requests[name] != "null"]

    def _zeros(self):
        names = self._trained()
        grads = self._exec_group.arrays_of(names, "grad_dict")
        return [
            {name: zeros_like(copies[i]) for name, copies in zip(names, grads)} for i in range(self._ctx_len)
        ]

    # --- steps ---

    def forward(self, data_batch, is_train=None):
        """As Module.forward; for training with the parameters that are kept, too. AssertionError: there are
        none yet.
        """
        super().forward(data_batch, is_train)
        if self.for_training if is_train is None else is_train:
            assert self._mod_aux.params_initialized, (
                "SVRGModule: call update_full_grads(train_data) before the first batch of training"
            )
            self._mod_aux.forward(data_batch, is_train)

    def backward(self, out_grads=None):
        """As Module.backward; with the parameters that are kept, too."""
        super().backward(out_grads)
        self._mod_aux.backward(out_grads)

    def update(self):
        """Updates the parameters by the gradients of reduced variance, which then are this module's."""
        self._check("update", optimizer=True)
        names = self._trained()
        of_batch = self._exec_group.arrays_of(names, "grad_dict")
        of_kept = self._mod_aux._exec_group.arrays_of(names, "grad_dict")
        for name, here, kept in zip(names, of_batch, of_kept):
            for i in range(self._ctx_len):
                here[i][:] = here[i] - kept[i] + self._param_dict[i][name]
        super().update()

    def update_full_grads(self, train_data):
        """Keeps the parameters of now, and the mean over the batches of a DataIter of their gradients.

        AssertionError: init_optimizer was not called before.
        """
        self._check("update_full_grads", optimizer=True)
        self._mod_aux.set_params(*self.get_params())
        names = self._trained()
        sums = self._zeros()
        count = 0
        train_data.reset()
        for batch in train_data:
            self._mod_aux.forward(batch, is_train=True)
            self._mod_aux.backward()
            for name, copies in zip(names, self._mod_aux._exec_group.arrays_of(names, "grad_dict")):
                for held, grad in zip(sums, copies):
                    held[name] += grad
            count += 1 - (batch.pad or 0) / train_data.batch_size
        for held in sums:
            for grad in held.values():
                grad /= count
        self._param_dict = sums
        if self._kvstore is not None:
            for name in names:
                self._accumulate_kvstore(name, [held[name] for held in sums])

    def _accumulate_kvstore(self, key, value):
        """Lets each context have its share of what all contexts and workers have found."""
        self._kvstore.pushpull(key + FULL, value)
        for held, total in zip(self._param_dict, value):
            held[key] = total / (self._ctx_len * self._summed_workers())

    def _fit_epoch(self, epoch, train_data, *others):
        if epoch % self.update_freq == 0 or not self._mod_aux.params_initialized:
            self.update_full_grads(train_data)
            train_data.reset()
        return super()._fit_epoch(epoch, train_data, *others)
