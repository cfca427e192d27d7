"""Metrics of predicted numbers, and of losses."""

import numpy

from .._lists import as_list
from .base import CountingMetric, alias, check_label_shapes, host, pairs, register


class _Regression(CountingMetric):
    """Mean over the updates of a figure of label - prediction; one-dimensional arrays count as columns."""

    def update(self, labels, preds):
        for label, pred in pairs(labels, preds):
            label, pred = (a.reshape(-1, 1) if a.ndim == 1 else a for a in (label, pred))
            self._add(numpy.float64(self._figure(label - pred)), 1)


@register
class MAE(_Regression):
    """Mean absolute error: the mean over the updates of each update's mean.

    Examples
    --------
    >>> measure = metric.MAE()
    >>> measure.update([nd.array([1, 2, 3])], [nd.array([1, 3, 5])])
    >>> measure.get()
    ('mae', 1.0)
    """

    def __init__(self, name="mae", output_names=None, label_names=None):
        super().__init__(name, output_names=output_names, label_names=label_names)

    @staticmethod
    def _figure(difference):
        return numpy.abs(difference).mean()


@register
class MSE(_Regression):
    """Mean squared error: the mean over the updates of each update's mean.

    Examples
    --------
    >>> measure = metric.MSE()
    >>> measure.update([nd.array([1, 2, 3])], [nd.array([1, 3, 5])])
    >>> measure.get()
    ('mse', 1.6666666269302368)
    """

    def __init__(self, name="mse", output_names=None, label_names=None):
        super().__init__(name, output_names=output_names, label_names=label_names)

    @staticmethod
    def _figure(difference):
        return numpy.square(difference).mean()


@register
class RMSE(_Regression):
    """Root mean squared error: the mean over the updates of each update's root.

    Examples
    --------
    >>> measure = metric.RMSE()
    >>> measure.update([nd.array([1, 2, 3])], [nd.array([1, 3, 5])])
    >>> measure.get()
    ('rmse', 1.29099440574646)
    """

    def __init__(self, name="rmse", output_names=None, label_names=None):
        super().__init__(name, output_names=output_names, label_names=label_names)

    @staticmethod
    def _figure(difference):
        return numpy.sqrt(numpy.square(difference).mean())


@register
@alias("pearsonr")
class PearsonCorrelation(CountingMetric):
    """Pearson's correlation of labels and predictions of equal shape.

    average='macro': mean of the correlations of the single updates; 'micro': correlation of all values
    together.

    Examples
    --------
    >>> measure = metric.PearsonCorrelation()
    >>> measure.update([nd.array([1, 2, 3])], [nd.array([1, 3, 4])])
    >>> measure.get()
    ('pearsonr', 0.9819805060619656)
    """

    def __init__(self, name="pearsonr", output_names=None, label_names=None, average="macro"):
        self.average = average
        super().__init__(name, output_names=output_names, label_names=label_names)

    def reset(self):
        super().reset()
        self._moments = numpy.zeros(6)
        self._global_moments = numpy.zeros(6)

    def reset_local(self):
        super().reset_local()
        self._moments = numpy.zeros(6)

    def update(self, labels, preds):
        for label, pred in pairs(labels, preds):
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
class Loss(CountingMetric):
    """Mean of all values of the predictions, which are losses; labels are not looked at.

    Examples
    --------
    >>> measure = metric.Loss()
    >>> measure.update(None, [nd.array([1, 3])])
    >>> measure.get()
    ('loss', 2.0)
    """

    def __init__(self, name="loss", output_names=None, label_names=None):
        super().__init__(name, output_names=output_names, label_names=label_names)

    def update(self, _, preds):
        for pred in as_list(preds):
            values = host(pred)
            self._add(numpy.float64(values.sum()), values.size)


@register
class Torch(Loss):
    """Loss by another name.

    Examples
    --------
    >>> measure = metric.Torch()
    >>> measure.update(None, [nd.array([1, 3])])
    >>> measure.get()
    ('torch', 2.0)
    """

    def __init__(self, name="torch", output_names=None, label_names=None):
        super().__init__(name, output_names, label_names)


@register
class Caffe(Torch):
    """Loss by another name.

    Examples
    --------
    >>> measure = metric.Caffe()
    >>> measure.update(None, [nd.array([1, 3])])
    >>> measure.get()
    ('caffe', 2.0)
    """

    def __init__(self, name="caffe", output_names=None, label_names=None):
        super().__init__(name, output_names, label_names)
