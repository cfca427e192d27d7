"""Losses below operators whose gradient is zero."""

import numpy
import pytest

import headrace as mx
from headrace import autograd, nd


def variable(values):
    x = nd.array(values)
    x.attach_grad()
    return x


LOSSES = {
    "SoftmaxOutput": lambda x: nd.SoftmaxOutput(x, nd.array([1, 2])),
    "out_grad": lambda x: nd.SoftmaxOutput(x, nd.array([1, 2]), out_grad=True),
    "LinearRegressionOutput": lambda x: nd.LinearRegressionOutput(x, nd.ones((2, 3))),
    "SVMOutput": lambda x: nd.SVMOutput(x, nd.array([1, 2])),
    "MakeLoss": lambda x: nd.MakeLoss(x * 3),
    "penalty": lambda x: nd.IdentityAttachKLSparseReg(nd.sigmoid(x), nd.full((3,), 0.1)),
}
ENDS = {
    "BlockGrad": lambda p: -nd.log(nd.abs(nd.pick(nd.BlockGrad(p), nd.array([1, 2]))) + 1),
    "argmax": lambda p: nd.argmax(p, axis=1) == nd.array([1, 2]),
    "through other operators": lambda p: nd.sign(nd.exp(p * 2)) + 1,
    "beside another path": lambda p: nd.sum(nd.zeros_like(p)),
}


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("loss", LOSSES)
def test_losses_have_gradients_below_what_has_none(loss, end):
    x = variable([[1.0, 2, 3], [0, 5, 2.5]])
    with autograd.record():
        y = LOSSES[loss](x * 2)
    y.backward(nd.zeros_like(y))
    wanted = x.grad.asnumpy()
    assert wanted.any() or loss == "out_grad"
    with autograd.record():
        y = ENDS[end](LOSSES[loss](x * 2))
    y.backward()
    numpy.testing.assert_array_equal(x.grad.asnumpy(), wanted)


@pytest.mark.parametrize("hybridized", [False, True])
def test_losses_in_networks_have_gradients_below_what_has_none(hybridized):
    class Loss(mx.gluon.HybridBlock):
        def hybrid_forward(self, F, x, label):
            return F.SoftmaxOutput(x, label)

    class Whole(Loss):
        def hybrid_forward(self, F, x, label):
            return F.BlockGrad(F.SoftmaxOutput(x, label))

    x, label = variable([[1.0, 2, 3], [0, 5, 2.5]]), nd.array([1, 2])
    found = []
    for net, end in ((Loss(), nd.BlockGrad), (Whole(), lambda p: p * 2)):
        net.hybridize(hybridized)
        with autograd.record():
            y = end(net(x, label))
        y.backward()
        found.append(x.grad.asnumpy())
    wanted = nd.softmax(x).asnumpy() - numpy.eye(3)[[1, 2]]
    numpy.testing.assert_allclose(found, [wanted, wanted], rtol=1e-5, atol=1e-6)


def test_below_what_is_blocked_only_code_of_the_program_is_asked():
    class Counts(autograd.Function):
        calls = 0

        def forward(self, x):
            return x * 1

        def backward(self, dy):
            Counts.calls += 1
            return dy

    x = variable([1.0, 2])
    with autograd.record():
        y = nd.BlockGrad(nd.exp(x)) * 2
    y.backward()
    assert x.grad.asnumpy().tolist() == [0, 0]
    with autograd.record():
        y = nd.BlockGrad(Counts()(x)) * 2
    y.backward()
    assert Counts.calls == 1  # code of the program may give any gradient


@pytest.mark.parametrize("hybridized", [False, True])
def test_losses_in_bodies_have_gradients_below_what_has_none(hybridized):
    class Rows(mx.gluon.HybridBlock):
        def hybrid_forward(self, F, x, label):
            def body(inputs, states):
                row, place = F.expand_dims(inputs[0], 0), F.reshape(inputs[1], shape=(1,))
                return F.SoftmaxOutput(row, place), states

            return F.contrib.foreach(body, [x, label], [F.zeros((1,))])[0]

    x, net = variable([[1.0, 2, 3], [0, 5, 2.5]]), Rows()
    net.hybridize(hybridized)
    with autograd.record():
        y = nd.BlockGrad(net(x, nd.array([1, 2])))
    y.backward()
    wanted = nd.softmax(x).asnumpy() - numpy.eye(3)[[1, 2]]
    numpy.testing.assert_allclose(x.grad.asnumpy(), wanted, rtol=1e-5, atol=1e-6)
