"""Estimator: a training loop that is put together from handlers."""

import copy
import logging
import sys
import warnings

from ....context import Context, cpu, gpu, num_gpus
from ....metric import Loss as LossMetric
from ...data import DataLoader
from ...loss import Loss
from ...trainer import Trainer
from .batch_processor import BatchProcessor
from .event_handler import (
    GradientUpdateHandler,
    LoggingHandler,
    MetricHandler,
    StoppingHandler,
    ValidationHandler,
)
from .events import EVENTS, checked_handlers
from .utils import _check_metrics, check_metrics_known, metrics_for

__all__ = ["Estimator"]


class Estimator:
    """Trains a network with `fit` and measures it with `evaluate`; handlers of events do the rest.

    Parameters
    ----------
    net : Block to train.
    loss : gluon.loss.Loss.
    train_metrics : EvalMetric or list of them; default: the loss, and Accuracy with a softmax loss.
        'training ' is put before their names.
    val_metrics : likewise for validation; default: copies of `train_metrics`.
    initializer : for a network whose parameters are not all initialized; default: that of `Block.initialize`.
    trainer : Trainer; default: plain SGD with a learning rate of 0.001, with a warning.
    context : Context or list of them; batches are cut into a part for each. Default: the first GPU, else
        the CPU.
    val_net, val_loss : what is evaluated, usually a network that shares parameters; default: `net`, `loss`.
    batch_processor : what is done with a batch; default: BatchProcessor().

    `logger` is a logging.Logger of its own, which writes to standard output.

    ValueError: something is of another type. AssertionError: a GPU that is not there.

    Examples
    --------
    >>> from headrace.gluon.contrib import estimator
    >>> net = nn.Dense(2)
    >>> net.initialize()
    >>> loss = gluon.loss.SoftmaxCrossEntropyLoss()
    >>> data = gluon.data.DataLoader(gluon.data.ArrayDataset(nd.ones((4, 3)), nd.zeros((4,))), batch_size=2)
    >>> trainer = gluon.Trainer(net.collect_params(), "sgd")
    >>> fit = estimator.Estimator(net, loss, trainer=trainer, context=mx.cpu())
    >>> fit.logger.setLevel("ERROR")
    >>> fit.fit(data, epochs=1)
    >>> [one.get()[0] for one in fit.train_metrics]
    ['training accuracy', 'training softmaxcrossentropyloss']
    """

    logger = None

    def __init__(
        self,
        net,
        loss,
        train_metrics=None,
        val_metrics=None,
        initializer=None,
        trainer=None,
        context=None,
        val_net=None,
        val_loss=None,
        batch_processor=None,
    ):
        self.net = net
        self.loss = _checked_loss(loss, "loss")
        self._train_metrics = _check_metrics(train_metrics)
        self._val_metrics = _check_metrics(val_metrics)
        self._complete_metrics()
        self.val_loss = self.loss if val_loss is None else _checked_loss(val_loss, "val_loss")
        self.val_net = net if val_net is None else val_net
        self.logger = logging.Logger(name="Estimator", level=logging.INFO)
        self.logger.addHandler(logging.StreamHandler(sys.stdout))
        self.context = _checked_contexts(context)
        self._initialize(initializer)
        self.trainer = self._checked_trainer(trainer)
        self.batch_processor = _checked_processor(batch_processor)

    def _complete_metrics(self):
        """Adds the metrics that are there by default, and says in each name what it is for.

        Handlers tell by these names whether they look at training.
        """
        if not self._train_metrics:
            self._train_metrics = [*metrics_for(self.loss), LossMetric(self.loss.name.rstrip("0123456789"))]
        for metric in self._train_metrics:
            metric.name = "training " + metric.name
        if not self._val_metrics:
            self._val_metrics = [copy.deepcopy(metric) for metric in self._train_metrics]
        for metric in self._val_metrics:
            if "training" in metric.name:
                metric.name = metric.name.replace("training", "validation")
            else:
                metric.name = "validation " + metric.name

    def _initialize(self, initializer):
        if not self._is_initialized():
            self.net.initialize(init=initializer, ctx=self.context)  # leaves parameters alone that are
        elif initializer:
            warnings.warn(
                "Network already fully initialized, skipping initialization. Leave initializer out, or call "
                "net.initialize(init=initializer, force_reinit=True) before.",
                stacklevel=3,
            )

    def _is_initialized(self):
        for param in self.net.collect_params().values():
            try:
                param.list_ctx()
            except RuntimeError:
                return False
        return True

    def _checked_trainer(self, trainer):
        if not trainer:
            warnings.warn(
                "No trainer specified, default SGD optimizer with learning rate 0.001 is used.", stacklevel=3
            )
            return Trainer(self.net.collect_params(), "sgd", {"learning_rate": 0.001})
        if not isinstance(trainer, Trainer):
            raise ValueError(
                f"Trainer must be a Gluon Trainer instance, got {trainer!r}; make one with "
                "gluon.Trainer(net.collect_params(), 'sgd', {'learning_rate': 0.1})"
            )
        return trainer

    @property
    def train_metrics(self):
        """The metrics of training, a list."""
        return self._train_metrics

    @property
    def val_metrics(self):
        """The metrics of validation, a list."""
        return self._val_metrics

    def evaluate(self, val_data, batch_axis=0, event_handlers=None):
        """Runs `val_net` over a DataLoader of pairs (data, label), and measures it with `val_metrics`.

        Batches are cut along `batch_axis`. `event_handlers`, one or a list, are called at the events of
        epochs and batches; a MetricHandler and a LoggingHandler are added if there is none. ValueError: no
        DataLoader, or a handler with a metric that is not among `val_metrics`.
        """
        _check_loader(val_data, "val_data")
        for metric in self.val_metrics:
            metric.reset()
        handlers = self._prepare_default_validation_handlers(event_handlers)
        _, epoch_begin, batch_begin, batch_end, epoch_end, _ = self._categorize_handlers(handlers)

        for handler in epoch_begin:
            handler.epoch_begin(self)
        for batch in val_data:
            for handler in batch_begin:
                handler.batch_begin(self, batch=batch)
            _, label, pred, loss = self.batch_processor.evaluate_batch(self, batch, batch_axis)
            for handler in batch_end:
                handler.batch_end(self, batch=batch, pred=pred, label=label, loss=loss)
        for handler in epoch_end:
            handler.epoch_end(self)

    def fit(self, train_data, val_data=None, epochs=None, event_handlers=None, batches=None, batch_axis=0):
        """Trains `net` on a DataLoader of pairs (data, label), for a number of epochs or of batches.

        Batches are cut along `batch_axis`. `event_handlers`, one or a list, are called beside those that are
        added: StoppingHandler always; GradientUpdateHandler, MetricHandler, LoggingHandler, and with
        `val_data` ValidationHandler, if there is none of the kind. At the end of a batch all handlers are
        called, then the epoch ends if one of them gave True; so does the training at the end of an epoch.

        ValueError: no DataLoader; not one of `epochs` and `batches`, or less than 1; a loader without batches
        when batches are counted; a handler with a metric that is not the estimator's.
        """
        _check_loader(train_data, "train_data")
        self._take_length(epochs, batches)
        self.batch_axis = batch_axis
        handlers = self._prepare_default_handlers(val_data, event_handlers)
        train_begin, epoch_begin, batch_begin, batch_end, epoch_end, train_end = self._categorize_handlers(
            handlers
        )

        for handler in train_begin:
            handler.train_begin(self)
        goes_on = True
        while goes_on:
            for handler in epoch_begin:
                handler.epoch_begin(self)
            count = self._fit_batches(train_data, batch_begin, batch_end)
            if not count and self.max_batch:
                raise ValueError(
                    "Estimator.fit: train_data has no batches, so that batches cannot be counted"
                )
            results = [handler.epoch_end(self) for handler in epoch_end]
            goes_on = not any(results)
        for handler in train_end:
            handler.train_end(self)

    def _take_length(self, epochs, batches):
        if bool(epochs) == bool(batches) or (epochs or batches) < 0:
            raise ValueError(
                "Fit only support exactly one type of iteration, train by number of epochs or number of "
                f"batches. Specify one of them, as a positive number; got epochs={epochs}, batches={batches}"
            )
        self.max_epoch = epochs
        self.max_batch = batches

    def _fit_batches(self, train_data, batch_begin, batch_end):
        """One epoch, or its beginning if a handler ends it; the number of batches."""
        count = 0
        for batch in train_data:
            count += 1
            for handler in batch_begin:
                handler.batch_begin(self, batch=batch)
            _, label, pred, loss = self.batch_processor.fit_batch(self, batch, self.batch_axis)
            results = [
                handler.batch_end(self, batch=batch, pred=pred, label=label, loss=loss)
                for handler in batch_end
            ]
            if any(results):
                break
        return count

    # The next three have MXNet's names, as programs that extend fit call them.
    def _prepare_default_handlers(self, val_data, event_handlers):
        """The handlers of `fit` in the order in which they are called."""
        added = [StoppingHandler(self.max_epoch, self.max_batch), GradientUpdateHandler()]
        added.append(MetricHandler(self.train_metrics))
        if val_data:
            added.append(ValidationHandler(val_data, self.evaluate))
        added.append(LoggingHandler(metrics=self.train_metrics))
        return _completed(event_handlers, added, self.train_metrics + self.val_metrics)

    def _prepare_default_validation_handlers(self, event_handlers):
        """The handlers of `evaluate` in the order in which they are called."""
        added = [MetricHandler(self.val_metrics), LoggingHandler(metrics=self.val_metrics)]
        return _completed(event_handlers, added, self.val_metrics)

    def _categorize_handlers(self, event_handlers):
        """Those who listen to each of the six EVENTS, as a tuple of lists."""
        return tuple([one for one in event_handlers if isinstance(one, event)] for event in EVENTS)


def _completed(given, added, known_metrics):
    """The handlers of a program and those of `added` whose kind is not among them, smallest priority first.

    ValueError: both look at metrics, and a handler at one that is not among `known_metrics`.
    """
    given = checked_handlers(given)
    # Nothing takes the place of the StoppingHandler, which ends the training where `fit` was told to.
    missing = [
        default
        for default in added
        if isinstance(default, StoppingHandler) or not any(isinstance(one, type(default)) for one in given)
    ]
    handlers = given + missing
    if given and missing:
        for handler in handlers:
            check_metrics_known(handler, known_metrics)
    return sorted(handlers, key=lambda handler: handler.priority)


def _check_loader(data, name):
    if not isinstance(data, DataLoader):
        raise ValueError(
            f"Estimator only support input as Gluon DataLoader, got {type(data).__name__} as {name}; put "
            "arrays into gluon.data.DataLoader(gluon.data.ArrayDataset(data, label), batch_size)"
        )


def _checked_loss(loss, name):
    if not isinstance(loss, Loss):
        raise ValueError(f"{name} must be a Loss such as gluon.loss.L2Loss(), got {loss!r}")
    return loss


def _checked_processor(processor):
    if processor is None:
        return BatchProcessor()
    for method in ("fit_batch", "evaluate_batch"):
        if not callable(getattr(processor, method, None)):
            raise ValueError(
                "Customized Batch Processor must contain fit_batch() and evaluate_batch() methods; "
                f"{type(processor).__name__} has no {method}"
            )
    return processor


def _checked_contexts(context):
    """A list of contexts; without any, of the first GPU, or of the CPU."""
    gpus = [gpu(i) for i in range(num_gpus())]
    if not context:
        if len(gpus) > 1:
            warnings.warn(
                "You have multiple GPUs, gpu(0) will be used by default. To use more, give a list such as "
                "context=[mx.gpu(0), mx.gpu(1)].",
                stacklevel=3,
            )
        return gpus[:1] or [cpu()]
    contexts = [context] if isinstance(context, Context) else context
    if not isinstance(contexts, list) or not all(isinstance(one, Context) for one in contexts):
        raise ValueError(
            "context must be a Context or a list of Context, for example mx.cpu() or [mx.gpu(0), mx.gpu(1)], "
            f"got {context!r}"
        )
    for one in contexts:
        available = ", ".join(map(str, [cpu(), *gpus]))
        assert one in gpus or str(one).startswith("cpu"), (
            f"{one} is not available, please make sure your context is in one of: {available}"
        )
    return contexts
