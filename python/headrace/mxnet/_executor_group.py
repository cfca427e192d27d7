"""module.executor_group: the executors of a Module as programs of MXNet make and ask them."""

import copy
import logging

from ..module.base_module import descriptions
from ..module.executor_group import ExecutorGroup, groups_of, requests_of

__all__ = ["DataParallelExecutorGroup"]


class DataParallelExecutorGroup(ExecutorGroup):
    """Executors of one symbol, one for each context, each of which computes its part of the batch.

    Parameters
    ----------
    symbol : Symbol
    contexts : list of Context
    workload : list of number
        How much of the batch each context gets, in proportion; None: equal parts.
    data_shapes, label_shapes : list of (name, shape) or DataDesc
    param_names : list of str
        The arguments that are trained.
    for_training, inputs_need_grad : bool
        Whether there are gradients, and of the data, too.
    shared_group : DataParallelExecutorGroup, optional
        Parameters, gradients and states of the same name are those of this group.
    logger : Logger, not used.
    fixed_param_names, state_names : list of str, optional
        Parameters without gradients; arguments that are set by `set_states`.
    grad_req : str, list or dict
        'write', 'add' or 'null'.
    group2ctxs : where groups of variables are, as for Module.

    Raises
    ------
    ValueError
        The batch is smaller than the number of contexts, or a shared array would need another shape.
    """

    def __init__(
        self,
        symbol,
        contexts,
        workload,
        data_shapes,
        label_shapes,
        param_names,
        for_training,
        inputs_need_grad,
        shared_group=None,
        logger=logging,
        fixed_param_names=None,
        grad_req="write",
        state_names=None,
        group2ctxs=None,
    ):
        self.workload = workload or [1] * len(contexts)
        self.for_training, self.inputs_need_grad = for_training, inputs_need_grad
        self.fixed_param_names = fixed_param_names or []
        self.logger, self.group2ctxs = logger, group2ctxs
        data, labels = descriptions(data_shapes), descriptions(label_shapes) or None
        trained = {name for name in param_names if name not in self.fixed_param_names}
        if inputs_need_grad:
            trained.update(one.name for one in data)
        self.grad_req = requests_of(symbol, grad_req if for_training else "null", trained)
        self.symbol, self.contexts = symbol, contexts
        self.param_names, self.state_names = param_names, state_names or []
        self._bind_all(data, labels, shared_group)

    def _bind_all(self, data, labels, shared):
        super().__init__(
            self.symbol,
            self.contexts,
            self.workload,
            data,
            labels,
            self.param_names,
            self.state_names,
            self.grad_req,
            shared,
            groups_of(self.group2ctxs, len(self.contexts)),
        )

    def reshape(self, data_shapes, label_shapes):
        """Goes on with data and labels of other shapes; parameters, gradients and states stay."""
        before = copy.copy(self)
        self._bind_all(descriptions(data_shapes), descriptions(label_shapes) or None, before)
        self.keep_monitors_of(before)

    @property
    def shared_data_arrays(self):
        """For each context the arrays of the data and labels by name."""
        names = [one.name for one in (*self.data_shapes, *(self.label_shapes or ()))]
        return [{name: one.arg_dict[name] for name in names if name in one.arg_dict} for one in self.execs]

    def forward(self, data_batch, is_train=None):
        """Runs all executors; `is_train` is `for_training` unless given."""
        super().forward(data_batch, self.for_training if is_train is None else is_train)

    def backward(self, out_grads=None):
        """Runs all executors backward. AssertionError: they are not for training."""
        assert self.for_training, "re-bind with for_training=True to run backward"
        super().backward(out_grads)

    def get_input_grads(self, merge_multi_context=True):
        """The gradients of the data. AssertionError: nobody asked for them."""
        assert self.inputs_need_grad, "bind with inputs_need_grad=True to get them"
        return super().get_input_grads(merge_multi_context)

    def update_metric(self, eval_metric, labels, pre_sliced=False):
        """Adds the outputs, with the labels of the batch, to a metric."""
        super().update_metric(eval_metric, [one.name for one in self.label_shapes or ()], labels, pre_sliced)
