"""Callbacks for training loops: reports and checkpoints.

Those called after a batch take one parameter, a BatchEndParam; those called after an epoch take (epoch,
symbol, arg_params, aux_params).
"""

import collections
import logging
import math
import time

from ._checkpoint import save_checkpoint

__all__ = [
    "LogValidationMetricsCallback",
    "ProgressBar",
    "Speedometer",
    "do_checkpoint",
    "log_train_metric",
    "module_checkpoint",
]

BatchEndParam = collections.namedtuple(  # type: ignore[name-match]
    "BatchEndParams", ["epoch", "nbatch", "eval_metric", "locals"]
)


def module_checkpoint(mod, prefix, period=1, save_optimizer_states=False):
    """A callback for the end of epochs: after every `period`-th one `mod.save_checkpoint(prefix, epoch + 1)`.

    With `save_optimizer_states` the states of the optimizer are saved, too.

    Examples
    --------
    >>> import os, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> net = mx.mod.Module(sym.FullyConnected(sym.var("data"), num_hidden=2, name="fc"), label_names=None)
    >>> net.bind([("data", (1, 3))])
    >>> net.init_params()
    >>> callback = mx.callback.module_checkpoint(net, os.path.join(folder.name, "net"))
    >>> callback(0)
    >>> sorted(os.listdir(folder.name))
    ['net-0001.params', 'net-symbol.json']
    """
    period = max(1, int(period))

    def callback(epoch, sym=None, arg=None, aux=None):
        if (epoch + 1) % period == 0:
            mod.save_checkpoint(prefix, epoch + 1, save_optimizer_states)

    return callback


def do_checkpoint(prefix, period=1):
    """A callback for the end of epochs: after every `period`-th one it calls
    `model.save_checkpoint(prefix, epoch + 1, ...)`.

    Examples
    --------
    >>> import os, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> callback = mx.callback.do_checkpoint(os.path.join(folder.name, "net"), period=2)
    >>> for epoch in range(4):
    ...     callback(epoch, sym.var("x") * 2, {}, {})
    >>> sorted(os.listdir(folder.name))
    ['net-0002.params', 'net-0004.params', 'net-symbol.json']
    """
    period = max(1, int(period))

    def callback(epoch, sym, arg, aux):
        if (epoch + 1) % period == 0:
            save_checkpoint(prefix, epoch + 1, sym, arg, aux)

    return callback


def log_train_metric(period, auto_reset=False):
    """A callback for the end of batches: after every `period`-th one it logs the metric, and resets its local
    values if `auto_reset`.

    Examples
    --------
    >>> import unittest
    >>> log = mx.callback.log_train_metric(period=10)
    >>> accuracy = metric.Accuracy()
    >>> accuracy.update([nd.array([1])], [nd.array([[0.2, 0.8]])])
    >>> with unittest.TestCase().assertLogs() as logged:
    ...     log(mx.model.BatchEndParam(epoch=0, nbatch=10, eval_metric=accuracy, locals=None))
    >>> logged.output
    ['INFO:root:Iter[0] Batch[10] Train-accuracy=1.000000']
    """

    def callback(param):
        if param.nbatch % period != 0 or param.eval_metric is None:
            return
        for name, value in param.eval_metric.get_name_value():
            logging.info("Iter[%d] Batch[%d] Train-%s=%f", param.epoch, param.nbatch, name, value)
        if auto_reset:
            param.eval_metric.reset_local()

    return callback


class Speedometer:
    """After every `frequent`-th batch: logs samples per second and the metric.

    With `auto_reset` the metric's local values start anew each time, so they describe the last `frequent`
    batches.

    Examples
    --------
    >>> import unittest
    >>> speed = mx.callback.Speedometer(batch_size=32, frequent=10)
    >>> speed(mx.model.BatchEndParam(epoch=0, nbatch=0, eval_metric=None, locals=None))
    >>> with unittest.TestCase().assertLogs() as logged:
    ...     speed(mx.model.BatchEndParam(epoch=0, nbatch=10, eval_metric=None, locals=None))
    >>> "samples/sec" in logged.output[0]
    True
    """

    def __init__(self, batch_size, frequent=50, auto_reset=True):
        self.batch_size = batch_size
        self.frequent = frequent
        self.auto_reset = auto_reset
        self.last_count = 0
        self.init = False  # whether batches are being measured, and since when: programs read these, too
        self.tic = 0

    def __call__(self, param):
        count = param.nbatch
        if not self.init or count < self.last_count:
            self.init, self.tic = True, time.time()
        elif count % self.frequent == 0:
            seconds = time.time() - self.tic
            self._report(param, self.frequent * self.batch_size / seconds if seconds else math.inf)
            self.tic = time.time()
        self.last_count = count

    def _report(self, param, speed):
        if param.eval_metric is None:
            logging.info("Iter[%d] Batch [%d]\tSpeed: %.2f samples/sec", param.epoch, param.nbatch, speed)
            return
        values = param.eval_metric.get_name_value()
        first = 0
        if self.auto_reset:
            param.eval_metric.reset_local()
            first = param.nbatch - self.frequent
        logging.info(
            "Epoch[%d] Batch [%d-%d]\tSpeed: %.2f samples/sec" + "\t%s=%f" * len(values),
            param.epoch,
            first,
            param.nbatch,
            speed,
            *(part for pair in values for part in pair),
        )


class ProgressBar:
    r"""After every batch: logs a bar of `length` characters for `total` batches.

    Examples
    --------
    >>> import unittest
    >>> bar = mx.callback.ProgressBar(total=4, length=8)
    >>> with unittest.TestCase().assertLogs() as logged:
    ...     bar(mx.model.BatchEndParam(epoch=0, nbatch=1, eval_metric=None, locals=None))
    >>> logged.output
    ['INFO:root:[==------] 25%\r']
    """

    def __init__(self, total, length=80):
        self.total = total
        self.bar_len = length

    def __call__(self, param):
        done = param.nbatch / self.total
        bar = ("=" * round(self.bar_len * done)).ljust(self.bar_len, "-")
        logging.info("[%s] %s%s\r", bar, math.ceil(100 * done), "%")


class LogValidationMetricsCallback:
    """After an evaluation: logs the metric.

    Examples
    --------
    >>> import unittest
    >>> accuracy = metric.Accuracy()
    >>> accuracy.update([nd.array([1])], [nd.array([[0.2, 0.8]])])
    >>> with unittest.TestCase().assertLogs() as logged:
    ...     mx.callback.LogValidationMetricsCallback()(mx.model.BatchEndParam(3, 0, accuracy, None))
    >>> logged.output
    ['INFO:root:Epoch[3] Validation-accuracy=1.000000']
    """

    def __call__(self, param):
        for name, value in param.eval_metric.get_name_value() if param.eval_metric else ():
            logging.info("Epoch[%d] Validation-%s=%f", param.epoch, name, value)
