"""The events of training and validation: a class for each, from which those derive who want to know of it."""

__all__ = [
    "EVENTS",
    "BatchBegin",
    "BatchEnd",
    "EpochBegin",
    "EpochEnd",
    "EventHandler",
    "TrainBegin",
    "TrainEnd",
    "checked_handlers",
]


class EventHandler:
    """What an Estimator calls when something happens.

    Of several handlers that with the smallest `priority` is called first, of equal ones the first given.

    Examples
    --------
    >>> from headrace.gluon.contrib.estimator import event_handler
    >>> issubclass(event_handler.TrainBegin, event_handler.EventHandler)
    True
    """

    priority = 0


class TrainBegin(EventHandler):
    """Wants to know when `fit` begins.

    Examples
    --------
    >>> from headrace.gluon.contrib import estimator
    >>> class Tells(estimator.TrainBegin):
    ...     def train_begin(self, estimator, *args, **kwargs):
    ...         print("train_begin")
    >>> Tells().train_begin(None)
    train_begin
    """

    def train_begin(self, estimator, *args, **kwargs):
        """Called before the first epoch."""


class TrainEnd(EventHandler):
    """Wants to know when `fit` ends.

    Examples
    --------
    >>> from headrace.gluon.contrib import estimator
    >>> class Tells(estimator.TrainEnd):
    ...     def train_end(self, estimator, *args, **kwargs):
    ...         print("train_end")
    >>> Tells().train_end(None)
    train_end
    """

    def train_end(self, estimator, *args, **kwargs):
        """Called after the last epoch."""


class EpochBegin(EventHandler):
    """Wants to know when an epoch, or an evaluation, begins.

    Examples
    --------
    >>> from headrace.gluon.contrib import estimator
    >>> class Tells(estimator.EpochBegin):
    ...     def epoch_begin(self, estimator, *args, **kwargs):
    ...         print("epoch_begin")
    >>> Tells().epoch_begin(None)
    epoch_begin
    """

    def epoch_begin(self, estimator, *args, **kwargs):
        """Called before the first batch of an epoch."""


class EpochEnd(EventHandler):
    """Wants to know when an epoch, or an evaluation, ends.

    Examples
    --------
    >>> from headrace.gluon.contrib import estimator
    >>> class Tells(estimator.EpochEnd):
    ...     def epoch_end(self, estimator, *args, **kwargs):
    ...         print("epoch_end")
    >>> Tells().epoch_end(None)
    epoch_end
    """

    def epoch_end(self, estimator, *args, **kwargs):
        """Called after the last batch of an epoch; True ends the training."""
        return False


class BatchBegin(EventHandler):
    """Wants to know of batches before they are computed.

    Examples
    --------
    >>> from headrace.gluon.contrib import estimator
    >>> class Tells(estimator.BatchBegin):
    ...     def batch_begin(self, estimator, *args, **kwargs):
    ...         print("batch_begin")
    >>> Tells().batch_begin(None)
    batch_begin
    """

    def batch_begin(self, estimator, *args, **kwargs):
        """Called with the keyword `batch`."""


class BatchEnd(EventHandler):
    """Wants to know of batches when they have been computed.

    Examples
    --------
    >>> from headrace.gluon.contrib import estimator
    >>> class Tells(estimator.BatchEnd):
    ...     def batch_end(self, estimator, *args, **kwargs):
    ...         print("batch_end")
    >>> Tells().batch_end(None)
    batch_end
    """

    def batch_end(self, estimator, *args, **kwargs):
        """Called with the keywords `batch`, `pred`, `label` and `loss`, the last three lists with an array
        for each context. True ends the epoch once every handler has been called.
        """
        return False


EVENTS = (TrainBegin, EpochBegin, BatchBegin, BatchEnd, EpochEnd, TrainEnd)  # as they follow each other


def checked_handlers(handlers):
    """A list of its own of the handlers of an argument: one of them, several, or None.

    ValueError: something else is among them.
    """
    handlers = [handlers] if isinstance(handlers, EventHandler) else list(handlers or ())
    for handler in handlers:
        if not isinstance(handler, EventHandler):
            raise ValueError(
                f"handlers must be an EventHandler or a list of EventHandler, got: {handler!r}; derive it "
                "from TrainBegin, EpochBegin, BatchBegin, BatchEnd, EpochEnd or TrainEnd"
            )
    return handlers
