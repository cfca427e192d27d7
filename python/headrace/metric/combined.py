"""Several metrics as one, metrics of functions, and metrics out of descriptions."""

from .._lists import as_list
from .base import (
    CountingMetric,
    alias,
    as_sequence,
    check_label_shapes,
    create_registered,
    host,
    plain,
    register,
)


@register
@alias("composite")
class CompositeEvalMetric(CountingMetric):
    """Several metrics as one; names and values come as lists.

    Examples
    --------
    >>> measure = metric.CompositeEvalMetric(["mae", "mse"])
    >>> measure.update([nd.array([1, 2])], [nd.array([1, 4])])
    >>> measure.get()
    (['mae', 'mse'], [1.0, 2.0])
    """

    def __init__(self, metrics=None, name="composite", output_names=None, label_names=None):
        self.metrics = []
        super().__init__(name, output_names=output_names, label_names=label_names)
        self.metrics = [create(metric) for metric in metrics or []]  # with what they have counted

    def add(self, metric):
        """Adds a metric, or what `create` makes one of."""
        self.metrics.append(create(metric))

    def get_metric(self, index):
        """The metric with this number. ValueError: there is none."""
        try:
            return self.metrics[index]
        except IndexError:
            raise ValueError(f"Metric index {index} is out of range 0 and {len(self.metrics)}") from None

    def update(self, labels, preds):
        for metric in self.metrics:
            metric.update(labels, preds)

    def update_dict(self, labels, preds):
        if self.label_names is not None:
            labels = {name: labels[name] for name in self.label_names}
        if self.output_names is not None:
            preds = {name: preds[name] for name in self.output_names}
        for metric in self.metrics:
            metric.update_dict(labels, preds)

    def reset(self):
        for metric in self.metrics:
            metric.reset()

    def reset_local(self):
        for metric in self.metrics:
            metric.reset_local()

    def get(self):
        return self._collect(metric.get() for metric in self.metrics)

    def get_global(self):
        return self._collect(metric.get_global() for metric in self.metrics)

    def get_config(self):
        return {**super().get_config(), "metrics": [metric.get_config() for metric in self.metrics]}

    @staticmethod
    def _collect(results):
        names, values = [], []
        for name, value in results:
            names.extend(as_list(name))
            values.extend(map(plain, as_sequence(value)))
        return names, values


@register
class CustomMetric(CountingMetric):
    """Mean of `feval(label, pred)`, which gives a number, or a pair (sum, count); it is called with NumPy
    arrays.

    ValueError: numbers of labels and predictions differ, unless `allow_extra_outputs`.

    Examples
    --------
    >>> measure = metric.CustomMetric(lambda label, pred: abs(label - pred).max(), name="worst")
    >>> measure.update([nd.array([1, 2])], [nd.array([1, 4])])
    >>> measure.get()
    ('worst', 2.0)
    """

    def __init__(self, feval, name=None, allow_extra_outputs=False, output_names=None, label_names=None):
        if name is None:
            name = feval.__name__
            if "<" in name:
                name = f"custom({name})"
        super().__init__(name, output_names=output_names, label_names=label_names)
        self._feval = feval
        self._allow_extra_outputs = allow_extra_outputs

    def get_config(self):
        raise NotImplementedError("CustomMetric cannot be serialized")

    def update(self, labels, preds):
        if not self._allow_extra_outputs:
            labels, preds = check_label_shapes(as_list(labels), as_list(preds))
        for label, pred in zip(labels, preds):
            result = self._feval(host(label), host(pred))
            self._add(*(result if isinstance(result, tuple) else (result, 1)))


def create(metric, *args, **kwargs):
    """The metric that `metric` describes: a registered name, a function (label, prediction) -> number, a
    metric, its `get_config()`, or a list of these, which gives a CompositeEvalMetric. The other arguments go
    to the class.

    AssertionError: unknown name or wrong type.

    Examples
    --------
    >>> metric.create("top_k_accuracy", top_k=3).get()[0]
    'top_k_accuracy_3'
    >>> metric.create(["mae", "rmse"]).get()[0]
    ['mae', 'rmse']
    """
    if isinstance(metric, (list, tuple)):
        return CompositeEvalMetric([create(child, *args, **kwargs) for child in metric])
    if callable(metric):
        return CustomMetric(metric, *args, **kwargs)
    return create_registered(metric, *args, **kwargs)


def np(numpy_feval, name=None, allow_extra_outputs=False):
    """A CustomMetric of a function that takes a label and a prediction as NumPy arrays.

    Examples
    --------
    >>> largest_error = metric.np(lambda label, pred: abs(label - pred).max(), name="largest")
    >>> largest_error.update([nd.array([1, 2])], [nd.array([1.5, 4])])
    >>> largest_error.get()
    ('largest', 2.0)
    """

    def feval(label, pred):
        return numpy_feval(label, pred)

    feval.__name__ = numpy_feval.__name__
    return CustomMetric(feval, name, allow_extra_outputs)
