"""Modules written in Python: no parameters, outputs computed by a subclass."""

import logging

from .. import _arrays as arrays
from ..ndarray import NDArray
from .base_module import DEFAULT_INITIALIZER, BaseModule, check_descriptions, descriptions

__all__ = ["PythonLossModule", "PythonModule"]


class PythonModule(BaseModule):
    """Base of modules without parameters. A subclass defines `forward`, `backward`, `get_outputs`,
    `get_input_grads` and `_compute_output_shapes`, which gives [(name, shape)].

    Examples
    --------
    >>> class Doubled(mx.mod.PythonModule):
    ...     def _compute_output_shapes(self):
    ...         return [("doubled_output", self.data_shapes[0].shape)]
    ...     def forward(self, data_batch, is_train=None):
    ...         self.outputs = [data_batch.data[0] * 2]
    ...     def get_outputs(self, merge_multi_context=True):
    ...         return self.outputs
    >>> module = Doubled(["data"], None, ["doubled_output"])
    >>> module.forward(mx.io.DataBatch([nd.array([1, 2])]))
    >>> module.get_outputs()[0]
    [2. 4.]
    <NDArray 2 @cpu(0)>
    """

    def __init__(self, data_names, label_names, output_names, logger=logging):
        super().__init__(logger)
        self._data_names = list(data_names)
        self._label_names = None if label_names is None else list(label_names)
        self._output_names = output_names
        self._data_shapes = self._label_shapes = self._output_shapes = None

    @property
    def data_names(self):
        """Names of the data."""
        return self._data_names

    @property
    def output_names(self):
        """Names of the outputs."""
        return self._output_names

    @property
    def data_shapes(self):
        """Descriptions of the data."""
        return self._data_shapes

    @property
    def label_shapes(self):
        """Descriptions of the labels, or None."""
        return self._label_shapes

    @property
    def output_shapes(self):
        """[(name, shape)] of the outputs."""
        return self._output_shapes

    def get_params(self):
        """Two empty dictionaries."""
        return {}, {}

    def init_params(self, initializer=DEFAULT_INITIALIZER, arg_params=None, aux_params=None,
                    allow_missing=False, force_init=False, allow_extra=False):  # fmt: skip
        """Nothing to fill."""
        self.params_initialized = True

    def update(self):
        """Nothing to update."""

    def update_metric(self, eval_metric, labels, pre_sliced=False):
        """Adds the outputs to a metric, if the module takes labels. RuntimeError: the labels are sliced."""
        if self._label_shapes is None:
            return
        if pre_sliced:
            raise RuntimeError("PythonModule: a batch is not sliced here")
        eval_metric.update_dict(
            dict(zip(self._label_names, labels)), dict(zip(self.output_names, self.get_outputs()))
        )

    def bind(self, data_shapes, label_shapes=None, for_training=True, inputs_need_grad=False,
             force_rebind=False, shared_module=None, grad_req="write"):  # fmt: skip
        """Notes the shapes. AssertionError: wrong names, or `grad_req` is not 'write'."""
        if self.binded and not force_rebind:
            self.logger.warning("Already bound, ignoring bind()")
            return
        assert grad_req == "write", "Python module only support write gradient"
        self.for_training = for_training
        self.inputs_need_grad = inputs_need_grad
        if self._label_names is None:
            self._data_shapes, self._label_shapes = descriptions(data_shapes), None
        else:
            self._data_shapes, self._label_shapes = check_descriptions(
                self._data_names, self._label_names if label_shapes else (), data_shapes, label_shapes
            )
        self._output_shapes = self._compute_output_shapes()
        self.binded = True

    def _compute_output_shapes(self):
        raise NotImplementedError

    def init_optimizer(self, kvstore="local", optimizer="sgd", optimizer_params=(("learning_rate", 0.01),),
                       force_init=False):  # fmt: skip
        """Nothing to make."""
        self.optimizer_initialized = True


class PythonLossModule(PythonModule):
    """A loss at the end: its output is its input, `grad_func(scores, labels)` gives the gradient of the
    scores.

    Examples
    --------
    >>> loss = mx.mod.PythonLossModule(grad_func=lambda scores, labels: scores - labels)
    >>> loss.bind([("data", (2,))], [("softmax_label", (2,))])
    >>> loss.forward(mx.io.DataBatch([nd.array([1, 2])], [nd.array([1, 1])]), is_train=True)
    >>> loss.backward()
    >>> loss.get_input_grads()[0]
    [0. 1.]
    <NDArray 2 @cpu(0)>
    """

    def __init__(self, name="pyloss", data_names=("data",), label_names=("softmax_label",), logger=logging,
                 grad_func=None):  # fmt: skip
        assert len(data_names) == 1 and len(label_names) == 1, "one input and one label"
        assert grad_func is None or callable(grad_func), "grad_func must be a function"
        super().__init__(data_names, label_names, [name + "_output"], logger)
        self._name = name
        self._grad_func = grad_func
        self._scores = self._labels = self._scores_grad = None

    def _compute_output_shapes(self):
        return [(self._name + "_output", self._data_shapes[0].shape)]

    def forward(self, data_batch, is_train=None):
        """Takes the scores, and the labels when training."""
        self._scores = data_batch.data[0]
        if self.for_training if is_train is None else is_train:
            self._labels = data_batch.label[0]

    def get_outputs(self, merge_multi_context=True):
        """The scores."""
        assert merge_multi_context, "PythonLossModule: there is one context"
        return [self._scores]

    def backward(self, out_grads=None):
        """Computes the gradient of the scores. AssertionError: `out_grads` is given."""
        assert out_grads is None, "For a loss module, out_grads should be None"
        assert self.for_training, "bind with for_training=True"
        self._backward_impl()

    def _backward_impl(self):
        if self._grad_func is None:
            raise NotImplementedError("give grad_func, or define _backward_impl")
        grad = self._grad_func(self._scores, self._labels)
        self._scores_grad = grad if isinstance(grad, NDArray) else arrays.array(grad, dtype="float32")

    def get_input_grads(self, merge_multi_context=True):
        """The gradient of the scores."""
        assert merge_multi_context, "PythonLossModule: there is one context"
        return [self._scores_grad]

    def install_monitor(self, mon):
        """NotImplementedError: there is no executor to watch."""
        raise NotImplementedError("PythonLossModule has no executor to watch")
