"""Executors of one symbol on several devices, for training loops older than Module."""

import logging

from .. import _arrays as arrays
from ..base import ArrayValueError
from ..context import cpu
from ..executor import simple_bind
from ..io import DataDesc
from ..module.executor_group import split

__all__ = ["DataParallelExecutorGroup", "DataParallelExecutorManager"]


def _split_input_slice(batch_size, work_load_list):
    """Slices of a batch in proportion to `work_load_list`. ValueError: one would be empty."""
    return split(batch_size, work_load_list)


def _check_arguments(symbol):
    """ValueError: two inputs of the symbol have one name."""
    for what, names in (
        ("argument name", symbol.list_arguments()),
        ("auxiliary param name", symbol.list_auxiliary_states()),
    ):
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ArrayValueError(
                f'Find duplicated {what} "{twice[0]}", please make the weight name non-duplicated (using '
                f"name arguments), arguments are {names}"
            )


def _described(data):
    """(name, shape, dtype) of what a DataIter or DataBatch provides."""
    return [
        (one[0], tuple(one[1]), arrays.dtype_name(one.dtype) if isinstance(one, DataDesc) else "float32")
        for one in data
    ]


def _load(given, targets):
    """Writes rows of arrays into the arrays of the executors. AssertionError: another number of rows."""
    for source, parts in zip(given, targets):
        rows = parts[-1][0].stop
        assert rows == source.shape[0], f"Batch size mismatch. Expected {rows}, got {source.shape[0]}"
        for part, target in parts:
            target[:] = arrays.like(source[part], target)


class DataParallelExecutorGroup:
    """An executor of `sym` for each context of `ctx`, with the rows in `slices` of each batch.

    `train_data` provides the descriptions of data and labels, with the batch along the first axis. Arguments
    in `param_names` are parameters; those of `shared_group`, another group, are used where there is one.
    ValueError: two inputs have one name. RuntimeError: a shape stays unknown.

    Examples
    --------
    >>> from headrace.mxnet.executor_manager import DataParallelExecutorGroup
    >>> net = sym.SoftmaxOutput(sym.FullyConnected(sym.var("data"), num_hidden=2, name="fc"), name="softmax")
    >>> data = mx.io.NDArrayIter(nd.ones((4, 3)), nd.zeros((4,)), batch_size=4)
    >>> names, devices = net.list_arguments(), [mx.cpu(0), mx.cpu(1)]
    >>> rows = [slice(0, 2), slice(2, 4)]
    >>> group = DataParallelExecutorGroup(net, names, ["fc_weight", "fc_bias"], devices, rows, data)
    >>> group.load_data_batch(next(data))
    >>> group.forward(is_train=False)
    >>> [one.outputs[0].shape for one in group.train_execs]
    [(2, 2), (2, 2)]
    """

    def __init__(self, sym, arg_names, param_names, ctx, slices, train_data, shared_group=None):
        _check_arguments(sym)
        data, label = _described(train_data.provide_data), _described(train_data.provide_label)
        self.slices = slices
        self.data_names, self.label_names = ([name for name, _, _ in part] for part in (data, label))
        self.aux_names = sym.list_auxiliary_states()
        self.param_idx = [i for i, name in enumerate(arg_names) if name in param_names]
        self.param_names = [arg_names[i] for i in self.param_idx]
        inputs = {name for name, _, _ in (*data, *label)}
        requests = {name: "null" if name in inputs else "write" for name in sym.list_arguments()}
        dtypes = {name: dtype for name, _, dtype in (*data, *label)}
        self.train_execs = []
        for i, (context, rows) in enumerate(zip(ctx, slices)):
            shapes = {name: (rows.stop - rows.start, *shape[1:]) for name, shape, _ in (*data, *label)}
            shared = shared_group and shared_group.train_execs[i]
            self.train_execs.append(simple_bind(sym, context, requests, dtypes, shapes, shared))
        self.data_arrays, self.label_arrays = (
            [list(zip(slices, copies)) for copies in self._arrays(names, "arg_dict")]
            for names in (self.data_names, self.label_names)
        )
        self.param_arrays = self._arrays(self.param_names, "arg_dict")
        self.grad_arrays = self._arrays(self.param_names, "grad_dict")
        self.aux_arrays = self._arrays(self.aux_names, "aux_dict")

    def _arrays(self, names, kind):
        return [[getattr(one, kind)[name] for one in self.train_execs] for name in names]

    def load_data_batch(self, data_batch):
        """Writes the data and labels of a batch into the executors."""
        _load(data_batch.data, self.data_arrays)
        _load(data_batch.label or (), self.label_arrays)

    def forward(self, is_train=False):
        """Runs all executors."""
        for one in self.train_execs:
            one.forward(is_train=is_train)

    def backward(self):
        """Runs all executors backward."""
        for one in self.train_execs:
            one.backward()

    def update_metric(self, metric, labels, pre_sliced=False):
        """Adds the outputs to a metric; `pre_sliced`: the labels are lists for each context."""
        for i, (one, rows) in enumerate(zip(self.train_execs, self.slices)):
            metric.update(labels[i] if pre_sliced else [label[rows] for label in labels], one.outputs)


class DataParallelExecutorManager:
    """Executors for training on the contexts `ctx`; with `sym_gen`, a function of a batch's `bucket_key`, one
    group for each kind of batch.

    `train_data` has the batch size and describes batches; `work_load_list` says how they are shared out.
    AssertionError: it does not have a number for each context.

    Examples
    --------
    >>> from headrace.mxnet.executor_manager import DataParallelExecutorManager
    >>> net = sym.SoftmaxOutput(sym.FullyConnected(sym.var("data"), num_hidden=2, name="fc"), name="softmax")
    >>> data = mx.io.NDArrayIter(nd.ones((4, 3)), nd.zeros((4,)), batch_size=4)
    >>> devices, parameters = [mx.cpu(0), mx.cpu(1)], ["fc_weight", "fc_bias"]
    >>> manager = DataParallelExecutorManager(net, devices, data, net.list_arguments(), parameters, [])
    >>> manager.load_data_batch(next(data))
    >>> manager.forward(is_train=True)
    >>> manager.backward()
    >>> [[gradient.shape for gradient in copies] for copies in manager.grad_arrays]
    [[(2, 3), (2, 3)], [(2,), (2,)]]
    """

    def __init__(self, symbol, ctx, train_data, arg_names, param_names, aux_names, work_load_list=None,
                 logger=None, sym_gen=None):  # fmt: skip
        (logger or logging).info("Start training with %s", ctx)
        loads = [1] * len(ctx) if work_load_list is None else work_load_list
        assert isinstance(loads, list) and len(loads) == len(ctx), (
            f"Invalid settings for work load: expected a list of {len(ctx)} numbers, got {loads!r}"
        )
        self.slices = _split_input_slice(train_data.batch_size, loads)
        self.symbol, self.ctx, self.sym_gen = symbol, ctx, sym_gen
        self.arg_names, self.param_names, self.aux_names = arg_names, param_names, aux_names
        self.execgrp = self._group(symbol, train_data, None)
        self.curr_execgrp = None  # until data is loaded
        if sym_gen is not None:
            self.execgrp_bucket = {train_data.default_bucket_key: self.execgrp}

    def _group(self, symbol, data, shared):
        return DataParallelExecutorGroup(
            symbol, self.arg_names, self.param_names, self.ctx, self.slices, data, shared
        )

    def install_monitor(self, monitor):
        """Lets a Monitor watch all executors. NotImplementedError: there are several kinds of batches."""
        if self.sym_gen is not None:
            raise NotImplementedError("Monitoring is not implemented for bucketing")
        for one in self.execgrp.train_execs:
            monitor.install(one)

    def set_params(self, arg_params, aux_params):
        """Writes dictionaries of parameters into all executors."""
        for one in self.execgrp.train_execs:
            one.copy_params_from(arg_params, aux_params)

    def copy_to(self, arg_params, aux_params):
        """Writes the means over the contexts into the arrays of dictionaries."""
        for held, names, found in (
            (arg_params, self.param_names, self.param_arrays),
            (aux_params, self.aux_names, self.aux_arrays),
        ):
            for name, copies in zip(names, found):
                mean = sum(one.copyto(cpu()) for one in copies) / len(copies)
                mean.astype(held[name]._dtype_name).copyto(held[name])

    @property
    def param_arrays(self):
        """For each parameter its arrays on all contexts."""
        return self.execgrp.param_arrays

    @property
    def grad_arrays(self):
        """For each parameter its gradients on all contexts."""
        return self.execgrp.grad_arrays

    @property
    def aux_arrays(self):
        """For each auxiliary state its arrays on all contexts."""
        return self.execgrp.aux_arrays

    def load_data_batch(self, data_batch):
        """Chooses the executors for a batch, and writes its data and labels into them."""
        self.curr_execgrp = self.execgrp
        if self.sym_gen is not None:
            key = data_batch.bucket_key
            if key not in self.execgrp_bucket:
                self.execgrp_bucket[key] = self._group(self.sym_gen(key), data_batch, self.execgrp)
            self.curr_execgrp = self.execgrp_bucket[key]
        self.curr_execgrp.load_data_batch(data_batch)

    def forward(self, is_train=False):
        """Runs the executors of the last batch."""
        self.curr_execgrp.forward(is_train)

    def backward(self):
        """Runs the executors of the last batch backward."""
        self.curr_execgrp.backward()

    def update_metric(self, metric, labels, pre_sliced=False):
        """Adds the outputs for the last batch to a metric."""
        self.curr_execgrp.update_metric(metric, labels, pre_sliced)
