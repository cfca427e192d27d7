"""autograd.Function: operations with gradients of their own, on the tape and in graphs."""

import numpy
import pytest

import headrace as mx
from headrace import MXNetError, autograd, nd


def variable(values, req="write"):
    x = nd.array(values)
    x.attach_grad(req)
    return x


class Sigmoid(autograd.Function):
    def forward(self, x):
        y = 1 / (1 + nd.exp(-x))
        self.save_for_backward(y)
        return y

    def backward(self, dy):
        (y,) = self.saved_tensors
        return dy * y * (1 - y)


class TestFunction:
    def test_graphs_hold_what_forward_computes(self):
        class Twice(autograd.Function):
            def forward(self, x):
                return x * 2

            def backward(self, dy):
                return dy * 5

        class Block(mx.gluon.HybridBlock):
            def hybrid_forward(self, F, x):
                return Twice()(x) + 1

        net, x = Block(), variable([1, 2])
        with autograd.record():
            y = net(x)
        y.backward()
        assert x.grad.asnumpy().tolist() == [5, 5]
        net.hybridize()
        with pytest.warns(UserWarning, match="Twice.backward is not part of the graph"):
            assert net(x).asnumpy().tolist() == [3, 5]
        with autograd.record():
            y = net(x)
        y.backward()
        assert x.grad.asnumpy().tolist() == [2, 2]
        with pytest.warns(UserWarning, match="Twice.backward"):
            assert Twice()(mx.sym.var("x") + 1).eval(x=nd.ones(1))[0].asscalar() == 4

    def test_gradients_may_be_written_to(self):
        class Changed(autograd.Function):
            def forward(self, x):
                return x * 1

            def backward(self, dy):
                dy *= 2
                dy[0] = 5
                return dy

        x = variable([1, 1, 1])
        with autograd.record():
            y = Changed()(x).sum()  # whose gradient is one number for all
        y.backward()
        assert x.grad.asnumpy().tolist() == [5, 2, 2]

    def test_results_are_needed(self):
        class Nothing(autograd.Function):
            def forward(self, x):
                return []

        with autograd.record(), pytest.raises(MXNetError, match="Nothing.forward: one array is needed"):
            Nothing()(variable([1]))

    @pytest.mark.parametrize("req", ["write", "add"])
    def test_gradient(self, req):
        x = variable([0.5, -1], req)
        with autograd.record():
            y = Sigmoid()(x) * 3
        y.backward()
        s = 1 / (1 + numpy.exp(-x.asnumpy()))
        numpy.testing.assert_allclose(x.grad.asnumpy(), 3 * s * (1 - s), rtol=1e-5)

    def test_used_once(self):
        function = Sigmoid()
        function(nd.ones((1,)))
        with pytest.raises(AssertionError, match="once"):
            function(nd.ones((1,)))

    def test_an_error_in_backward_reaches_the_caller(self):
        class Broken(autograd.Function):
            def forward(self, x):
                return x * 1

            def backward(self, dy):
                raise ValueError("broken on purpose")

        x = variable([1])
        with autograd.record():
            y = Broken()(x)
        with pytest.raises(ValueError, match="broken on purpose"):
            y.backward()
        assert (nd.ones((2,)) + 1).asnumpy().tolist() == [2, 2]

    def test_a_wrong_number_of_gradients(self):
        class Short(autograd.Function):
            def forward(self, x, y):
                return x + y

            def backward(self, dy):
                return dy

        x = variable([1])
        with autograd.record():
            y = Short()(x, x)
        with pytest.raises(MXNetError, match="2 gradients are needed"):
            y.backward()
