"""Whether a metric has become better, and the handler that ends a training which does not make it so."""

import math
import warnings

import numpy

from ....metric import CompositeEvalMetric, EvalMetric
from .events import EpochEnd, TrainBegin, TrainEnd

__all__ = ["EarlyStoppingHandler", "check_monitor", "comparison", "value_of", "worst"]

_OPERATORS = {"min": numpy.less, "max": numpy.greater}


def check_monitor(monitor, handler):
    """ValueError unless `monitor` is one metric with one value, as `handler`, a class, needs it."""
    if not isinstance(monitor, EvalMetric):
        raise ValueError(
            f"{handler.__name__}: monitor must be a metric, one of those in estimator.train_metrics and "
            f"estimator.val_metrics; got {monitor!r}"
        )
    if isinstance(monitor, CompositeEvalMetric):
        raise ValueError(
            f"CompositeEvalMetric is not supported for {handler.__name__}: it has several values; give one "
            "of the metrics in it"
        )


def comparison(monitor, mode, handler):
    """numpy.less or numpy.greater: whether a value of `monitor` is better than another one.

    `mode` is 'min', 'max' or 'auto': greater values of accuracies and F1 are better, and smaller ones of all
    other metrics, with a warning that says so. Another mode counts as 'auto', with a warning.
    """
    if mode in _OPERATORS:
        return _OPERATORS[mode]
    if mode != "auto":
        warnings.warn(
            f"{handler.__name__} mode {mode} is unknown, fallback to auto mode; it is 'min', 'max' or 'auto'",
            RuntimeWarning,
            stacklevel=3,
        )
    name = monitor.get()[0]
    mode = "max" if any(word in name.lower() for word in ("acc", "f1")) else "min"
    operator = _OPERATORS[mode]
    warnings.warn(
        f"`{operator.__name__}` operator will be used to determine if {name} has improved. Say mode='min' or "
        "mode='max' to choose, and to be without this warning.",
        stacklevel=3,
    )
    return operator


def worst(operator):
    """What every value is better than."""
    return math.inf if operator is numpy.less else -math.inf


def value_of(monitor, what):
    """The value of a metric; None, with a RuntimeWarning that begins with `what`, when nobody updated it."""
    name, value = monitor.get()
    if not math.isnan(value):
        return value
    warnings.warn(
        f"{what}: {name} is not updated; monitor one of the metric objects in estimator.train_metrics and "
        "estimator.val_metrics",
        RuntimeWarning,
        stacklevel=3,
    )
    return None


class EarlyStoppingHandler(TrainBegin, EpochEnd, TrainEnd):
    """Ends the training when `monitor`, a metric, has not become better for `patience` epochs.

    Better by more than `min_delta`, and at first than `baseline`, if there is one. `mode`: see `comparison`.
    ValueError: `monitor` is no metric, or a composite one.

    Examples
    --------
    >>> from headrace.gluon.contrib import estimator
    >>> accuracy = metric.Accuracy()
    >>> handler = estimator.EarlyStoppingHandler(accuracy, patience=2)
    >>> handler.train_begin(None)
    >>> accuracy.update([nd.array([1])], [nd.array([[0.2, 0.8]])])
    >>> for epoch in range(4):
    ...     print(handler.epoch_end(None) or handler.stop_training)
    False
    False
    True
    True
    """

    def __init__(self, monitor, min_delta=0, patience=0, mode="auto", baseline=None):
        check_monitor(monitor, EarlyStoppingHandler)
        self.monitor = monitor
        self.baseline = baseline
        self.patience = patience
        self.monitor_op = comparison(monitor, mode, EarlyStoppingHandler)
        self.min_delta = min_delta if self.monitor_op is numpy.greater else -min_delta
        self._begin_anew()

    def _begin_anew(self):
        self.wait = 0
        self.stopped_epoch = 0
        self.current_epoch = 0
        self.stop_training = False
        self.best = worst(self.monitor_op) if self.baseline is None else self.baseline

    def train_begin(self, estimator, *args, **kwargs):
        self._begin_anew()

    def epoch_end(self, estimator, *args, **kwargs):
        value = value_of(self.monitor, "EarlyStoppingHandler cannot judge this epoch")
        if value is not None:
            self._judge(value)
        self.current_epoch += 1
        return self.stop_training

    def _judge(self, value):
        if self.monitor_op(value - self.min_delta, self.best):
            self.best = value
            self.wait = 0
            return
        self.wait += 1
        if self.wait >= self.patience:
            self.stopped_epoch = self.current_epoch
            self.stop_training = True

    def train_end(self, estimator, *args, **kwargs):
        if self.stop_training:
            # The name is spelt as in MXNet's line, which programs look for.
            estimator.logger.info(
                "[Epoch %d] EarlyStoppingHanlder: early stopping due to %s not improving",
                self.stopped_epoch,
                self.monitor.get()[0],
            )
