"""Metrics for TensorBoard."""

import logging

__all__ = ["LogMetricsCallback"]


class LogMetricsCallback:
    """A callback of Module that writes metrics as scalars named `prefix-metric` to files for TensorBoard.

    Needs the package mxboard; without it an error is logged, and calls are a RuntimeError.

    Examples
    --------
    >>> import sys
    >>> from unittest import mock
    >>> from headrace.mxnet.contrib.tensorboard import LogMetricsCallback
    >>> accuracy = metric.Accuracy()
    >>> accuracy.update([nd.array([1])], [nd.array([[0.2, 0.8]])])
    >>> with mock.patch.dict(sys.modules, mxboard=mock.Mock()):  # in the place of the package
    ...     log = LogMetricsCallback("logs", prefix="train")
    >>> log(mx.model.BatchEndParam(epoch=3, nbatch=1, eval_metric=accuracy, locals=None))
    >>> log.summary_writer.add_scalar.call_args
    call('train-accuracy', 1.0, global_step=3)
    """

    def __init__(self, logging_dir, prefix=None):
        self.prefix = prefix
        self.summary_writer = None
        try:
            from mxboard import SummaryWriter
        except ImportError:
            logging.error("You can install mxboard via `pip install mxboard`.")
        else:
            self.summary_writer = SummaryWriter(logging_dir)

    def __call__(self, param):
        if param.eval_metric is None:
            return
        if self.summary_writer is None:
            raise RuntimeError("LogMetricsCallback: there is no mxboard to write with; install it")
        for name, value in param.eval_metric.get_name_value():
            tag = name if self.prefix is None else f"{self.prefix}-{name}"
            self.summary_writer.add_scalar(tag, value, global_step=param.epoch)
