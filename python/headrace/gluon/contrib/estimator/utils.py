"""Which metrics an Estimator and its handlers have."""

from ....metric import Accuracy, CompositeEvalMetric, EvalMetric
from ...loss import SoftmaxCrossEntropyLoss

__all__ = []


# The first has MXNet's name, as handlers that programs define call it.
def _check_metrics(metrics):
    """A list of its own of the metrics of an argument: one, several, or None; composite ones as their parts.

    ValueError: something else is among them.
    """
    if isinstance(metrics, CompositeEvalMetric):
        return [part for metric in metrics.metrics for part in _check_metrics(metric)]
    if isinstance(metrics, EvalMetric):
        return [metrics]
    metrics = metrics or ()
    if isinstance(metrics, str) or not all(isinstance(metric, EvalMetric) for metric in metrics):
        raise ValueError(
            f"metrics must be a Metric or a list of Metric, such as mx.metric.Accuracy(); got: {metrics!r}"
        )
    return list(metrics)


def check_metrics_known(handler, known):
    """ValueError if a field of `handler` with 'metric' in its name refers to a metric that is not among
    `known`: nobody would bring it up to date.
    """
    for field in dir(handler):
        if "metric" not in field:
            continue
        value = getattr(handler, field)
        for metric in value if isinstance(value, list) else [value]:
            if isinstance(metric, EvalMetric) and not any(metric is one for one in known):
                raise ValueError(
                    f"Event handler {type(handler).__name__} refers to a metric instance {metric} outside of "
                    "the known training and validation metrics; take those in estimator.train_metrics and "
                    "estimator.val_metrics"
                )


def metrics_for(loss):
    """The metrics that say how good a network is that is trained with `loss`."""
    return [Accuracy()] if isinstance(loss, SoftmaxCrossEntropyLoss) else []
