"""Losses. Each gives one value per sample: the mean over all axes but `batch_axis`, unless it says otherwise.

`weight` scales the loss of every element, `sample_weight` (an array that broadcasts) that of single elements
or samples. The same classes work on nd arrays and, in np mode, on np arrays.
"""

import functools
import math

from .. import ndarray as nd
from .. import numpy as mnp
from .. import numpy_extension as npx
from ..base import MXNetError, numeric_types
from ..util import is_np_array
from .layer import Layer

__all__ = [
    "CosineEmbeddingLoss",
    "HingeLoss",
    "HuberLoss",
    "KLDivLoss",
    "L1Loss",
    "L2Loss",
    "LogisticLoss",
    "Loss",
    "PoissonNLLLoss",
    "SigmoidBCELoss",
    "SigmoidBinaryCrossEntropyLoss",
    "SoftmaxCELoss",
    "SoftmaxCrossEntropyLoss",
    "SquaredHingeLoss",
    "TripletLoss",
]


def _math():
    """The namespace with abs, exp, log, square, maximum, where, sum."""
    return mnp if is_np_array() else nd


def _nn():
    """The namespace with relu, log_softmax, pick."""
    return npx if is_np_array() else nd


def _softplus(x):
    return npx.activation(x, act_type="softrelu") if is_np_array() else nd.Activation(x, act_type="softrelu")


@functools.cache
def _other_axes(batch_axis, ndim):
    """All of `ndim` axes but `batch_axis`."""
    return tuple(axis for axis in range(ndim) if axis != batch_axis % ndim)


class Loss(Layer):
    """Base class: keeps `weight` and `batch_axis`; subclasses define forward(pred, label,
    sample_weight=None).
    """

    def __init__(self, weight, batch_axis, prefix=None, params=None):
        super().__init__(prefix=prefix, params=params)
        self._weight = weight
        self._batch_axis = batch_axis

    def __repr__(self):
        return f"{type(self).__name__}(batch_axis={self._batch_axis}, w={self._weight})"

    def _like(self, label, pred):
        """`label` in the shape of `pred`. MXNetError: the numbers of elements differ."""
        if label.shape == pred.shape:
            return label
        if label.size != pred.size:
            raise MXNetError(
                f"{type(self).__name__}: expected a label with the {pred.size} elements of the prediction "
                f"{pred.shape}, got {label.shape}; labels and predictions must pair up one to one"
            )
        return label.reshape(pred.shape)

    def _weighted(self, loss, sample_weight, weight=None):
        weight = self._weight if weight is None else weight
        if sample_weight is not None:
            loss = loss * sample_weight
        if weight is not None and weight != 1:
            assert isinstance(weight, numeric_types), f"weight must be a number, got {type(weight).__name__}"
            loss = loss * weight
        return loss

    def _mean(self, loss):
        axes = _other_axes(self._batch_axis, loss.ndim)
        return loss.mean(axis=axes) if axes else loss

    def _sum(self, loss):
        axes = _other_axes(self._batch_axis, loss.ndim)
        return loss.sum(axis=axes) if axes else loss


class L2Loss(Loss):
    """`weight / 2 (label - pred)^2`."""

    def __init__(self, weight=1.0, batch_axis=0, prefix=None, params=None):
        super().__init__(weight, batch_axis, prefix, params)

    def forward(self, pred, label, sample_weight=None):
        loss = _math().square(self._like(label, pred) - pred)
        return self._mean(self._weighted(loss, sample_weight, self._weight / 2))


class L1Loss(Loss):
    """`abs(label - pred)`."""

    def __init__(self, weight=None, batch_axis=0, prefix=None, params=None):
        super().__init__(weight, batch_axis, prefix, params)

    def forward(self, pred, label, sample_weight=None):
        return self._mean(self._weighted(_math().abs(self._like(label, pred) - pred), sample_weight))


class SigmoidBinaryCrossEntropyLoss(Loss):
    """Cross-entropy of independent yes-or-no labels, from scores or (`from_sigmoid`) from probabilities.

    `pos_weight` (an array that broadcasts) scales the part of positive labels.
    """

    def __init__(self, from_sigmoid=False, weight=None, batch_axis=0, prefix=None, params=None):
        super().__init__(weight, batch_axis, prefix, params)
        self._from_sigmoid = from_sigmoid

    def forward(self, pred, label, sample_weight=None, pos_weight=None):
        label = self._like(label, pred)
        per_element = self._from_probability if self._from_sigmoid else self._from_score
        return self._mean(self._weighted(per_element(pred, label, pos_weight), sample_weight))

    @staticmethod
    def _from_score(pred, label, pos_weight):
        relu, softplus = _nn().relu, _softplus(-_math().abs(pred))
        if pos_weight is None:
            return relu(pred) - pred * label + softplus
        return pred - pred * label + (1 + label * (pos_weight - 1)) * (softplus + relu(-pred))

    @staticmethod
    def _from_probability(pred, label, pos_weight):
        log, tiny = _math().log, 1e-12
        positive = log(pred + tiny) * label
        if pos_weight is not None:
            positive = positive * pos_weight
        return -(positive + log(1.0 - pred + tiny) * (1.0 - label))


class SoftmaxCrossEntropyLoss(Loss):
    """Cross-entropy of the softmax over `axis`; labels are class numbers, or (`sparse_label` False)
    probabilities.

    `from_logits` says that `pred` is log-probabilities already. Class numbers outside are clipped.
    """

    def __init__(
        self,
        axis=-1,
        sparse_label=True,
        from_logits=False,
        weight=None,
        batch_axis=0,
        prefix=None,
        params=None,
    ):
        super().__init__(weight, batch_axis, prefix, params)
        self._axis = axis
        self._sparse_label = sparse_label
        self._from_logits = from_logits

    def forward(self, pred, label, sample_weight=None):
        if not self._from_logits:
            pred = _nn().log_softmax(pred, axis=self._axis)
        if self._sparse_label:
            loss = -_nn().pick(pred, label, axis=self._axis, keepdims=True)
        else:
            loss = -(pred * self._like(label, pred)).sum(axis=self._axis, keepdims=True)
        return self._mean(self._weighted(loss, sample_weight))


class KLDivLoss(Loss):
    """`label (log label - pred)` with `pred` log-probabilities (`from_logits`) or scores; the sum over
    non-batch axes.
    """

    def __init__(self, from_logits=True, axis=-1, weight=None, batch_axis=0, prefix=None, params=None):
        super().__init__(weight, batch_axis, prefix, params)
        self._from_logits = from_logits
        self._axis = axis

    def forward(self, pred, label, sample_weight=None):
        if not self._from_logits:
            pred = _nn().log_softmax(pred, axis=self._axis)
        return self._sum(self._weighted(label * (_math().log(label + 1e-12) - pred), sample_weight))


class HuberLoss(Loss):
    """Square of small differences, absolute value of those above `rho`."""

    def __init__(self, rho=1, weight=None, batch_axis=0, prefix=None, params=None):
        super().__init__(weight, batch_axis, prefix, params)
        self._rho = rho

    def forward(self, pred, label, sample_weight=None):
        m, rho = _math(), self._rho
        distance = m.abs(self._like(label, pred) - pred)
        loss = m.where(distance > rho, distance - 0.5 * rho, (0.5 / rho) * m.square(distance))
        return self._mean(self._weighted(loss, sample_weight))


class HingeLoss(Loss):
    """`max(0, margin - pred label)`, labels -1 and 1."""

    def __init__(self, margin=1, weight=None, batch_axis=0, prefix=None, params=None):
        super().__init__(weight, batch_axis, prefix, params)
        self._margin = margin

    def forward(self, pred, label, sample_weight=None):
        loss = _nn().relu(self._margin - pred * self._like(label, pred))
        return self._mean(self._weighted(loss, sample_weight))


class SquaredHingeLoss(HingeLoss):
    """`max(0, margin - pred label)^2`, labels -1 and 1."""

    def forward(self, pred, label, sample_weight=None):
        loss = _math().square(_nn().relu(self._margin - pred * self._like(label, pred)))
        return self._mean(self._weighted(loss, sample_weight))


class LogisticLoss(Loss):
    """`log(1 + exp(-pred label))` for labels -1 and 1 ('signed') or 0 and 1 ('binary'). ValueError: other
    formats.
    """

    def __init__(self, weight=None, batch_axis=0, label_format="signed", prefix=None, params=None):
        super().__init__(weight, batch_axis, prefix, params)
        if label_format not in ("signed", "binary"):
            raise ValueError(f"label_format can only be signed or binary, received {label_format}.")
        self._label_format = label_format

    def forward(self, pred, label, sample_weight=None):
        label = self._like(label, pred)
        if self._label_format == "signed":
            label = (label + 1.0) / 2.0
        loss = _nn().relu(pred) - pred * label + _softplus(-_math().abs(pred))
        return self._mean(self._weighted(loss, sample_weight))


class TripletLoss(Loss):
    """`max(0, |positive - pred|^2 - |negative - pred|^2 + margin)` per sample."""

    def __init__(self, margin=1, weight=None, batch_axis=0, prefix=None, params=None):
        super().__init__(weight, batch_axis, prefix, params)
        self._margin = margin

    def forward(self, pred, positive, negative, sample_weight=None):
        square = _math().square
        difference = square(self._like(positive, pred) - pred) - square(self._like(negative, pred) - pred)
        return self._weighted(_nn().relu(self._sum(difference) + self._margin), sample_weight)


class PoissonNLLLoss(Loss):
    """Negative log-likelihood of counts `target` for rates `pred`, or log-rates (`from_logits`).

    `compute_full` adds Stirling's approximation of log(target!) for targets above 1. The mean over
    everything.
    """

    def __init__(
        self, weight=None, from_logits=True, batch_axis=0, compute_full=False, prefix=None, params=None
    ):
        super().__init__(weight, batch_axis, prefix, params)
        self._from_logits = from_logits
        self._compute_full = compute_full

    def forward(self, pred, target, sample_weight=None, epsilon=1e-08):
        m = _math()
        target = self._like(target, pred)
        loss = m.exp(pred) - target * pred if self._from_logits else pred - target * m.log(pred + epsilon)
        if self._compute_full:
            stirling = target * m.log(target) - target + 0.5 * m.log(2 * math.pi * target)
            loss = loss + m.where(target > 1, stirling, m.zeros_like(target))
        return self._weighted(loss, sample_weight).mean()


class CosineEmbeddingLoss(Loss):
    """`1 - cos(a, b)` for label 1, `max(0, cos(a, b) - margin)` for label -1; shape (N, 1), cosines over the
    last axis.
    """

    def __init__(self, weight=None, batch_axis=0, margin=0, prefix=None, params=None):
        super().__init__(weight, batch_axis, prefix, params)
        self._margin = margin

    def forward(self, input1, input2, label, sample_weight=None):
        m = _math()
        input1 = self._like(input1, input2)
        cosine = self._cosine(input1, input2).reshape((-1, 1))
        loss = m.where(label.reshape((-1, 1)) == 1, 1 - cosine, _nn().relu(cosine - self._margin))
        return self._weighted(loss, sample_weight)

    @staticmethod
    def _cosine(x, y):
        m = _math()
        norms = m.sqrt(m.square(x).sum(axis=-1)) * m.sqrt(m.square(y).sum(axis=-1))
        return (x * y).sum(axis=-1) / m.maximum(norms, 1e-12)


SigmoidBCELoss = SigmoidBinaryCrossEntropyLoss
SoftmaxCELoss = SoftmaxCrossEntropyLoss
