"""Losses. Each gives one value per sample: the mean over all axes but `batch_axis`, unless it says otherwise.

`weight` scales the loss of every element, `sample_weight` (an array that broadcasts) that of single elements
or samples. The same classes work on nd arrays and, in np mode, on np arrays.
"""

import math

from .._semantics import is_np_array
from ..base import numeric_types
from .hybrid_block import HybridBlock

__all__ = [
    "CTCLoss",
    "CosineEmbeddingLoss",
    "HingeLoss",
    "HuberLoss",
    "KLDivLoss",
    "L1Loss",
    "L2Loss",
    "LogisticLoss",
    "Loss",
    "PoissonNLLLoss",
    "SDMLLoss",
    "SigmoidBCELoss",
    "SigmoidBinaryCrossEntropyLoss",
    "SoftmaxCELoss",
    "SoftmaxCrossEntropyLoss",
    "SquaredHingeLoss",
    "TripletLoss",
]


def _math(F):
    """The namespace with abs, exp, log, square, maximum, where, sum."""
    return F.np if is_np_array() else F


def _nn(F):
    """The namespace with relu, log_softmax, pick, reshape_like."""
    return F.npx if is_np_array() else F


# The next two have MXNet's names, as losses that programs define call them.
def _reshape_like(F, x, y):
    """`x` in the shape of `y`."""
    return _nn(F).reshape_like(x, y)


def _apply_weighting(F, loss, weight=None, sample_weight=None):
    """`loss` times the number `weight` and the array `sample_weight`, which broadcasts; None: not."""
    if sample_weight is not None:
        loss = _times(F, loss, sample_weight)
    if weight is not None and weight != 1:
        assert isinstance(weight, numeric_types), f"weight must be a number, got {type(weight).__name__}"
        loss = loss * weight
    return loss


def _times(F, x, factor):
    """`x * factor`, where the array `factor` broadcasts."""
    return x * factor if is_np_array() else F.broadcast_mul(x, factor)


def _softplus(F, x):
    return F.npx.activation(x, act_type="softrelu") if is_np_array() else F.Activation(x, act_type="softrelu")


def _column(F, x):
    """All elements of `x` in the shape (N, 1)."""
    return F.np.reshape(x, (-1, 1)) if is_np_array() else F.reshape(x, shape=(-1, 1))


class Loss(HybridBlock):
    """Base class: keeps `weight` and `batch_axis`; subclasses define hybrid_forward(F, pred, label,
    sample_weight=None). MXNetError: prediction and label differ in their numbers of elements.

    Examples
    --------
    >>> class Absolute(gluon.loss.Loss):
    ...     def hybrid_forward(self, F, pred, label, sample_weight=None):
    ...         return F.abs(pred - label)
    >>> Absolute(weight=None, batch_axis=0)(nd.array([1, 5]), nd.array([2, 2]))
    [1. 3.]
    <NDArray 2 @cpu(0)>
    """

    def __init__(self, weight, batch_axis, prefix=None, params=None):
        super().__init__(prefix=prefix, params=params)
        self._weight = weight
        self._batch_axis = batch_axis

    def __repr__(self):
        return f"{type(self).__name__}(batch_axis={self._batch_axis}, w={self._weight})"

    def _times_weights(self, F, loss, sample_weight, weight=None):
        return _apply_weighting(F, loss, self._weight if weight is None else weight, sample_weight)

    def _mean_of_each(self, F, loss):
        return self._reduce_each(F, "mean", loss)

    def _sum_of_each(self, F, loss):
        return self._reduce_each(F, "sum", loss)

    def _reduce_each(self, F, function, loss):
        """The mean or sum over all axes but the batch axis."""
        if not is_np_array():
            return getattr(F, function)(loss, axis=self._batch_axis, exclude=True)
        if self._batch_axis != 0:
            loss = F.np.swapaxes(loss, 0, self._batch_axis)
        return getattr(F.np, function)(F.npx.batch_flatten(loss), axis=1)


class L2Loss(Loss):
    """`weight / 2 (label - pred)^2`.

    Examples
    --------
    >>> gluon.loss.L2Loss()(nd.array([[1, 2], [3, 4]]), nd.array([[1, 0], [3, 0]]))
    [1. 4.]
    <NDArray 2 @cpu(0)>
    """

    def __init__(self, weight=1.0, batch_axis=0, prefix=None, params=None):
        super().__init__(weight, batch_axis, prefix, params)

    def hybrid_forward(self, F, pred, label, sample_weight=None):
        loss = _math(F).square(_reshape_like(F, label, pred) - pred)
        return self._mean_of_each(F, self._times_weights(F, loss, sample_weight, self._weight / 2))


class L1Loss(Loss):
    """`abs(label - pred)`.

    Examples
    --------
    >>> gluon.loss.L1Loss()(nd.array([[1, 2], [3, 4]]), nd.array([[1, 0], [3, 0]]))
    [1. 2.]
    <NDArray 2 @cpu(0)>
    """

    def __init__(self, weight=None, batch_axis=0, prefix=None, params=None):
        super().__init__(weight, batch_axis, prefix, params)

    def hybrid_forward(self, F, pred, label, sample_weight=None):
        loss = _math(F).abs(_reshape_like(F, label, pred) - pred)
        return self._mean_of_each(F, self._times_weights(F, loss, sample_weight))


class SigmoidBinaryCrossEntropyLoss(Loss):
    """Cross-entropy of independent yes-or-no labels, from scores or (`from_sigmoid`) from probabilities.

    `pos_weight` (an array that broadcasts) scales the part of positive labels.

    Examples
    --------
    >>> gluon.loss.SigmoidBinaryCrossEntropyLoss()(nd.array([[2], [-1]]), nd.array([[1], [0]]))
    [0.126928  0.3132617]
    <NDArray 2 @cpu(0)>
    """

    def __init__(self, from_sigmoid=False, weight=None, batch_axis=0, prefix=None, params=None):
        super().__init__(weight, batch_axis, prefix, params)
        self._from_sigmoid = from_sigmoid

    def hybrid_forward(self, F, pred, label, sample_weight=None, pos_weight=None):
        label = _reshape_like(F, label, pred)
        per_element = self._from_probability if self._from_sigmoid else self._from_score
        return self._mean_of_each(
            F, self._times_weights(F, per_element(F, pred, label, pos_weight), sample_weight)
        )

    @staticmethod
    def _from_score(F, pred, label, pos_weight):
        relu = _nn(F).relu
        if pos_weight is None:
            return relu(pred) - pred * label + _softplus(F, -_math(F).abs(pred))
        scale = 1 + _times(F, label, pos_weight - 1)
        return pred - pred * label + scale * (_softplus(F, -_math(F).abs(pred)) + relu(-pred))

    @staticmethod
    def _from_probability(F, pred, label, pos_weight):
        log, tiny = _math(F).log, 1e-12
        positive = log(pred + tiny) * label
        if pos_weight is not None:
            positive = _times(F, positive, pos_weight)
        return -(positive + log(1.0 - pred + tiny) * (1.0 - label))


class SoftmaxCrossEntropyLoss(Loss):
    """Cross-entropy of the softmax over `axis`; labels are class numbers, or (`sparse_label` False)
    probabilities.

    `from_logits` says that `pred` is log-probabilities already. Class numbers outside are clipped.

    Examples
    --------
    >>> gluon.loss.SoftmaxCrossEntropyLoss()(nd.array([[1, 2, 3], [3, 2, 1]]), nd.array([2, 1]))
    [0.40760598 1.407606  ]
    <NDArray 2 @cpu(0)>
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

    def hybrid_forward(self, F, pred, label, sample_weight=None):
        if not self._from_logits:
            pred = _nn(F).log_softmax(pred, axis=self._axis)
        if self._sparse_label:
            loss = -_nn(F).pick(pred, label, axis=self._axis, keepdims=True)
        else:
            loss = -_math(F).sum(pred * _reshape_like(F, label, pred), axis=self._axis, keepdims=True)
        return self._mean_of_each(F, self._times_weights(F, loss, sample_weight))


class KLDivLoss(Loss):
    """`label (log label - pred)` with `pred` log-probabilities (`from_logits`) or scores; the sum over
    non-batch axes.

    Examples
    --------
    >>> loss = gluon.loss.KLDivLoss(from_logits=False)
    >>> loss(nd.array([[0, 1], [1, 0]]), nd.array([[0.5, 0.5], [0.8, 0.2]]))
    [0.12011454 0.01285928]
    <NDArray 2 @cpu(0)>
    """

    def __init__(self, from_logits=True, axis=-1, weight=None, batch_axis=0, prefix=None, params=None):
        super().__init__(weight, batch_axis, prefix, params)
        self._from_logits = from_logits
        self._axis = axis

    def hybrid_forward(self, F, pred, label, sample_weight=None):
        if not self._from_logits:
            pred = _nn(F).log_softmax(pred, axis=self._axis)
        return self._sum_of_each(
            F, self._times_weights(F, label * (_math(F).log(label + 1e-12) - pred), sample_weight)
        )


class HuberLoss(Loss):
    """Square of small differences, absolute value of those above `rho`.

    Examples
    --------
    >>> gluon.loss.HuberLoss(rho=1)(nd.array([[0.5], [3]]), nd.array([[0], [0]]))
    [0.125 2.5  ]
    <NDArray 2 @cpu(0)>
    """

    def __init__(self, rho=1, weight=None, batch_axis=0, prefix=None, params=None):
        super().__init__(weight, batch_axis, prefix, params)
        self._rho = rho

    def hybrid_forward(self, F, pred, label, sample_weight=None):
        m, rho = _math(F), self._rho
        distance = m.abs(_reshape_like(F, label, pred) - pred)
        loss = m.where(distance > rho, distance - 0.5 * rho, (0.5 / rho) * m.square(distance))
        return self._mean_of_each(F, self._times_weights(F, loss, sample_weight))


class HingeLoss(Loss):
    """`max(0, margin - pred label)`, labels -1 and 1.

    Examples
    --------
    >>> gluon.loss.HingeLoss()(nd.array([[0.5], [3]]), nd.array([[1], [-1]]))
    [0.5 4. ]
    <NDArray 2 @cpu(0)>
    """

    def __init__(self, margin=1, weight=None, batch_axis=0, prefix=None, params=None):
        super().__init__(weight, batch_axis, prefix, params)
        self._margin = margin

    def hybrid_forward(self, F, pred, label, sample_weight=None):
        loss = _nn(F).relu(self._margin - pred * _reshape_like(F, label, pred))
        return self._mean_of_each(F, self._times_weights(F, loss, sample_weight))


class SquaredHingeLoss(HingeLoss):
    """`max(0, margin - pred label)^2`, labels -1 and 1.

    Examples
    --------
    >>> gluon.loss.SquaredHingeLoss()(nd.array([[0.5], [3]]), nd.array([[1], [-1]]))
    [ 0.25 16.  ]
    <NDArray 2 @cpu(0)>
    """

    def hybrid_forward(self, F, pred, label, sample_weight=None):
        loss = _math(F).square(_nn(F).relu(self._margin - pred * _reshape_like(F, label, pred)))
        return self._mean_of_each(F, self._times_weights(F, loss, sample_weight))


class LogisticLoss(Loss):
    """`log(1 + exp(-pred label))` for labels -1 and 1 ('signed') or 0 and 1 ('binary'). ValueError: other
    formats.

    Examples
    --------
    >>> gluon.loss.LogisticLoss()(nd.array([[0.5], [3]]), nd.array([[1], [-1]]))
    [0.474077  3.0485873]
    <NDArray 2 @cpu(0)>
    """

    def __init__(self, weight=None, batch_axis=0, label_format="signed", prefix=None, params=None):
        super().__init__(weight, batch_axis, prefix, params)
        if label_format not in ("signed", "binary"):
            raise ValueError(f"label_format can only be signed or binary, received {label_format}.")
        self._label_format = label_format

    def hybrid_forward(self, F, pred, label, sample_weight=None):
        label = _reshape_like(F, label, pred)
        if self._label_format == "signed":
            label = (label + 1.0) / 2.0
        loss = _nn(F).relu(pred) - pred * label + _softplus(F, -_math(F).abs(pred))
        return self._mean_of_each(F, self._times_weights(F, loss, sample_weight))


class TripletLoss(Loss):
    """`max(0, |positive - pred|^2 - |negative - pred|^2 + margin)` per sample.

    Examples
    --------
    >>> anchor, near, far = nd.zeros((1, 2)), nd.array([[0, 1]]), nd.array([[1, 1]])
    >>> gluon.loss.TripletLoss(margin=1)(anchor, near, far)
    [0.]
    <NDArray 1 @cpu(0)>
    """

    def __init__(self, margin=1, weight=None, batch_axis=0, prefix=None, params=None):
        super().__init__(weight, batch_axis, prefix, params)
        self._margin = margin

    def hybrid_forward(self, F, pred, positive, negative, sample_weight=None):
        square = _math(F).square
        to_positive = square(_reshape_like(F, positive, pred) - pred)
        difference = to_positive - square(_reshape_like(F, negative, pred) - pred)
        return self._times_weights(
            F, _nn(F).relu(self._sum_of_each(F, difference) + self._margin), sample_weight
        )


class PoissonNLLLoss(Loss):
    """Negative log-likelihood of counts `target` for rates `pred`, or log-rates (`from_logits`).

    `compute_full` adds Stirling's approximation of log(target!) for targets above 1. The mean over
    everything.

    Examples
    --------
    >>> gluon.loss.PoissonNLLLoss()(nd.array([[0.5, 1]]), nd.array([[1, 3]]))
    [0.43350148]
    <NDArray 1 @cpu(0)>
    """

    def __init__(
        self, weight=None, from_logits=True, batch_axis=0, compute_full=False, prefix=None, params=None
    ):
        super().__init__(weight, batch_axis, prefix, params)
        self._from_logits = from_logits
        self._compute_full = compute_full

    def hybrid_forward(self, F, pred, target, sample_weight=None, epsilon=1e-08):
        m = _math(F)
        target = _reshape_like(F, target, pred)
        loss = m.exp(pred) - target * pred if self._from_logits else pred - target * m.log(pred + epsilon)
        if self._compute_full:
            stirling = target * m.log(target) - target + 0.5 * m.log(2 * math.pi * target)
            loss = loss + m.where(target > 1, stirling, m.zeros_like(target))
        return m.mean(self._times_weights(F, loss, sample_weight))


class CosineEmbeddingLoss(Loss):
    """`1 - cos(a, b)` for label 1, `max(0, cos(a, b) - margin)` for label -1 and 0 for others; shape (N, 1),
    cosines over the last axis.

    Examples
    --------
    >>> a, b = nd.array([[1, 0], [1, 0]]), nd.array([[1, 1], [1, 1]])
    >>> gluon.loss.CosineEmbeddingLoss()(a, b, nd.array([1, -1]))
    [[0.29289323]
     [0.70710677]]
    <NDArray 2x1 @cpu(0)>
    """

    def __init__(self, weight=None, batch_axis=0, margin=0, prefix=None, params=None):
        super().__init__(weight, batch_axis, prefix, params)
        self._margin = margin

    def hybrid_forward(self, F, input1, input2, label, sample_weight=None):
        m = _math(F)
        input1 = _reshape_like(F, input1, input2)
        cosine, label = _column(F, self._cosine(m, input1, input2)), _column(F, label)
        apart = _nn(F).relu(cosine - self._margin)
        apart = m.where(label == -1, apart, m.zeros_like(apart))
        loss = m.where(label == 1, 1 - cosine, apart)
        return self._times_weights(F, loss, sample_weight)

    @staticmethod
    def _cosine(m, x, y):
        norms = m.sqrt(m.sum(m.square(x), axis=-1)) * m.sqrt(m.sum(m.square(y), axis=-1))
        return m.sum(x * y, axis=-1) / m.maximum(norms, 1e-12)


class CTCLoss(Loss):
    """Connectionist temporal classification: minus the log-probability of each label over all alignments.

    Parameters
    ----------
    layout : 'NTC' or 'TNC', the axes of `pred`: scores of classes before softmax, the last being the blank.
    label_layout : 'NT' or 'TN', the axes of `label`: classes, and -1 behind the end of a label.

    `pred_lengths` and `label_lengths` of shape (N,) say how long sequences and labels are. Shape (N,).
    AssertionError: another layout.

    Examples
    --------
    >>> scores = nd.zeros((1, 4, 3))  # one sequence of four steps, three classes
    >>> gluon.loss.CTCLoss()(scores, nd.array([[0, 1]]))
    [1.686399]
    <NDArray 1 @cpu(0)>
    """

    def __init__(self, layout="NTC", label_layout="NT", weight=None, **kwargs):
        assert layout in ("NTC", "TNC"), f"Only 'NTC' and 'TNC' layouts for pred are supported. Got: {layout}"
        assert label_layout in ("NT", "TN"), (
            f"Only 'NT' and 'TN' layouts for label are supported. Got: {label_layout}"
        )
        self._layout = layout
        self._label_layout = label_layout
        super().__init__(weight, label_layout.find("N"), **kwargs)

    def hybrid_forward(self, F, pred, label, pred_lengths=None, label_lengths=None, sample_weight=None):
        swapaxes = _math(F).swapaxes
        if self._layout == "NTC":
            pred = swapaxes(pred, 0, 1)
        if self._batch_axis == 1:
            label = swapaxes(label, 0, 1)
        loss = (F.npx.ctc_loss if is_np_array() else F.CTCLoss)(
            pred,
            label,
            pred_lengths,
            label_lengths,
            use_data_lengths=pred_lengths is not None,
            use_label_lengths=label_lengths is not None,
            blank_label="last",
        )
        return self._times_weights(F, loss, sample_weight)


class SDMLLoss(Loss):
    """Smoothed deep metric learning (Bonadiman, Kumar and Mittal 2019): rows i of `x1` and `x2`, both of
    shape (N, D), belong together. For each i the Kullback-Leibler divergence of the softmax over j of
    `-|x1[i] - x2[j]|^2` from the distribution with `1 - smoothing_parameter` at j = i and the rest spread
    evenly; at least two rows.

    Examples
    --------
    >>> x = nd.array([[1, 0], [0, 1]])
    >>> gluon.loss.SDMLLoss()(x, x)
    [0.11606371 0.11606371]
    <NDArray 2 @cpu(0)>
    """

    def __init__(self, smoothing_parameter=0.3, weight=1.0, batch_axis=0, prefix=None, params=None):
        super().__init__(weight, batch_axis, prefix, params)
        self._smoothing = smoothing_parameter

    def hybrid_forward(self, F, x1, x2):
        m, nn, right = _math(F), _nn(F), 1 - self._smoothing
        minus = F.np.subtract if is_np_array() else F.broadcast_sub
        apart = minus(m.expand_dims(x1, axis=1), m.expand_dims(x2, axis=0))
        logs = nn.log_softmax(-m.sum(m.square(apart), axis=2), axis=1)
        others = m.sum(m.ones_like(logs), axis=1) - 1
        wrong = self._smoothing / others
        arange_like = F.npx.arange_like if is_np_array() else F.contrib.arange_like
        own = nn.pick(logs, arange_like(logs, axis=0), axis=1)
        cross = right * own + wrong * (m.sum(logs, axis=1) - own)
        negentropy = right * math.log(right + 1e-12) + self._smoothing * m.log(wrong + 1e-12)
        return self._times_weights(F, negentropy - cross, None)


SigmoidBCELoss = SigmoidBinaryCrossEntropyLoss
SoftmaxCELoss = SoftmaxCrossEntropyLoss
