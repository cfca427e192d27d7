"""BaseModule: training, evaluation and prediction written with the steps that every module defines."""

import logging
import time
import warnings

from .. import metric
from .._checkpoint import load_param_file, save_param_file
from .._lists import as_list
from ..base import ArrayTypeError, ArrayValueError
from ..callback import BatchEndParam
from ..initializer import Uniform
from ..io import DataDesc, DataIter, NDArrayIter
from ..ndarray import NDArray
from .executor_group import join

__all__ = ["BaseModule"]

DEFAULT_INITIALIZER = Uniform(0.01)


def call_all(callbacks, *arguments):
    """Calls one callback, or a list of them, or none."""
    for callback in () if callbacks is None else as_list(callbacks):
        callback(*arguments)


def descriptions(shapes):
    """A list of DataDesc from such or tuples (name, shape, ...); None stays. TypeError: a shape is none."""
    made = shapes and [one if isinstance(one, DataDesc) else DataDesc(*one) for one in shapes]
    for one in made or ():
        if not isinstance(one.shape, (tuple, list)):
            raise ArrayTypeError(
                f"the shape of '{one.name}' must be a tuple of integers, got {type(one.shape).__name__}"
            )
    return made


def check_descriptions(data_names, label_names, data_shapes, label_shapes):
    """Lists of DataDesc for data and labels (None when there are none).

    ValueError: the names of the data are not `data_names`. A UserWarning: those of the labels are others.
    """
    data, label = descriptions(data_shapes), descriptions(label_shapes) or []
    text = "Data provided by {0}_shapes don't match names specified by {0}_names ({1} vs. {2})"
    if sorted(one.name for one in data) != sorted(data_names):
        raise ValueError(text.format("data", data, data_names))
    if sorted(one.name for one in label) != sorted(label_names):
        warnings.warn(text.format("label", label, label_names), stacklevel=4)
    return data, label or None


def labels_of(batch):
    """The labels of a batch, or of a list of batches, one for each context; whether it is a list."""
    if isinstance(batch, list):
        return [one.label for one in batch], True
    return batch.label, False


class BaseModule:
    """Base of modules.

    A module goes through `bind` (arrays are made), `init_params` and `init_optimizer`; then `forward`,
    `backward` and `update` are one step. `fit` does all of it. A subclass defines these, `get_outputs`,
    `update_metric` and the properties below. Methods called too early raise an AssertionError.

    Examples
    --------
    >>> issubclass(mx.mod.Module, mx.mod.BaseModule)
    True
    """

    def __init__(self, logger=logging):
        self.logger = logger
        self.binded = False
        self.for_training = False
        self.inputs_need_grad = False
        self.params_initialized = False
        self.optimizer_initialized = False
        self._symbol = None

    def _check(self, what, optimizer=False):
        assert self.binded, f"call bind before {what}"
        assert self.params_initialized, f"call init_params before {what}"
        assert self.optimizer_initialized or not optimizer, f"call init_optimizer before {what}"

    @property
    def symbol(self):
        """The symbol of the module, if it has one."""
        return self._symbol

    # --- whole passes ---

    def forward_backward(self, data_batch):
        """forward(is_train=True) and backward."""
        self.forward(data_batch, is_train=True)
        self.backward()

    def _batches(self, eval_data, num_batch, reset, sparse_row_id_fn=None):
        """(number, batch) of the first `num_batch` batches (None: all), after forward."""
        if reset:
            eval_data.reset()
        for number, batch in enumerate(eval_data):
            if number == num_batch:
                return
            self.prepare(batch, sparse_row_id_fn=sparse_row_id_fn)
            self.forward(batch, is_train=False)
            yield number, batch

    def score(self, eval_data, eval_metric, num_batch=None, batch_end_callback=None, score_end_callback=None,
              reset=True, epoch=0, sparse_row_id_fn=None):  # fmt: skip
        """[(name, value)] of a metric over the batches of `eval_data`."""
        self._check("score")
        eval_metric = metric.create(eval_metric)
        eval_metric.reset()
        actual_num_batch = 0  # callbacks see the variables, by the names that they have in MXNet
        for nbatch, eval_batch in self._batches(eval_data, num_batch, reset, sparse_row_id_fn):
            self.update_metric(eval_metric, *labels_of(eval_batch))
            call_all(batch_end_callback, BatchEndParam(epoch, nbatch, eval_metric, locals()))
            actual_num_batch += 1
        call_all(score_end_callback, BatchEndParam(epoch, actual_num_batch, eval_metric, locals()))
        return eval_metric.get_name_value()

    def iter_predict(self, eval_data, num_batch=None, reset=True, sparse_row_id_fn=None):
        """Yields (outputs without padding, number, batch)."""
        self._check("iter_predict")
        for number, batch in self._batches(eval_data, num_batch, reset, sparse_row_id_fn):
            pad = getattr(batch, "pad", None) or 0
            yield [output[: output.shape[0] - pad] for output in self.get_outputs()], number, batch

    def predict(self, eval_data, num_batch=None, merge_batches=True, reset=True, always_output_list=False,
                sparse_row_id_fn=None):  # fmt: skip
        """The outputs for all batches of a DataIter, or for an array, joined along the first axis.

        One output comes alone unless `always_output_list`; without `merge_batches`, a list with the outputs
        of each batch. ValueError: `eval_data` is neither. AssertionError: the batches have different numbers
        of outputs.
        """
        self._check("predict")
        if isinstance(eval_data, NDArray) or hasattr(eval_data, "__array__"):
            eval_data = NDArrayIter(eval_data, batch_size=eval_data.shape[0])
        elif not isinstance(eval_data, DataIter):
            raise ValueError("eval_data must be of type NDArray or DataIter")
        found = [
            [output.copy() for output in outputs]
            for outputs, _, _ in self.iter_predict(eval_data, num_batch, reset, sparse_row_id_fn)
        ]
        if not merge_batches or not found:
            return found
        assert len({len(outputs) for outputs in found}) == 1, (
            "Cannot merge batches, as num of outputs is not the same in mini-batches. Maybe bucketing is "
            "used?"
        )
        joined = [join(parts, 0) for parts in zip(*found)]
        return joined if always_output_list or len(joined) > 1 else joined[0]

    def fit(self, train_data, eval_data=None, eval_metric="acc", epoch_end_callback=None,
            batch_end_callback=None, kvstore="local", optimizer="sgd",
            optimizer_params=(("learning_rate", 0.01),), eval_end_callback=None,
            eval_batch_end_callback=None, initializer=DEFAULT_INITIALIZER, arg_params=None, aux_params=None,
            allow_missing=False, force_rebind=False, force_init=False, begin_epoch=0, num_epoch=None,
            validation_metric=None, monitor=None, sparse_row_id_fn=None):  # fmt: skip
        """Trains from epoch `begin_epoch` up to `num_epoch`, with an evaluation after each if `eval_data` is
        given.

        Logs metrics and times. Callbacks: see the module `callback`. AssertionError: `num_epoch` is missing.
        ValueError: there is no batch in an epoch.
        """
        assert num_epoch is not None, "please specify number of epochs"
        self.bind(data_shapes=train_data.provide_data, label_shapes=train_data.provide_label,
                  for_training=True, force_rebind=force_rebind)  # fmt: skip
        if monitor is not None:
            self.install_monitor(monitor)
        self.init_params(initializer=initializer, arg_params=arg_params, aux_params=aux_params,
                         allow_missing=allow_missing, force_init=force_init)  # fmt: skip
        self.init_optimizer(kvstore=kvstore, optimizer=optimizer, optimizer_params=optimizer_params)
        eval_metric = metric.create(eval_metric)
        for epoch in range(begin_epoch, num_epoch):
            start = time.time()
            values = self._fit_epoch(
                epoch, train_data, eval_metric, monitor, batch_end_callback, sparse_row_id_fn, locals()
            )
            self._log_training(epoch, values)
            self.logger.info("Epoch[%d] Time cost=%.3f", epoch, time.time() - start)
            # Contexts have auxiliary states of their own: from here on all have the mean.
            arg_params, aux_params = self.get_params()
            self.set_params(arg_params, aux_params)
            call_all(epoch_end_callback, epoch, self.symbol, arg_params, aux_params)
            if eval_data is not None:
                values = self.score(
                    eval_data, validation_metric or eval_metric, epoch=epoch,
                    score_end_callback=eval_end_callback, batch_end_callback=eval_batch_end_callback,
                    sparse_row_id_fn=sparse_row_id_fn,
                )  # fmt: skip
                self._log_validation(epoch, values)
            train_data.reset()

    def _log_training(self, epoch, values):
        for name, value in values:
            self.logger.info("Epoch[%d] Train-%s=%f", epoch, name, value)

    def _log_validation(self, epoch, values):
        for name, value in values:
            self.logger.info("Epoch[%d] Validation-%s=%f", epoch, name, value)

    def _fit_epoch(
        self, epoch, train_data, eval_metric, monitor, batch_end_callback, sparse_row_id_fn, variables
    ):
        """One pass over the training data; the metric's values, taken before the last callback may reset
        them. Callbacks see the `variables` of fit and those here, by the names that they have in MXNet.
        """
        eval_metric.reset()
        values = []
        batches = iter(train_data)
        data_batch, nbatch = next(batches, None), 0
        if data_batch is None:
            raise ArrayValueError(
                f"fit: the training data gave no batch in epoch {epoch}; check that there is some, and that "
                "reset() begins anew"
            )
        while data_batch is not None:
            if monitor is not None:
                monitor.tic()
            self.forward_backward(data_batch)
            self.update()
            self.update_metric(eval_metric, *labels_of(data_batch))
            next_data_batch = next(batches, None)
            if next_data_batch is not None:
                self.prepare(next_data_batch, sparse_row_id_fn=sparse_row_id_fn)
            else:
                values = eval_metric.get_global_name_value()
            if monitor is not None:
                monitor.toc_print()
            call_all(batch_end_callback, BatchEndParam(epoch, nbatch, eval_metric, {**variables, **locals()}))
            data_batch, nbatch = next_data_batch, nbatch + 1
        return values

    # --- parameters ---

    def get_params(self):
        """(arg_params, aux_params): copies of the parameters, name to array on the CPU."""
        raise NotImplementedError

    def init_params(self, initializer=DEFAULT_INITIALIZER, arg_params=None, aux_params=None,
                    allow_missing=False, force_init=False, allow_extra=False):  # fmt: skip
        """Fills the parameters: from the given ones, else by `initializer`; once, unless `force_init`."""
        raise NotImplementedError

    def set_params(self, arg_params, aux_params, allow_missing=False, force_init=True, allow_extra=False):
        """Writes parameters. RuntimeError: one is missing and not allowed to. ValueError: one is unknown."""
        self.init_params(initializer=None, arg_params=arg_params, aux_params=aux_params,
                         allow_missing=allow_missing, force_init=force_init,
                         allow_extra=allow_extra)  # fmt: skip

    def save_params(self, fname):
        """Writes the parameters to a file, with keys 'arg:<name>' and 'aux:<name>'."""
        save_param_file(fname, *self.get_params())

    def load_params(self, fname):
        """Reads what save_params wrote. ValueError: it is no such file."""
        self.set_params(*load_param_file(fname))

    def get_states(self, merge_multi_context=True):
        """The values of the states; a module without states has none."""
        self._check("get_states")
        return []

    def set_states(self, states=None, value=None):
        """Sets the states; a module without states accepts none."""
        self._check("set_states")
        assert not states and not value, "this module has no states"

    def install_monitor(self, mon):
        """Lets a Monitor watch the executors."""
        raise NotImplementedError

    # --- steps ---

    def prepare(self, data_batch, sparse_row_id_fn=None):
        """Called with each batch before its forward.

        `sparse_row_id_fn`, which `fit`, `score` and `predict` pass on, gives the rows of row_sparse
        parameters that a batch needs, by name.
        """

    def forward(self, data_batch, is_train=None):
        """Computes the outputs of a batch; `is_train` None: as bound."""
        raise NotImplementedError

    def backward(self, out_grads=None):
        """Computes the gradients; `out_grads`: those of the outputs, for modules that end in no loss."""
        raise NotImplementedError

    def get_outputs(self, merge_multi_context=True):
        """The outputs of the last forward; without merging, a list over the contexts for each."""
        raise NotImplementedError

    def get_input_grads(self, merge_multi_context=True):
        """The gradients of the data, as get_outputs; the module must be bound with inputs_need_grad."""
        raise NotImplementedError

    def update(self):
        """Updates the parameters by their gradients."""
        raise NotImplementedError

    def update_metric(self, eval_metric, labels, pre_sliced=False):
        """Adds the last outputs to a metric."""
        raise NotImplementedError

    def bind(self, data_shapes, label_shapes=None, for_training=True, inputs_need_grad=False,
             force_rebind=False, shared_module=None, grad_req="write"):  # fmt: skip
        """Makes the arrays for data and labels of these shapes: lists of DataDesc or of (name, shape)."""
        raise NotImplementedError

    def init_optimizer(self, kvstore="local", optimizer="sgd", optimizer_params=(("learning_rate", 0.01),),
                       force_init=False):  # fmt: skip
        """Makes the optimizer."""
        raise NotImplementedError

    # --- descriptions ---

    @property
    def data_names(self):
        """Names of the data."""
        raise NotImplementedError

    @property
    def output_names(self):
        """Names of the outputs."""
        raise NotImplementedError

    @property
    def data_shapes(self):
        """Descriptions of the data; the module must be bound."""
        raise NotImplementedError

    @property
    def label_shapes(self):
        """Descriptions of the labels, or None; the module must be bound."""
        raise NotImplementedError

    @property
    def output_shapes(self):
        """[(name, shape)] of the outputs; the module must be bound."""
        raise NotImplementedError
