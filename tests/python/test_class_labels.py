"""Labels that are no class: what MXNet 1.9.1 defines is computed, elsewhere the loss has an error.

The numbers of MXNet: pick takes the nearest class (mode 'clip') or counts around ('wrap'), and so does
SoftmaxCrossEntropyLoss, which picks; SoftmaxOutput finds no element to subtract 1 from.
"""

import numpy
import pytest

from headrace import autograd, cpu, gluon, nd, npx, sym
from headrace.gluon import nn

X = numpy.array([[1, 2, 3], [4, 5, 6]], "float32")
SOFTMAX = numpy.array([[0.0900306, 0.2447285, 0.6652409]] * 2, "float32")
OUTSIDE = [3, -1, -4, 100]


@pytest.fixture(autouse=True)
def errors_are_read():
    """Those that a test leaves are not found by the next."""
    yield
    while True:
        try:
            return nd.waitall()
        except IndexError:
            continue


every_label = pytest.mark.parametrize("label", OUTSIDE)


def labels(one):
    return nd.array([0, one])


def with_gradient(loss):
    x = nd.array(X)
    x.attach_grad()
    with autograd.record():
        value = loss(x)
    value.backward()
    return value, x.grad


def one_hot(label):
    made = numpy.zeros((2, 3), "float32")
    made[0, 0] = made[1, label] = 1
    return made


@every_label
def test_pick(label):
    near, around = min(max(label, 0), 2), label % 3
    for pick in (nd.pick, lambda x, *args, **kw: npx.pick(x.as_np_ndarray(), args[0].as_np_ndarray(), **kw)):
        assert pick(nd.array(X), labels(label)).asnumpy().tolist() == [1, X[1, near]]
        assert pick(nd.array(X), labels(label), mode="clip").asnumpy().tolist() == [1, X[1, near]]
        assert pick(nd.array(X), labels(label), mode="wrap").asnumpy().tolist() == [1, X[1, around]]
    for mode, place in (("clip", near), ("wrap", around)):
        _, gradient = with_gradient(lambda x, mode=mode: nd.pick(x, labels(label), mode=mode))
        numpy.testing.assert_array_equal(gradient.asnumpy(), one_hot(place))


@every_label
def test_softmax_cross_entropy_loss_takes_the_nearest_class(label):
    near = min(max(label, 0), 2)
    loss = gluon.loss.SoftmaxCrossEntropyLoss()
    for hybrid in (False, True):
        loss.hybridize(hybrid)
        value, gradient = with_gradient(lambda x: loss(x, labels(label)))
        numpy.testing.assert_allclose(value.asnumpy(), -numpy.log([SOFTMAX[0, 0], SOFTMAX[1, near]]), 1e-5)
        numpy.testing.assert_allclose(gradient.asnumpy(), SOFTMAX - one_hot(near), 1e-5)
    weights = nd.array([[1], [0]])  # rows that do not count may have any label
    value, gradient = with_gradient(lambda x: gluon.loss.SoftmaxCELoss()(x, labels(label), weights))
    assert value[1].asscalar() == 0 and not gradient[1].asnumpy().any()


@every_label
@pytest.mark.parametrize("ignored", [False, True])
def test_softmax_output_has_no_element_for_it(label, ignored):
    value, gradient = with_gradient(
        lambda x: nd.SoftmaxOutput(x, labels(label), use_ignore=ignored, ignore_label=label)
    )
    expected = SOFTMAX.copy()
    expected[0, 0] -= 1
    if ignored:
        expected[1] = 0
    numpy.testing.assert_allclose(value.asnumpy(), SOFTMAX, 1e-5)
    numpy.testing.assert_allclose(gradient.asnumpy(), expected, 1e-5)


@every_label
def test_softmax_cross_entropy_has_an_error(label):
    with pytest.raises(IndexError, match=rf"index {label} is out of bounds for axis 1 with size 3"):
        nd.softmax_cross_entropy(nd.array(X), labels(label)).wait_to_read()
    with pytest.raises(IndexError, match="out of bounds"):
        with_gradient(lambda x: nd.softmax_cross_entropy(x, labels(label)))[1].wait_to_read()
    symbol = sym.softmax_cross_entropy(sym.var("x"), sym.var("y"))
    executor = symbol.bind(cpu(), {"x": nd.array(X), "y": labels(label)})
    with pytest.raises(IndexError, match="out of bounds"):
        executor.forward()[0].wait_to_read()
    value, gradient = with_gradient(lambda x: nd.softmax_cross_entropy(x, labels(1)))
    numpy.testing.assert_allclose(value.asnumpy(), [-numpy.log(SOFTMAX[0, 0] * SOFTMAX[1, 1])], 1e-5)
    numpy.testing.assert_allclose(gradient.asnumpy(), SOFTMAX - one_hot(1), 1e-5)


@every_label
def test_pick_raises_when_asked_to(label):
    class Loss(nn.HybridBlock):
        def hybrid_forward(self, F, x, y):
            return F.pick(x, y, mode="raise")

    loss = Loss()
    for hybrid in (False, True):
        loss.hybridize(hybrid)
        assert loss(nd.array(X), labels(2)).asnumpy().tolist() == [1, 6]
        with pytest.raises(IndexError, match=rf"index {label} is out of bounds for axis 1 with size 3"):
            loss(nd.array(X), labels(label)).wait_to_read()
    _, gradient = with_gradient(lambda x: nd.pick(x, labels(2), mode="raise"))
    numpy.testing.assert_array_equal(gradient.asnumpy(), one_hot(2))
