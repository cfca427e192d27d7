"""Metrics: running figures of how well predictions fit labels.

A metric takes labels and predictions batch by batch (`update`) and gives its name and value (`get`). It keeps
two pairs of a sum and a count: the local ones, which `reset_local` clears, and the global ones, which only
`reset` does. Arrays may be nd, np or NumPy arrays, alone or in lists. Every update waits for the arrays that
it is given.
"""

import math

import numpy

from .ndarray import NDArray

__all__ = [
    "EvalMetric",
    "CompositeEvalMetric",
    "Accuracy",
    "TopKAccuracy",
    "F1",
    "MCC",
    "Perplexity",
    "MAE",
    "MSE",
    "RMSE",
    "CrossEntropy",
    "NegativeLogLikelihood",
    "PearsonCorrelation",
    "Loss",
    "CustomMetric",
    "np",
    "create",
    "register",
    "alias",
    "check_label_shapes",
]

_registry = {}


def register(klass, name=None):
    """Makes `create(name)` find the metric class `klass`; by default under its own name in lower case."""
    _registry[(name or klass.__name__).lower()] = klass
    return klass


def alias(*aliases):
    """A class decorator: `create` finds the class under these names too."""

    def register_all(klass):
        for name in aliases:
            register(klass, name)
        return klass

    return register_all


def create(metric, *args, **kwargs):
    """The metric that `metric` describes: a registered name, a function (label, prediction) -> number, a
    metric, or a list of these, which gives a CompositeEvalMetric. The other arguments go to the class.

    AssertionError: unknown name or wrong type.
    """
    if isinstance(metric, EvalMetric):
        return metric
    if isinstance(metric, (list, tuple)):
        return CompositeEvalMetric([create(child, *args, **kwargs) for child in metric])
    if callable(metric):
        return CustomMetric(metric, *args, **kwargs)
    assert isinstance(metric, str), (
        f"metric must be of string type, a function or a list, got {type(metric).__name__}"
    )
    assert metric.lower() in _registry, (
        f"{metric} is not registered. Please register with metric.register first; "
        f"known: {', '.join(sorted(_registry))}"
    )
    return _registry[metric.lower()](*args, **kwargs)


def np(numpy_feval, name=None, allow_extra_outputs=False):
    """A CustomMetric of a function that takes a label and a prediction as NumPy arrays."""

    def feval(label, pred):
        return numpy_feval(label, pred)

    feval.__name__ = numpy_feval.__name__
    return CustomMetric(feval, name, allow_extra_outputs)


def check_label_shapes(labels, preds, wrap=False, shape=False):
    """ValueError unless there are as many labels as predictions; with `shape`, unless their shapes are equal.

    With `wrap`, single arrays come back in lists. Gives `(labels, preds)`.
    """
    expected, got = (labels.shape, preds.shape) if shape else (len(labels), len(preds))
    if expected != got:
        raise ValueError(f"Shape of labels {expected} does not match shape of predictions {got}")
    if wrap:
        labels, preds = _as_list(labels), _as_list(preds)
    return labels, preds


def _as_list(arrays):
    return list(arrays) if isinstance(arrays, (list, tuple)) else [arrays]


def _host(array):
    return array.asnumpy() if isinstance(array, NDArray) else numpy.asarray(array)


def _pairs(labels, preds):
    """The labels and predictions of an update as pairs of NumPy arrays."""
    labels, preds = _as_list(labels), _as_list(preds)
    check_label_shapes(labels, preds)
    return [(_host(label), _host(pred)) for label, pred in zip(labels, preds)]


def _check_sizes(label, pred):
    if label.shape[0] != pred.shape[0]:
        raise ValueError(
            f"Shape of labels {label.shape[0]} does not match shape of predictions {pred.shape[0]}"
        )


class EvalMetric:
    """Base of all metrics. Subclasses define `update` and call `_add(total, count)` in it.

    `output_names`, `label_names`: which entries `update_dict` picks, and in which order; all of them by
    default. Further keyword arguments appear in `get_config`.
    """

    def __init__(self, name, output_names=None, label_names=None, **kwargs):
        kwargs.pop("has_global_stats", None)
        self.name = str(name)
        self.output_names = output_names
        self.label_names = label_names
        self._kwargs = kwargs
        self.reset()

    def __str__(self):
        return f"EvalMetric: {dict(self.get_name_value())}"

    def get_config(self):
        """The arguments that make this metric again, as a dict."""
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
        self.reset_local()
        self.global_num_inst = 0
        self.global_sum_metric = 0.0

    def reset_local(self):
        """Forgets the local figures; the global ones stay."""
        self.num_inst = 0
        self.sum_metric = 0.0

    def get(self):
        """(name, value) since the last `reset_local` or `reset`; nan before any update."""
        return self.name, self._value(self.sum_metric, self.num_inst)

    def get_global(self):
        """(name, value) since the last `reset`."""
        return self.name, self._value(self.global_sum_metric, self.global_num_inst)

    def get_name_value(self):
        """As `get`, as a list of pairs."""
        return _as_pairs(*self.get())

    def get_global_name_value(self):
        """As `get_global`, as a list of pairs."""
        return _as_pairs(*self.get_global())

    def _value(self, total, count):
        return total / count if count else math.nan

    def _add(self, total, count):
        self.sum_metric += total
        self.num_inst += count
        self.global_sum_metric += total
        self.global_num_inst += count


def _as_pairs(names, values):
    return list(zip(_as_list(names), _as_list(values)))


@register
@alias("composite")
class CompositeEvalMetric(EvalMetric):
    """Several metrics as one; names and values come as lists."""

    def __init__(self, metrics=None, name="composite", output_names=None, label_names=None):
        self.metrics = [create(metric) for metric in metrics or []]
        super().__init__(name, output_names=output_names, label_names=label_names)

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

    def update_dict(self, label, pred):
        if self.label_names is not None:
            label = {name: label[name] for name in self.label_names}
        if self.output_names is not None:
            pred = {name: pred[name] for name in self.output_names}
        for metric in self.metrics:
            metric.update_dict(label, pred)

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
            names.extend(_as_list(name))
            values.extend(_as_list(value))
        return names, values


@register
@alias("acc")
class Accuracy(EvalMetric):
    """The share of right predictions.

    Predictions are class numbers in the shape of the labels, or scores with the classes along `axis`.
    """

    def __init__(self, axis=1, name="accuracy", output_names=None, label_names=None):
        super().__init__(name, output_names=output_names, label_names=label_names, axis=axis)
        self.axis = axis

    def update(self, labels, preds):
        for label, pred in _pairs(labels, preds):
            if pred.shape != label.shape:
                pred = pred.argmax(axis=self.axis)
            label, pred = label.astype("int32").ravel(), pred.astype("int32").ravel()
            _check_sizes(label, pred)
            self._add(numpy.float64((label == pred).sum()), len(label))


@register
@alias("top_k_accuracy", "top_k_acc")
class TopKAccuracy(EvalMetric):
    """The share of labels among the `top_k` (at least 2) classes with the highest scores. Scores are (N,
    classes).
    """

    def __init__(self, top_k=1, name="top_k_accuracy", output_names=None, label_names=None):
        assert top_k > 1, "Please use Accuracy if top_k is no more than 1"
        super().__init__(f"{name}_{top_k}", output_names=output_names, label_names=label_names, top_k=top_k)
        self.top_k = top_k

    def update(self, labels, preds):
        for label, pred in _pairs(labels, preds):
            if pred.ndim != 2:
                raise ValueError(f"TopKAccuracy: expected scores of shape (N, classes), got {pred.shape}")
            label = label.astype("int32").ravel()
            _check_sizes(label, pred)
            k = min(self.top_k, pred.shape[1])
            best = numpy.argsort(pred.astype("float32"), axis=1, kind="stable")[:, -k:]
            self._add(numpy.float64((best == label[:, numpy.newaxis]).any(axis=1).sum()), len(label))


class _BinaryMetric(EvalMetric):
    """A figure of the confusion counts of a two-class problem; predictions are scores (N, 2).

    average='macro': mean of the figures of the single updates; 'micro': the figure of all counts together.
    ValueError: more than two distinct labels, or label and prediction sizes differ.
    """

    def __init__(self, name, output_names, label_names, average):
        self.average = average
        super().__init__(name, output_names=output_names, label_names=label_names)

    def reset(self):
        super().reset()
        self._global_counts = numpy.zeros(4)

    def reset_local(self):
        super().reset_local()
        self._counts = numpy.zeros(4)

    def update(self, labels, preds):
        counts = sum(_confusion(label, pred, type(self).__name__) for label, pred in _pairs(labels, preds))
        if self.average == "macro":
            self._add(self._figure(*counts), 1)
            return
        self._counts += counts
        self._global_counts += counts
        self.num_inst, self.global_num_inst = int(self._counts.sum()), int(self._global_counts.sum())
        self.sum_metric = self._figure(*self._counts) * self.num_inst
        self.global_sum_metric = self._figure(*self._global_counts) * self.global_num_inst


def _confusion(label, pred, name):
    """Counts (true positive, false positive, true negative, false negative)."""
    if pred.ndim != 2:
        raise ValueError(f"{name}: expected scores of shape (N, 2), got {pred.shape}")
    chosen, label = pred.argmax(axis=1), label.astype("int32").ravel()
    _check_sizes(label, chosen)
    if len(numpy.unique(label)) > 2:
        raise ValueError(
            f"{name} currently only supports binary classification; got labels {numpy.unique(label)}"
        )
    cases = [(chosen == 1) & (label == 1), (chosen == 1) & (label == 0)]
    cases += [(chosen == 0) & (label == 0), (chosen == 0) & (label == 1)]
    return numpy.array([case.sum() for case in cases], dtype=numpy.float64)


@register
class F1(_BinaryMetric):
    """The F1 score, 2 * precision * recall / (precision + recall), of a two-class problem."""

    def __init__(self, name="f1", output_names=None, label_names=None, average="macro"):
        super().__init__(name, output_names, label_names, average)

    @staticmethod
    def _figure(true_positive, false_positive, _, false_negative):
        wrong = false_positive + false_negative
        return 2 * true_positive / (2 * true_positive + wrong) if true_positive else numpy.float64(0)


@register
class MCC(_BinaryMetric):
    """Matthews' correlation coefficient of a two-class problem."""

    def __init__(self, name="mcc", output_names=None, label_names=None, average="macro"):
        super().__init__(name, output_names, label_names, average)

    @staticmethod
    def _figure(true_positive, false_positive, true_negative, false_negative):
        if not true_positive + false_positive + true_negative + false_negative:
            return numpy.float64(0)
        factors = [
            true_positive + false_positive,
            true_positive + false_negative,
            true_negative + false_positive,
            true_negative + false_negative,
        ]
        scale = math.prod(math.sqrt(factor) for factor in factors if factor)
        return (true_positive * true_negative - false_positive * false_negative) / scale


class _LabelProbability(EvalMetric):
    """Mean of -log(probability of the label + eps); predictions are probabilities (N, classes)."""

    def __init__(self, eps, name, output_names, label_names):
        super().__init__(name, output_names=output_names, label_names=label_names, eps=eps)
        self.eps = eps

    def update(self, labels, preds):
        for label, pred in _pairs(labels, preds):
            label = label.ravel()
            _check_sizes(label, pred)
            chosen = pred[numpy.arange(len(label)), label.astype("int64")]
            self._add((-numpy.log(chosen + self.eps)).sum(dtype=numpy.float64), len(label))


@register
@alias("ce")
class CrossEntropy(_LabelProbability):
    """Mean of -log(p[label] + eps) over the samples."""

    def __init__(self, eps=1e-12, name="cross-entropy", output_names=None, label_names=None):
        super().__init__(eps, name, output_names, label_names)


@register
@alias("nll_loss")
class NegativeLogLikelihood(_LabelProbability):
    """Mean of -log(p[label] + eps) over the samples."""

    def __init__(self, eps=1e-12, name="nll-loss", output_names=None, label_names=None):
        super().__init__(eps, name, output_names, label_names)


@register
class Perplexity(EvalMetric):
    """exp of the mean of -log(max(p[label], 1e-10)), leaving out labels equal to `ignore_label`.

    Predictions are probabilities with the classes along `axis`, the last by default.
    """

    def __init__(self, ignore_label, axis=-1, name="perplexity", output_names=None, label_names=None):
        super().__init__(name, output_names=output_names, label_names=label_names, ignore_label=ignore_label)
        self.ignore_label = ignore_label
        self.axis = axis

    def update(self, labels, preds):
        for label, pred in _pairs(labels, preds):
            scores = numpy.moveaxis(pred, self.axis, -1)
            scores = scores.reshape(-1, scores.shape[-1])
            label = label.astype("int64").ravel()
            assert len(label) == len(scores), f"shape mismatch: {label.shape} vs. {pred.shape}"
            kept = slice(None) if self.ignore_label is None else label != self.ignore_label
            chosen = scores[numpy.arange(len(label)), label.clip(0, scores.shape[1] - 1)][kept]
            self._add(-numpy.log(numpy.maximum(chosen, 1e-10)).sum(dtype=numpy.float64), len(chosen))

    def _value(self, total, count):
        return math.exp(total / count) if count else math.nan


class _Regression(EvalMetric):
    """Mean over the updates of a figure of label - prediction; one-dimensional arrays count as columns."""

    def update(self, labels, preds):
        for label, pred in _pairs(labels, preds):
            label, pred = (a.reshape(-1, 1) if a.ndim == 1 else a for a in (label, pred))
            self._add(numpy.float64(self._figure(label - pred)), 1)


@register
class MAE(_Regression):
    """Mean absolute error: the mean over the updates of each update's mean."""

    def __init__(self, name="mae", output_names=None, label_names=None):
        super().__init__(name, output_names=output_names, label_names=label_names)

    @staticmethod
    def _figure(difference):
        return numpy.abs(difference).mean()


@register
class MSE(_Regression):
    """Mean squared error: the mean over the updates of each update's mean."""

    def __init__(self, name="mse", output_names=None, label_names=None):
        super().__init__(name, output_names=output_names, label_names=label_names)

    @staticmethod
    def _figure(difference):
        return numpy.square(difference).mean()


@register
class RMSE(_Regression):
    """Root mean squared error: the mean over the updates of each update's root."""

    def __init__(self, name="rmse", output_names=None, label_names=None):
        super().__init__(name, output_names=output_names, label_names=label_names)

    @staticmethod
    def _figure(difference):
        return numpy.sqrt(numpy.square(difference).mean())


@register
@alias("pearsonr")
class PearsonCorrelation(EvalMetric):
    """Pearson's correlation of labels and predictions of equal shape.

    average='macro': mean of the correlations of the single updates; 'micro': correlation of all values
    together.
    """

    def __init__(self, name="pearsonr", output_names=None, label_names=None, average="macro"):
        self.average = average
        super().__init__(name, output_names=output_names, label_names=label_names)

    def reset(self):
        super().reset()
        self._global_moments = numpy.zeros(6)

    def reset_local(self):
        super().reset_local()
        self._moments = numpy.zeros(6)

    def update(self, labels, preds):
        for label, pred in _pairs(labels, preds):
            check_label_shapes(label, pred, shape=True)
            x, y = label.ravel().astype("float64"), pred.ravel().astype("float64")
            if self.average == "macro":
                self._add(numpy.corrcoef(y, x)[0, 1], 1)
                continue
            moments = numpy.array([len(x), x.sum(), y.sum(), (x * x).sum(), (y * y).sum(), (x * y).sum()])
            self._moments += moments
            self._global_moments += moments
            self.num_inst, self.global_num_inst = 1, 1
            self.sum_metric = _correlation(*self._moments)
            self.global_sum_metric = _correlation(*self._global_moments)


def _correlation(n, x, y, xx, yy, xy):
    return (n * xy - x * y) / numpy.sqrt((n * xx - x * x) * (n * yy - y * y))


@register
class Loss(EvalMetric):
    """Mean of all values of the predictions, which are losses; labels are not looked at."""

    def __init__(self, name="loss", output_names=None, label_names=None):
        super().__init__(name, output_names=output_names, label_names=label_names)

    def update(self, _, preds):
        for pred in _as_list(preds):
            values = _host(pred)
            self._add(numpy.float64(values.sum()), values.size)


@register
class CustomMetric(EvalMetric):
    """Mean of `feval(label, pred)`, which gives a number, or a pair (sum, count); it is called with NumPy
    arrays.

    ValueError: numbers of labels and predictions differ, unless `allow_extra_outputs`.
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
        labels, preds = _as_list(labels), _as_list(preds)
        if not self._allow_extra_outputs:
            check_label_shapes(labels, preds)
        for label, pred in zip(labels, preds):
            result = self._feval(_host(label), _host(pred))
            self._add(*(result if isinstance(result, tuple) else (result, 1)))
