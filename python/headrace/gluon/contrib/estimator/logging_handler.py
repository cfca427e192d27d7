"""The lines that an Estimator writes while it works."""

import math
import time

from .events import BatchBegin, BatchEnd, EpochBegin, EpochEnd, TrainBegin, TrainEnd
from .utils import _check_metrics

__all__ = ["LoggingHandler"]


class LoggingHandler(TrainBegin, TrainEnd, EpochBegin, EpochEnd, BatchBegin, BatchEnd):
    """Writes times and `metrics` to the estimator's logger, after every other handler.

    `log_interval` is 'epoch', or the number of batches after which there is a line within an epoch, too;
    ValueError: something else. Metrics with 'training' in their names make it a log of training.

    Examples
    --------
    >>> from headrace.gluon.contrib import estimator
    >>> handler = estimator.LoggingHandler(log_interval=10, metrics=[metric.Accuracy()])
    >>> isinstance(handler, estimator.BatchEnd)
    True
    """

    def __init__(self, log_interval="epoch", metrics=None, priority=math.inf):
        if log_interval != "epoch" and not (isinstance(log_interval, int) and log_interval > 0):
            raise ValueError(
                "log_interval must be either an integer or string 'epoch', and a number of batches positive; "
                f"got {log_interval!r}"
            )
        self.metrics = _check_metrics(metrics)
        self.priority = priority
        self.log_interval = log_interval
        self._begin_anew()

    def _begin_anew(self):
        self.batch_index = 0
        self.current_epoch = 0
        self.processed_samples = 0
        self.log_interval_time = 0

    def train_begin(self, estimator, *args, **kwargs):
        self.train_start = time.time()
        estimator.logger.info(
            "Training begin: using optimizer %s with current learning rate %.4f ",
            type(estimator.trainer.optimizer).__name__,
            estimator.trainer.learning_rate,
        )
        if estimator.max_epoch:
            estimator.logger.info("Train for %d epochs.", estimator.max_epoch)
        else:
            estimator.logger.info("Train for %d batches.", estimator.max_batch)
        self._begin_anew()

    def train_end(self, estimator, *args, **kwargs):
        seconds = time.time() - self.train_start
        start = f"Train finished using total {int(seconds)}s with {self.current_epoch} epochs. "
        self._log_metrics(estimator, start)

    def epoch_begin(self, estimator, *args, **kwargs):
        self.epoch_start = time.time()
        if any("training" in metric.name for metric in self.metrics):
            estimator.logger.info(
                "[Epoch %d] Begin, current learning rate: %.4f",
                self.current_epoch,
                estimator.trainer.learning_rate,
            )
        else:
            estimator.logger.info("Validation Begin")

    def epoch_end(self, estimator, *args, **kwargs):
        seconds = time.time() - self.epoch_start
        self._log_metrics(estimator, f"[Epoch {self.current_epoch}] Finished in {seconds:.3f}s, ")
        self.current_epoch += 1
        self.batch_index = 0

    def batch_begin(self, estimator, *args, **kwargs):
        self.batch_start = time.time()

    def batch_end(self, estimator, *args, **kwargs):
        if self.log_interval != "epoch":
            self.processed_samples += kwargs["batch"][0].shape[0]
            self.log_interval_time += time.time() - self.batch_start
            if self.batch_index % self.log_interval == 0:
                start = (
                    f"[Epoch {self.current_epoch}][Batch {self.batch_index}]"
                    f"[Samples {self.processed_samples}] time/interval: {self.log_interval_time:.3f}s "
                )
                self._log_metrics(estimator, start)
                self.log_interval_time = 0
        self.batch_index += 1

    def _log_metrics(self, estimator, start):
        """One line: `start`, and the values of all metrics."""
        values = [f"{name}: {value:.4f}" for name, value in (metric.get() for metric in self.metrics)]
        estimator.logger.info((start + ", ".join(values)).rstrip(", "))
