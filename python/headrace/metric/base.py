"""What metrics have in common: their names, the base class, labels and predictions as NumPy arrays."""

import math

import numpy

from .._lists import as_list
from ..ndarray import NDArray
from ..registry import get_alias_func, get_create_func, get_register_func


def check_label_shapes(labels, preds, wrap=False, shape=False):
    """ValueError unless there are as many labels as predictions; with `shape`, unless their shapes are equal.

    With `wrap`, single arrays come back in lists. Gives `(labels, preds)`.

    Examples
    --------
    >>> labels, preds = nd.array([1, 0]), nd.array([[0.3, 0.7]])
    >>> metric.check_label_shapes(labels, preds)
    Traceback (most recent call last):
        ...
    ValueError: Shape of labels 2 does not match shape of predictions 1
    """
    expected, got = (labels.shape, preds.shape) if shape else (len(labels), len(preds))
    if expected != got:
        raise ValueError(f"Shape of labels {expected} does not match shape of predictions {got}")
    if wrap:
        labels, preds = as_list(labels), as_list(preds)
    return labels, preds


def as_sequence(value):
    """As `as_list`, where an array of at least one dimension stands for its elements."""
    return list(value) if isinstance(value, numpy.ndarray) and value.ndim else as_list(value)


def host(array):
    return array.asnumpy() if isinstance(array, NDArray) else numpy.asarray(array)


def pairs(labels, preds):
    """The labels and predictions of an update as pairs of NumPy arrays."""
    labels, preds = as_list(labels), as_list(preds)
    check_label_shapes(labels, preds)
    return [(host(label), host(pred)) for label, pred in zip(labels, preds)]


def check_sizes(label, pred):
    if label.shape[0] != pred.shape[0]:
        raise ValueError(
            f"Shape of labels {label.shape[0]} does not match shape of predictions {pred.shape[0]}"
        )


def plain(value):
    """A NumPy scalar as a number of Python, which prints as its digits alone; anything else as it is."""
    return value.item() if isinstance(value, numpy.generic) else value


class EvalMetric:
    """Base of all metrics. Subclasses define `update` and call `_add(total, count)` in it.

    `output_names`, `label_names`: which entries `update_dict` picks, and in which order; all of them by
    default. `has_global_stats`: whether the metric counts for `get_global`, too. Further keyword arguments
    appear in `get_config`.

    Examples
    --------
    >>> class Largest(metric.EvalMetric):
    ...     def update(self, labels, preds):
    ...         self.sum_metric = max(self.sum_metric, float(preds[0].max().asscalar()))
    ...         self.num_inst = 1
    >>> measure = Largest("largest")
    >>> measure.update([], [nd.array([1, 5, 2])])
    >>> measure.get()
    ('largest', 5.0)
    """

    _has_global_stats = False

    def __init__(self, name, output_names=None, label_names=None, **kwargs):
        self._has_global_stats = kwargs.pop("has_global_stats", self._has_global_stats)
        self.name = str(name)
        self.output_names = output_names
        self.label_names = label_names
        self._kwargs = kwargs
        self.reset()

    def __str__(self):
        return f"EvalMetric: {dict(self.get_name_value())}"

    def get_config(self):
        """What `metric.create` makes such a metric of, as a dict; as in MXNet without `average`, and without
        the axis of Perplexity.
        """
        return {
            **self._kwargs,
            "metric": type(self).__name__,
            "name": self.name,
            "output_names": self.output_names,
            "label_names": self.label_names,
        }

    def update(self, labels, preds):
        """Takes in one batch: lists of arrays of equal length, or one array each."""
        raise NotImplementedError(f"{type(self).__name__} must define update(labels, preds)")

    def update_dict(self, label, pred):
        """As `update`, with dicts from names to arrays. KeyError: a name of this metric is missing."""
        preds = (
            [pred[name] for name in self.output_names]
            if self.output_names is not None
            else list(pred.values())
        )
        labels = (
            [label[name] for name in self.label_names]
            if self.label_names is not None
            else list(label.values())
        )
        self.update(labels, preds)

    def reset(self):
        """Forgets everything."""
        self.num_inst = 0
        self.sum_metric = 0.0
        self.global_num_inst = 0
        self.global_sum_metric = 0.0

    def reset_local(self):
        """Forgets the local figures; the global ones stay."""
        self.num_inst = 0
        self.sum_metric = 0.0

    def get(self):
        """(name, value) since the last `reset_local` or `reset`: a Python number, nan before any update."""
        return self.name, self._value(self.sum_metric, self.num_inst)

    def get_global(self):
        """(name, value) since the last `reset`; as `get`, where a metric keeps no global figures."""
        if not self._has_global_stats:
            return self.get()
        return self.name, self._value(self.global_sum_metric, self.global_num_inst)

    def get_name_value(self):
        """As `get`, as a list of pairs."""
        return as_pairs(*self.get())

    def get_global_name_value(self):
        """As `get_global`, as a list of pairs."""
        return as_pairs(*self.get_global())

    def _value(self, total, count):
        return plain(total / count) if count else math.nan

    def _add(self, total, count):
        self.sum_metric += total
        self.num_inst += count
        self.global_sum_metric += total
        self.global_num_inst += count


class CountingMetric(EvalMetric):
    """Base of the metrics that are here."""

    _has_global_stats = True


def as_pairs(names, values):
    return list(zip(as_list(names), map(plain, as_list(values))))


register = get_register_func(EvalMetric, "metric")
alias = get_alias_func(EvalMetric, "metric")
create_registered = get_create_func(EvalMetric, "metric")
register.__doc__ += """

Examples
--------
>>> @metric.register
... class Count(metric.EvalMetric):
...     def __init__(self, name="count"):
...         super().__init__(name)
...     def update(self, labels, preds):
...         self.sum_metric, self.num_inst = self.sum_metric + len(labels[0]), 1
>>> counted = metric.create("count")
>>> counted.update([nd.zeros((3,))], [nd.zeros((3, 2))])
>>> counted.get()
('count', 3)
"""
alias.__doc__ += """

Examples
--------
>>> @metric.alias("distance", "l1")
... class Distance(metric.MAE):
...     pass
>>> isinstance(metric.create("l1"), Distance)
True
"""
