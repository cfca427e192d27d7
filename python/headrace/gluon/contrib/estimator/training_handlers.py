"""The handlers that make a training: steps, metrics, validation, and an end."""

from ....metric import Loss
from .events import BatchEnd, EpochBegin, EpochEnd, TrainBegin
from .utils import _check_metrics

__all__ = ["GradientUpdateHandler", "MetricHandler", "StoppingHandler", "ValidationHandler"]


class StoppingHandler(TrainBegin, BatchEnd, EpochEnd):
    """Ends the training after `max_epoch` epochs or `max_batch` batches; what `fit` was told counts.

    Examples
    --------
    >>> from headrace.gluon.contrib import estimator
    >>> handler = estimator.StoppingHandler(max_batch=2)
    >>> [handler.batch_end(None) or handler.stop_training for batch in range(3)]
    [False, True, True]
    """

    def __init__(self, max_epoch=None, max_batch=None):
        self.max_epoch = max_epoch
        self.max_batch = max_batch
        self._begin_anew()

    def _begin_anew(self):
        self.current_batch = 0
        self.current_epoch = 0
        self.stop_training = False

    def train_begin(self, estimator, *args, **kwargs):
        self.max_epoch = estimator.max_epoch
        self.max_batch = estimator.max_batch
        self._begin_anew()

    def batch_end(self, estimator, *args, **kwargs):
        self.current_batch += 1
        if self.max_batch and self.current_batch >= self.max_batch:
            self.stop_training = True
        return self.stop_training

    def epoch_end(self, estimator, *args, **kwargs):
        self.current_epoch += 1
        if self.max_epoch and self.current_epoch >= self.max_epoch:
            self.stop_training = True
        return self.stop_training


class MetricHandler(EpochBegin, BatchEnd):
    """Resets `metrics` before an epoch and updates them after each batch, early: others read them.

    A metric.Loss takes the losses, all others the labels and predictions.

    Examples
    --------
    >>> from headrace.gluon.contrib import estimator
    >>> accuracy = metric.Accuracy()
    >>> handler = estimator.MetricHandler([accuracy])
    >>> handler.batch_end(None, label=[nd.array([1])], pred=[nd.array([[0.2, 0.8]])], loss=[nd.array([0.2])])
    >>> accuracy.get()
    ('accuracy', 1.0)
    """

    def __init__(self, metrics, priority=-1000):
        self.metrics = _check_metrics(metrics)
        self.priority = priority

    def epoch_begin(self, estimator, *args, **kwargs):
        for metric in self.metrics:
            metric.reset()

    def batch_end(self, estimator, *args, **kwargs):
        for metric in self.metrics:
            if isinstance(metric, Loss):
                metric.update(0, kwargs["loss"])
            else:
                metric.update(kwargs["label"], kwargs["pred"])


class ValidationHandler(TrainBegin, BatchEnd, EpochEnd):
    """Evaluates every `epoch_period` epochs, and every `batch_period` batches; None: not.

    `eval_fn(val_data=, batch_axis=, event_handlers=)` does it, usually `Estimator.evaluate`.

    Examples
    --------
    >>> import types
    >>> from headrace.gluon.contrib import estimator
    >>> run, evaluate = types.SimpleNamespace(batch_axis=0), lambda val_data, **kwargs: print(val_data)
    >>> handler = estimator.ValidationHandler("held back", evaluate, epoch_period=2)
    >>> handler.train_begin(run)
    >>> for epoch in range(2):
    ...     handler.epoch_end(run)
    held back
    """

    def __init__(
        self, val_data, eval_fn, epoch_period=1, batch_period=None, priority=-1000, event_handlers=None
    ):
        self.val_data = val_data
        self.eval_fn = eval_fn
        self.epoch_period = epoch_period
        self.batch_period = batch_period
        self.current_batch = 0
        self.current_epoch = 0
        self.priority = priority
        self.event_handlers = event_handlers

    def train_begin(self, estimator, *args, **kwargs):
        self.current_batch = 0
        self.current_epoch = 0

    def batch_end(self, estimator, *args, **kwargs):
        self.current_batch += 1
        if self.batch_period and self.current_batch % self.batch_period == 0:
            self._evaluate(estimator)

    def epoch_end(self, estimator, *args, **kwargs):
        self.current_epoch += 1
        if self.epoch_period and self.current_epoch % self.epoch_period == 0:
            self._evaluate(estimator)

    def _evaluate(self, estimator):
        self.eval_fn(
            val_data=self.val_data, batch_axis=estimator.batch_axis, event_handlers=self.event_handlers
        )


class GradientUpdateHandler(BatchEnd):
    """The step of the trainer after each batch, before anything else looks at the network.

    The batch size is the number of losses: the sum of their first dimensions over the contexts.

    Examples
    --------
    >>> import types
    >>> from headrace.gluon.contrib import estimator
    >>> trainer = types.SimpleNamespace(step=lambda size: print(f"a step for {size} samples"))
    >>> run = types.SimpleNamespace(trainer=trainer)
    >>> estimator.GradientUpdateHandler().batch_end(run, loss=[nd.ones((2,)), nd.ones((3,))])
    a step for 5 samples
    """

    def __init__(self, priority=-2000):
        self.priority = priority

    def batch_end(self, estimator, *args, **kwargs):
        loss = kwargs["loss"]
        losses = loss if isinstance(loss, list) else [loss]
        estimator.trainer.step(sum(part.shape[0] for part in losses))
