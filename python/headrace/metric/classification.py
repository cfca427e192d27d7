"""Metrics of predicted classes."""

import math

import numpy

from .base import CountingMetric, alias, check_sizes, pairs, register


@register
@alias("acc")
class Accuracy(CountingMetric):
    """The share of right predictions.

    Predictions are class numbers in the shape of the labels, or scores with the classes along `axis`.

    Examples
    --------
    >>> measure = metric.Accuracy()
    >>> labels, scores = nd.array([0, 1, 1]), nd.array([[0.9, 0.1], [0.4, 0.6], [0.7, 0.3]])
    >>> measure.update([labels], [scores])
    >>> measure.get()
    ('accuracy', 0.6666666666666666)
    """

    def __init__(self, axis=1, name="accuracy", output_names=None, label_names=None):
        super().__init__(name, output_names=output_names, label_names=label_names, axis=axis)
        self.axis = axis

    def update(self, labels, preds):
        for label, pred in pairs(labels, preds):
            if pred.shape != label.shape:
                pred = pred.argmax(axis=self.axis)
            label, pred = label.astype("int32").ravel(), pred.astype("int32").ravel()
            check_sizes(label, pred)
            self._add(numpy.float64((label == pred).sum()), len(label))


@register
@alias("top_k_accuracy", "top_k_acc")
class TopKAccuracy(CountingMetric):
    """The share of labels among the `top_k` (at least 2) classes with the highest scores. Scores are (N,
    classes); or a vector, whose places in ascending order are compared with the labels.

    Examples
    --------
    >>> measure = metric.TopKAccuracy(top_k=2)
    >>> labels, scores = nd.array([2, 0]), nd.array([[0.1, 0.5, 0.4], [0.2, 0.3, 0.5]])
    >>> measure.update([labels], [scores])
    >>> measure.get()
    ('top_k_accuracy_2', 0.5)
    """

    def __init__(self, top_k=1, name="top_k_accuracy", output_names=None, label_names=None):
        assert top_k > 1, "Please use Accuracy if top_k is no more than 1"
        super().__init__(f"{name}_{top_k}", output_names=output_names, label_names=label_names, top_k=top_k)
        self.top_k = top_k

    def update(self, labels, preds):
        for label, pred in pairs(labels, preds):
            if pred.ndim not in (1, 2):
                raise ValueError(f"TopKAccuracy: expected scores of shape (N, classes), got {pred.shape}")
            label = label.astype("int32").ravel()
            check_sizes(label, pred)
            if pred.ndim == 1:
                places = numpy.argsort(pred.astype("float32"), kind="stable")
                self._add(numpy.float64((places == label).sum()), len(label))
                continue
            k = min(self.top_k, pred.shape[1])
            best = numpy.argsort(pred.astype("float32"), axis=1, kind="stable")[:, -k:]
            self._add(numpy.float64((best == label[:, numpy.newaxis]).any(axis=1).sum()), len(label))


class _BinaryMetric(CountingMetric):
    """A figure of the confusion counts of a two-class problem; predictions are scores (N, 2).

    average='macro': mean of the figures of the single updates; 'micro': the figure of all counts together.
    ValueError: more than two distinct labels, or label and prediction sizes differ.
    """

    def __init__(self, name, output_names, label_names, average):
        self.average = average
        super().__init__(name, output_names=output_names, label_names=label_names)

    def reset(self):
        super().reset()
        self._counts = numpy.zeros(4)
        self._global_counts = numpy.zeros(4)

    def reset_local(self):
        super().reset_local()
        self._counts = numpy.zeros(4)

    def update(self, labels, preds):
        counts = numpy.zeros(4)
        for label, pred in pairs(labels, preds):
            counts += _confusion(label, pred, type(self).__name__)
        if self.average == "macro":
            self._add(self._figure(*counts), 1)
            return
        self._counts += counts
        self._global_counts += counts
        self.num_inst, self.global_num_inst = int(self._counts.sum()), int(self._global_counts.sum())
        self.sum_metric = self._figure(*self._counts) * self.num_inst
        self.global_sum_metric = self._figure(*self._global_counts) * self.global_num_inst


def _confusion(label, pred, name):
    """Counts (true positive, false positive, true negative, false negative); what is not 1 is negative."""
    if pred.ndim != 2:
        raise ValueError(f"{name}: expected scores of shape (N, 2), got {pred.shape}")
    chosen, label = pred.argmax(axis=1) == 1, label.astype("int32").ravel()
    check_sizes(label, chosen)
    if len(numpy.unique(label)) > 2:
        raise ValueError(
            f"{name} currently only supports binary classification; got labels {numpy.unique(label)}"
        )
    is_one = label == 1
    cases = [chosen & is_one, chosen & ~is_one, ~chosen & ~is_one, ~chosen & is_one]
    return numpy.array([case.sum() for case in cases], dtype=numpy.float64)


@register
class F1(_BinaryMetric):
    """The F1 score, 2 * precision * recall / (precision + recall), of a two-class problem.

    Examples
    --------
    >>> measure = metric.F1()
    >>> labels, scores = nd.array([0, 1, 1]), nd.array([[0.9, 0.1], [0.4, 0.6], [0.7, 0.3]])
    >>> measure.update([labels], [scores])
    >>> measure.get()
    ('f1', 0.6666666666666666)
    """

    def __init__(self, name="f1", output_names=None, label_names=None, average="macro"):
        super().__init__(name, output_names, label_names, average)

    @staticmethod
    def _figure(true_positive, false_positive, _, false_negative):
        wrong = false_positive + false_negative
        return 2 * true_positive / (2 * true_positive + wrong) if true_positive else numpy.float64(0)


@register
class MCC(_BinaryMetric):
    """Matthews' correlation coefficient of a two-class problem.

    Examples
    --------
    >>> measure = metric.MCC()
    >>> labels, scores = nd.array([0, 1, 1]), nd.array([[0.9, 0.1], [0.4, 0.6], [0.7, 0.3]])
    >>> measure.update([labels], [scores])
    >>> measure.get()
    ('mcc', 0.5)
    """

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
        scale = math.sqrt(math.prod(factor for factor in factors if factor))
        return (true_positive * true_negative - false_positive * false_negative) / scale


@register
class PCC(CountingMetric):
    """The correlation of a confusion matrix: Matthews' coefficient for any number of classes.

    Predictions are scores (N, classes), or classes in the shape of the labels. All counts since the last
    reset go into one matrix.

    Examples
    --------
    >>> measure = metric.PCC()
    >>> labels, scores = nd.array([0, 1, 1]), nd.array([[0.9, 0.1], [0.4, 0.6], [0.7, 0.3]])
    >>> measure.update([labels], [scores])
    >>> measure.get()
    ('pcc', 0.5)
    """

    def __init__(self, name="pcc", output_names=None, label_names=None, has_global_stats=True):
        super().__init__(name, output_names=output_names, label_names=label_names)

    def reset(self):
        super().reset()
        self._counts = numpy.zeros((0, 0))
        self._global_counts = numpy.zeros((0, 0))

    def reset_local(self):
        super().reset_local()
        self._counts = numpy.zeros((0, 0))

    def update(self, labels, preds):
        for label, pred in pairs(labels, preds):
            is_scores = pred.shape != label.shape
            chosen = (pred.argmax(axis=1) if is_scores else pred.astype("int64")).ravel()
            label = label.astype("int64").ravel()
            check_sizes(label, chosen)
            classes = 1 + int(max(label.max(initial=-1), chosen.max(initial=-1)))
            counts = numpy.zeros((classes, classes))
            numpy.add.at(counts, (chosen, label), 1)
            self._counts = _added(self._counts, counts)
            self._global_counts = _added(self._global_counts, counts)
        self.num_inst += 1
        self.global_num_inst += 1
        self.sum_metric = _matrix_correlation(self._counts) * self.num_inst
        self.global_sum_metric = _matrix_correlation(self._global_counts) * self.global_num_inst


def _added(a, b):
    """The sum of two matrices, the smaller one filled up with zeros."""
    extent = max(len(a), len(b))
    return sum(numpy.pad(m, (0, extent - len(m))) for m in (a, b))


def _matrix_correlation(counts):
    """Gorodkin 2004; nan where all labels or all predictions are equal."""
    n, chosen, labels = counts.sum(), counts.sum(axis=1), counts.sum(axis=0)
    scale = numpy.sqrt((n * n - (chosen * chosen).sum()) * (n * n - (labels * labels).sum()))
    return (n * counts.trace() - (chosen * labels).sum()) / scale if scale else math.nan


class _LabelProbability(CountingMetric):
    """Mean of -log(probability of the label + eps); predictions are probabilities (N, classes)."""

    def __init__(self, eps, name, output_names, label_names):
        super().__init__(name, output_names=output_names, label_names=label_names, eps=eps)
        self.eps = eps

    def update(self, labels, preds):
        for label, pred in pairs(labels, preds):
            label = label.ravel()
            check_sizes(label, pred)
            chosen = pred[numpy.arange(len(label)), label.astype("int64")]
            self._add((-numpy.log(chosen + self.eps)).sum(dtype=numpy.float64), len(label))


@register
@alias("ce")
class CrossEntropy(_LabelProbability):
    """Mean of -log(p[label] + eps) over the samples.

    Examples
    --------
    >>> measure = metric.CrossEntropy()
    >>> labels, scores = nd.array([0, 1, 1]), nd.array([[0.9, 0.1], [0.4, 0.6], [0.7, 0.3]])
    >>> measure.update([labels], [scores])
    >>> measure.get()
    ('cross-entropy', 0.6067196453611056)
    """

    def __init__(self, eps=1e-12, name="cross-entropy", output_names=None, label_names=None):
        super().__init__(eps, name, output_names, label_names)


@register
@alias("nll_loss")
class NegativeLogLikelihood(_LabelProbability):
    """Mean of -log(p[label] + eps) over the samples.

    Examples
    --------
    >>> measure = metric.NegativeLogLikelihood()
    >>> labels, scores = nd.array([0, 1, 1]), nd.array([[0.9, 0.1], [0.4, 0.6], [0.7, 0.3]])
    >>> measure.update([labels], [scores])
    >>> measure.get()
    ('nll-loss', 0.6067196453611056)
    """

    def __init__(self, eps=1e-12, name="nll-loss", output_names=None, label_names=None):
        super().__init__(eps, name, output_names, label_names)


@register
class Perplexity(CountingMetric):
    """exp of the mean of -log(max(p[label], 1e-10)), leaving out labels equal to `ignore_label`.

    Predictions are probabilities with the classes along `axis`, the last by default.

    Examples
    --------
    >>> measure = metric.Perplexity(ignore_label=None)
    >>> labels, scores = nd.array([0, 1, 1]), nd.array([[0.9, 0.1], [0.4, 0.6], [0.7, 0.3]])
    >>> measure.update([labels], [scores])
    >>> measure.get()
    ('perplexity', 1.834404022475901)
    """

    def __init__(self, ignore_label, axis=-1, name="perplexity", output_names=None, label_names=None):
        super().__init__(name, output_names=output_names, label_names=label_names, ignore_label=ignore_label)
        self.ignore_label = ignore_label
        self.axis = axis

    def update(self, labels, preds):
        for label, pred in pairs(labels, preds):
            scores = numpy.moveaxis(pred, self.axis, -1)
            scores = scores.reshape(-1, scores.shape[-1])
            label = label.ravel()
            assert len(label) == len(scores), f"shape mismatch: {label.shape} vs. {pred.shape}"
            kept = slice(None) if self.ignore_label is None else label != self.ignore_label
            places = label.astype("int64").clip(0, scores.shape[1] - 1)
            chosen = scores[numpy.arange(len(label)), places][kept]
            self._add(-numpy.log(numpy.maximum(chosen, 1e-10)).sum(dtype=numpy.float64), len(chosen))

    def _value(self, total, count):
        return math.exp(total / count) if count else math.nan
