"""FeedForward: the oldest way to train a symbol, on top of Module."""

import logging
import warnings

import numpy

from .. import metric
from .._checkpoint import load_checkpoint, save_checkpoint
from ..base import ArrayTypeError
from ..callback import LogValidationMetricsCallback
from ..context import cpu
from ..io import DataIter, NDArrayIter
from ..symbol import Symbol
from .base_module import DEFAULT_INITIALIZER
from .module import Module

__all__ = ["FeedForward"]


class _Epochs(DataIter):
    """The epochs of an iterator that is reset as soon as a pass over it has ended, which is when MXNet's
    FeedForward resets: the order in which iterators shuffle decides which numbers they draw. An epoch is a
    pass, or `size` batches, wherever in a pass they lie. `at_start`: a new one begins with a reset too.
    `passes`: those that have ended.
    """

    def __init__(self, data_iter, size=None, at_start=False):
        super().__init__(data_iter.batch_size)
        self._data_iter, self._size, self._at_start = data_iter, size, at_start
        self.provide_data, self.provide_label = data_iter.provide_data, data_iter.provide_label
        self._batches = None  # of this pass; an iterator of the program may have no method but __iter__
        self._count = self.passes = 0

    def reset(self):
        """Starts a new epoch."""
        self._batches, self._count = None, 0
        if self._at_start:
            self._data_iter.reset()

    def next(self):
        """The next DataBatch. StopIteration: the epoch has ended."""
        for _ in range(2 if self._size else 1):  # an epoch of a given size goes on in the next pass
            if self._count == self._size:
                break
            if self._batches is None:
                self._batches = iter(self._data_iter)
            batch = next(self._batches, None)
            if batch is not None:
                self._count += 1
                return batch
            self._batches = None
            self._data_iter.reset()
            self.passes += 1
        raise StopIteration


class _Trained(Module):
    """Logs what MXNet's FeedForward does: no values of the metric, which are left to callbacks, but passes
    over the data.
    """

    def begin(self, epochs):
        """Tells where it trains on these _Epochs."""
        self._epochs = epochs
        self.logger.info("Start training with %s", self._context)

    def _log_training(self, epoch, values):
        for _ in range(self._epochs.passes):
            self.logger.info("Epoch[%d] Resetting Data Iterator", epoch)
        self._epochs.passes = 0

    def _log_validation(self, epoch, values):
        pass


def _counting_from_one(callback):
    def call(param):
        callback(param._replace(nbatch=param.nbatch + 1))

    return call


def _those_named(names, params):
    return params and {name: params[name] for name in names if name in params}


class FeedForward:
    """A symbol that is trained and used with arrays or iterators; deprecated in favour of Module.

    `epoch_size`: batches in an epoch (default: all); `numpy_batch_size`: samples in batches made of arrays;
    other keywords go to the optimizer. `arg_params`, `aux_params`: parameters to start from, and those found;
    with `allow_extra_params` those that the symbol does not have are left out.

    Examples
    --------
    >>> net = sym.FullyConnected(sym.var("data"), num_hidden=2, name="fc")
    >>> net = sym.SoftmaxOutput(net, name="softmax")
    >>> model = mx.model.FeedForward(net, num_epoch=1, numpy_batch_size=2)
    >>> model.fit(nd.ones((4, 3)), nd.zeros((4,)))
    >>> model.predict(nd.ones((4, 3))).shape
    (4, 2)
    """

    def __init__(self, symbol, ctx=None, num_epoch=None, epoch_size=None, optimizer="sgd",
                 initializer=DEFAULT_INITIALIZER, numpy_batch_size=128, arg_params=None, aux_params=None,
                 allow_extra_params=False, begin_epoch=0, **kwargs):  # fmt: skip
        warnings.warn(
            "mxnet.model.FeedForward has been deprecated. Please use mxnet.mod.Module instead.",
            DeprecationWarning,
            stacklevel=2,
        )
        if not isinstance(symbol, Symbol):
            raise ArrayTypeError(
                f"FeedForward: symbol must be a Symbol, got {type(symbol).__name__}; a function that makes "
                "one for each length of data belongs into mx.mod.BucketingModule"
            )
        self.symbol = symbol
        self.ctx = list(ctx) if isinstance(ctx, (list, tuple)) else [ctx or cpu()]
        self.num_epoch = num_epoch
        self.epoch_size = epoch_size
        self.optimizer = optimizer
        self.initializer = initializer
        self.numpy_batch_size = numpy_batch_size
        self.arg_params = arg_params
        self.aux_params = aux_params
        self.allow_extra_params = allow_extra_params
        if allow_extra_params:
            self.arg_params = _those_named(symbol.list_arguments(), arg_params)
            self.aux_params = _those_named(symbol.list_auxiliary_states(), aux_params)
        self.begin_epoch = begin_epoch
        self.kwargs = kwargs

    # --- files ---

    @staticmethod
    def load(prefix, epoch, ctx=None, **kwargs):
        """A FeedForward of a checkpoint."""
        symbol, arg_params, aux_params = load_checkpoint(prefix, epoch)
        return FeedForward(symbol, ctx, arg_params=arg_params, aux_params=aux_params, begin_epoch=epoch,
                           **kwargs)  # fmt: skip

    def save(self, prefix, epoch=None, remove_amp_cast=True):
        """Writes a checkpoint, by default of the last epoch. AssertionError: no epoch is known."""
        epoch = self.num_epoch if epoch is None else epoch
        assert epoch is not None, "give the epoch"
        save_checkpoint(prefix, epoch, self.symbol, self.arg_params, self.aux_params, remove_amp_cast)

    # --- use ---

    def _batches(self, data, label, is_train):
        """An iterator over arrays. ValueError: labels are missing, or are not one number for each sample."""
        if isinstance(data, DataIter):
            return data
        count = data.shape[0]
        if label is None:
            if is_train:
                raise ValueError("y must be specified when X is numpy.ndarray")
            label = numpy.zeros(count)
        label = numpy.asarray(label.asnumpy() if hasattr(label, "asnumpy") else label)
        if label.ndim == 2 and label.shape[1] == 1:
            label = label.ravel()
        if label.ndim != 1 or len(label) != count:
            raise ValueError(f"y must be a number for each of {count} samples, got the shape {label.shape}")
        if is_train:
            size = min(count, self.numpy_batch_size)
            return NDArrayIter(data, label, size, shuffle=True, last_batch_handle="roll_over")
        return NDArrayIter(data, label, min(count, self.numpy_batch_size))

    def _module(self, batches, logger=None):
        known = set(self.symbol.list_arguments())
        labels = [one[0] for one in batches.provide_label or () if one[0] in known]
        return _Trained(
            self.symbol, [one[0] for one in batches.provide_data], labels, logger or logging, self.ctx
        )

    def _predictor(self, batches):
        """A module for the batches of an iterator, without labels if the symbol takes none. Arguments that
        are not among the parameters, labels of any name, are zeros.
        """
        module = self._module(batches)
        known = set(module.label_names)
        labels = [one for one in batches.provide_label or () if one[0] in known]
        module.bind(batches.provide_data, labels, for_training=False)
        module.set_params(self.arg_params, self.aux_params or {}, allow_missing=True)
        return module

    def fit(self, X, y=None, eval_data=None, eval_metric="acc", epoch_end_callback=None,  # noqa: N803
            batch_end_callback=None, kvstore="local", logger=None, work_load_list=None, monitor=None,
            eval_end_callback=LogValidationMetricsCallback(), eval_batch_end_callback=None):  # noqa: B008 # fmt: skip
        """Trains on an iterator, or on arrays X and y; `eval_data`: an iterator or a pair of arrays.

        Batches count from 1 in `batch_end_callback`, one function or several. `eval_end_callback` logs what
        the evaluation found; None: nothing does.
        """
        batches = self._batches(X, y, True)
        if isinstance(eval_data, (tuple, list)):
            eval_data = self._batches(*eval_data, True)
        if eval_data is not None:
            eval_data = _Epochs(eval_data, at_start=True)
        batches.reset()
        batches = _Epochs(batches, self.epoch_size)
        if batch_end_callback is not None:
            several = isinstance(batch_end_callback, list)
            batch_end_callback = [
                _counting_from_one(one) for one in (batch_end_callback if several else [batch_end_callback])
            ]
        module = self._module(batches, logger)
        module.begin(batches)
        module.fit(
            batches, eval_data, eval_metric, epoch_end_callback, batch_end_callback, kvstore, self.optimizer,
            self.kwargs, eval_end_callback, eval_batch_end_callback, self.initializer, self.arg_params,
            self.aux_params, allow_missing=True, begin_epoch=self.begin_epoch, num_epoch=self.num_epoch,
            monitor=monitor,
        )  # fmt: skip
        self.arg_params, self.aux_params = module.get_params()

    def predict(self, X, num_batch=None, return_data=False, reset=True):  # noqa: N803
        """The outputs as NumPy arrays; with `return_data` (outputs, data, labels)."""
        batches = self._batches(X, None, False)
        module = self._predictor(batches)
        outputs, data, labels = [], [], []
        for found, _, batch in module.iter_predict(batches, num_batch, reset):
            outputs.append([array.asnumpy() for array in found])
            for kept, arrays in ((data, batch.data), (labels, batch.label)):
                kept.append([array.asnumpy()[: len(outputs[-1][0])] for array in arrays or ()])
        joined = [[numpy.concatenate(parts) for parts in zip(*kept)] for kept in (outputs, data, labels)]
        joined = [kept[0] if len(kept) == 1 else kept for kept in joined]
        return tuple(joined) if return_data else joined[0]

    def score(self, X, eval_metric="acc", num_batch=None, batch_end_callback=None, reset=True):  # noqa: N803
        """The value of a metric over an iterator."""
        eval_metric = metric.create(eval_metric)
        self._predictor(X).score(X, eval_metric, num_batch, batch_end_callback, reset=reset)
        return eval_metric.get()[1]

    @staticmethod
    def create(symbol, X, y=None, ctx=None, num_epoch=None, epoch_size=None, optimizer="sgd",  # noqa: N803
               initializer=DEFAULT_INITIALIZER, eval_data=None, eval_metric="acc", epoch_end_callback=None,
               batch_end_callback=None, kvstore="local", logger=None, work_load_list=None,
               eval_end_callback=LogValidationMetricsCallback(),  # noqa: B008
               eval_batch_end_callback=None, **kwargs):  # fmt: skip
        """A FeedForward that has been trained."""
        made = FeedForward(symbol, ctx, num_epoch, epoch_size, optimizer, initializer, **kwargs)
        made.fit(X, y, eval_data, eval_metric, epoch_end_callback, batch_end_callback, kvstore, logger,
                 work_load_list, None, eval_end_callback, eval_batch_end_callback)  # fmt: skip
        return made
