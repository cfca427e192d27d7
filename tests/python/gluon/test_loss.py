"""Losses against NumPy, in nd and in np mode."""

import numpy
import pytest

import headrace as hr
from headrace import autograd, gluon, npx
from headrace.base import MXNetError
from headrace.gluon import loss as gloss

RNG = numpy.random.default_rng(5)
PRED = RNG.standard_normal((4, 3)).astype("float32")
OTHER = RNG.standard_normal((4, 3)).astype("float32")
UNIT = RNG.uniform(0.05, 0.95, (4, 3)).astype("float32")
SIGNS = numpy.where(OTHER > 0, 1.0, -1.0).astype("float32")
CLASSES = numpy.array([0, 2, 1, 2], "float32")
WEIGHTS = numpy.array([[1.0], [0.5], [0.0], [2.0]], "float32")


def softplus(x):
    return numpy.log1p(numpy.exp(x))


def log_softmax(x, axis=-1):
    return x - numpy.log(numpy.exp(x).sum(axis=axis, keepdims=True))


def cosine(x, y):
    return (x * y).sum(-1) / (numpy.linalg.norm(x, axis=-1) * numpy.linalg.norm(y, axis=-1))


def huber(p, label, rho):
    d = abs(label - p)
    return numpy.where(d > rho, d - rho / 2, d * d / (2 * rho))


def stirling(t):
    return numpy.where(t > 1, t * numpy.log(t) - t + 0.5 * numpy.log(2 * numpy.pi * t), 0)


COUNTS = numpy.array([[0.5, 2.0, 3.0]] * 4, "float32")
PROBABILITIES = (UNIT / UNIT.sum(1, keepdims=True)).astype("float32")


# loss, inputs, values per sample
def sdml(x, y, smoothing):
    distances = ((x[:, None] - y[None]) ** 2).sum(2)
    wanted = numpy.where(numpy.eye(len(x)) == 1, 1 - smoothing, smoothing / (len(x) - 1))
    return (wanted * (numpy.log(wanted + 1e-12) - log_softmax(-distances))).sum(1)


CASES = [
    (gloss.L2Loss(), (PRED, OTHER), ((OTHER - PRED) ** 2 / 2).mean(1)),
    (gloss.L2Loss(weight=3), (PRED, OTHER), ((OTHER - PRED) ** 2 * 1.5).mean(1)),
    (gloss.L2Loss(batch_axis=1), (PRED, OTHER), ((OTHER - PRED) ** 2 / 2).mean(0)),
    (gloss.L2Loss(), (PRED[:, 0], OTHER[:, 0]), (OTHER - PRED)[:, 0] ** 2 / 2),
    (gloss.L2Loss(), (PRED[:, :1], OTHER[:, 0]), (OTHER - PRED)[:, 0] ** 2 / 2),
    (gloss.L2Loss(), (PRED, OTHER, WEIGHTS), ((OTHER - PRED) ** 2 / 2 * WEIGHTS).mean(1)),
    (gloss.L1Loss(), (PRED, OTHER), abs(OTHER - PRED).mean(1)),
    (gloss.L1Loss(weight=0.5), (PRED, OTHER, WEIGHTS), (abs(OTHER - PRED) * WEIGHTS / 2).mean(1)),
    (gloss.SigmoidBCELoss(), (PRED, UNIT), (softplus(PRED) - PRED * UNIT).mean(1)),
    (
        gloss.SigmoidBCELoss(from_sigmoid=True),
        (UNIT, PROBABILITIES),
        -(PROBABILITIES * numpy.log(UNIT) + (1 - PROBABILITIES) * numpy.log(1 - UNIT)).mean(1),
    ),
    (
        gloss.SigmoidBCELoss(),
        (PRED, UNIT, WEIGHTS, COUNTS),
        ((COUNTS * UNIT * softplus(-PRED) + (1 - UNIT) * softplus(PRED)) * WEIGHTS).mean(1),
    ),
    (gloss.SoftmaxCELoss(), (PRED, CLASSES), -log_softmax(PRED)[range(4), CLASSES.astype(int)]),
    (gloss.SoftmaxCELoss(from_logits=True), (PRED, CLASSES), -PRED[range(4), CLASSES.astype(int)]),
    (gloss.SoftmaxCELoss(sparse_label=False), (PRED, UNIT), -(log_softmax(PRED) * UNIT).sum(1)),
    (
        gloss.SoftmaxCELoss(axis=1),
        (PRED.reshape(2, 3, 2), CLASSES.reshape(2, 2)),
        -numpy.take_along_axis(
            log_softmax(PRED.reshape(2, 3, 2), 1), CLASSES.reshape(2, 1, 2).astype(int), 1
        ).mean((1, 2)),
    ),
    (gloss.SoftmaxCELoss(), (PRED, CLASSES + 5), -log_softmax(PRED)[:, 2]),
    (
        gloss.KLDivLoss(from_logits=False),
        (PRED, PROBABILITIES),
        (PROBABILITIES * (numpy.log(PROBABILITIES) - log_softmax(PRED))).sum(1),
    ),
    (gloss.HuberLoss(rho=0.5), (PRED, OTHER), huber(PRED, OTHER, 0.5).mean(1)),
    (gloss.HingeLoss(), (PRED, SIGNS), numpy.maximum(0, 1 - PRED * SIGNS).mean(1)),
    (gloss.HingeLoss(margin=2), (PRED, SIGNS), numpy.maximum(0, 2 - PRED * SIGNS).mean(1)),
    (gloss.SquaredHingeLoss(), (PRED, SIGNS), (numpy.maximum(0, 1 - PRED * SIGNS) ** 2).mean(1)),
    (gloss.LogisticLoss(), (PRED, SIGNS), softplus(-PRED * SIGNS).mean(1)),
    (gloss.LogisticLoss(label_format="binary"), (PRED, (SIGNS + 1) / 2), softplus(-PRED * SIGNS).mean(1)),
    (
        gloss.TripletLoss(margin=0.5),
        (PRED, OTHER, UNIT),
        numpy.maximum(0, ((OTHER - PRED) ** 2 - (UNIT - PRED) ** 2).sum(1) + 0.5),
    ),
    (gloss.SDMLLoss(), (PRED, OTHER), sdml(PRED, OTHER, 0.3)),
    (gloss.SDMLLoss(smoothing_parameter=0, weight=2), (PRED, OTHER), 2 * sdml(PRED, OTHER, 0)),
    (gloss.PoissonNLLLoss(), (PRED, COUNTS), (numpy.exp(PRED) - COUNTS * PRED).mean()),
    (
        gloss.PoissonNLLLoss(from_logits=False, compute_full=True),
        (UNIT, COUNTS),
        (UNIT - COUNTS * numpy.log(UNIT + 1e-8) + stirling(COUNTS)).mean(),
    ),
    (
        gloss.CosineEmbeddingLoss(margin=0.1),
        (PRED, OTHER, SIGNS[:, 0]),
        numpy.where(
            SIGNS[:, 0] == 1, 1 - cosine(PRED, OTHER), numpy.maximum(0, cosine(PRED, OTHER) - 0.1)
        ).reshape(4, 1),
    ),
    (  # pairs that are neither alike nor apart
        gloss.CosineEmbeddingLoss(margin=-1),
        (PRED, OTHER, numpy.array([0.0, 1.0, 2.0, -1.0], "float32")),
        numpy.array([[0], [1 - cosine(PRED, OTHER)[1]], [0], [cosine(PRED, OTHER)[3] + 1]]),
    ),
]


@pytest.mark.parametrize("mode", ["nd", "np"])
@pytest.mark.parametrize("case", range(len(CASES)))
def test_values(case, mode):
    loss, inputs, expected = CASES[case]
    if mode == "np":
        npx.set_np()
    try:
        make = hr.np.array if mode == "np" else hr.nd.array
        out = loss(*map(make, inputs))
        if mode == "nd" and expected.shape == ():
            expected = expected.reshape(1)
        assert out.shape == expected.shape
        numpy.testing.assert_allclose(out.asnumpy(), expected, rtol=2e-5, atol=2e-6)
    finally:
        npx.reset_np()


@pytest.mark.parametrize("mode", ["nd", "np"])
@pytest.mark.parametrize(
    ("loss", "label", "gradient"),
    [
        (gloss.L2Loss(), OTHER, (PRED - OTHER) / 3),
        (gloss.L1Loss(), OTHER, numpy.sign(PRED - OTHER) / 3),
        (gloss.SigmoidBCELoss(), UNIT, (1 / (1 + numpy.exp(-PRED)) - UNIT) / 3),
        (gloss.SoftmaxCELoss(), CLASSES, numpy.exp(log_softmax(PRED)) - numpy.eye(3)[CLASSES.astype(int)]),
    ],
)
def test_gradients(loss, label, gradient, mode):
    if mode == "np":
        npx.set_np()
    try:
        make = hr.np.array if mode == "np" else hr.nd.array
        pred = make(PRED)
        pred.attach_grad()
        with autograd.record():
            out = loss(pred, make(label))
        out.backward()
        numpy.testing.assert_allclose(pred.grad.asnumpy(), gradient, rtol=1e-4, atol=1e-5)
    finally:
        npx.reset_np()


@pytest.mark.parametrize("hybridize", [False, True])
def test_metric_learning_has_the_numbers_of_mxnet(hybridize):
    x, y = hr.nd.arange(6).reshape((3, 2)) / 4, hr.nd.array([[5, 4], [3, 2], [1, 0]]) / 3
    x.attach_grad()
    loss = gloss.SDMLLoss(smoothing_parameter=0.1)
    if hybridize:
        loss.hybridize()
    with autograd.record():
        values = loss(x, y)
    values.backward()
    numpy.testing.assert_allclose(values.asnumpy(), [3.3854504, 0.3635534, 1.8453134], rtol=1e-5)
    gradient = [[-2.0701206, -2.0701175], [-0.3282461, -0.3282478], [1.5850656, 1.5850699]]
    numpy.testing.assert_allclose(x.grad.asnumpy(), gradient, rtol=1e-5)


def test_losses_of_programs():
    """They call helpers by MXNet's names."""

    class Scaled(gloss.Loss):
        def hybrid_forward(self, F, pred, label, sample_weight=None):
            loss = F.abs(pred - gloss._reshape_like(F, label, pred))
            return gloss._apply_weighting(F, loss, self._weight, sample_weight)

    loss = Scaled(2, 0)
    pred, label, weight = hr.nd.array([[1, 2]]), hr.nd.array([3, 5]), hr.nd.array([[1, 10]])
    assert loss(pred, label).asnumpy().tolist() == [[4, 6]]
    assert loss(pred, label, weight).asnumpy().tolist() == [[4, 60]]


def test_label_of_another_size():
    with pytest.raises(MXNetError, match=r"reshape_like: .*\(2,\).*\(2, 3\)"):
        gloss.L2Loss()(hr.nd.ones((2, 3)), hr.nd.ones((2,)))


def test_weight_must_be_a_number():
    with pytest.raises(AssertionError, match="weight must be a number"):
        gloss.L1Loss(weight="a")(hr.nd.ones((2,)), hr.nd.ones((2,)))
    with pytest.raises(TypeError):
        gloss.L2Loss(weight="a")(hr.nd.ones((2,)), hr.nd.ones((2,)))


def test_label_format():
    with pytest.raises(ValueError, match="signed or binary"):
        gloss.LogisticLoss(label_format="x")


def test_inputs_must_be_arrays():
    with pytest.raises(ValueError, match="expected an array"):
        gloss.L2Loss()(1.0, 2.0)


def test_printed_form_and_names():
    assert repr(gloss.L2Loss()) == "L2Loss(batch_axis=0, w=1.0)"
    assert repr(gloss.SoftmaxCELoss()) == "SoftmaxCrossEntropyLoss(batch_axis=0, w=None)"
    assert gloss.SigmoidBCELoss is gloss.SigmoidBinaryCrossEntropyLoss
    assert gloss.L2Loss(prefix="mine_").name == "mine"
    assert issubclass(gloss.Loss, gluon.Block)
