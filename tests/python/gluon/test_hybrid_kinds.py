"""Hybridized blocks and arrays of other kinds: of integers, of np, without gradients."""

import pytest

import headrace as mx
from headrace import autograd, gluon, nd
from headrace.base import MXNetError
from headrace.gluon import nn


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64"])
@pytest.mark.parametrize("grad_req", ["write", "add"])
def test_integers_have_gradients_as_without_it(dtype, grad_req):
    def gradients(hybridize):
        net = nn.HybridLambda(lambda F, x: (F.transpose(x, axes=(1, 0)) * 3, F.cast(x, dtype="float32")))
        if hybridize:
            net.hybridize()
        x = nd.array([[1, 2, 3], [4, 5, 6]], dtype=dtype)
        x.attach_grad(grad_req)
        for _ in range(2):
            with autograd.record():
                whole, real = net(x)
            autograd.backward([whole, real], [None, nd.array([[2, 0, 1]] * 2)])
        return x.grad.asnumpy()

    assert gradients(True).dtype == dtype
    assert gradients(True).tolist() == gradients(False).tolist()
    assert gradients(True).tolist() == [{"write": [5, 3, 4], "add": [10, 6, 8]}[grad_req]] * 2


def test_what_has_no_gradient_runs_until_it_is_asked_for():
    net = nn.HybridLambda(lambda F, x: (x * 2, F.contrib.allclose(x, x)))
    net.hybridize()
    x = nd.ones((2,))
    x.attach_grad()
    with autograd.record():
        y, alike = net(x)
    y.backward(retain_graph=True)
    assert x.grad.asnumpy().tolist() == [2, 2]
    with pytest.raises(MXNetError, match="allclose is non-differentiable"):
        alike.backward()


def test_outputs_are_of_the_kind_that_the_block_gives():
    @mx.util.use_np
    class OfNumpy(gluon.HybridBlock):
        def hybrid_forward(self, F, x):
            return F.np.add(x, x), F.np.multiply(x, x)

    class Classic(gluon.HybridBlock):
        def hybrid_forward(self, F, x):
            return x.as_nd_ndarray() + 1, x.as_nd_ndarray() * 2

    @mx.util.use_np
    class Mixed(gluon.HybridBlock):
        def hybrid_forward(self, F, x):
            return x.as_nd_ndarray() + 1, F.np.multiply(x, x)

    for hybridize in (False, True):
        for make, kind in ((OfNumpy, mx.np.ndarray), (Classic, nd.NDArray)):
            net = make()
            if hybridize:
                net.hybridize()
            for _ in range(2):
                assert [type(one) for one in net(mx.np.ones((2, 3)))] == [kind] * 2
        mixed = Mixed()
        if hybridize:
            mixed.hybridize()
        with pytest.raises(TypeError, match="as_np_ndarray"):
            mixed(mx.np.ones((2, 3)))


def test_arrays_and_symbols_do_not_mix():
    class Sum(gluon.HybridBlock):
        def hybrid_forward(self, F, x, y):
            return x + y

    for inputs in (
        (nd.ones(2), mx.sym.var("y")),
        (mx.sym.var("x"), nd.ones(2)),
        ([nd.ones(2)], mx.sym.var("y")),
    ):
        with pytest.raises(ValueError, match="we do not support mixed NDArrays and Symbols"):
            Sum()(*inputs)


def test_a_decorated_class_runs_what_it_inherits_in_np_mode():
    class Base:
        def inherited(self):
            return mx.util.is_np_array()

        @staticmethod
        def of_nobody(value):
            return value, mx.util.is_np_array()

    @mx.util.use_np
    class Decorated(Base):
        @property
        def mode(self):
            return mx.util.is_np_array()

    one = Decorated()
    assert one.inherited() and one.mode and one.of_nobody(3) == Decorated.of_nobody(3) == (3, True)
    assert not Base().inherited() and not Base.of_nobody(3)[1] and not mx.util.is_np_array()
    with pytest.raises(TypeError, match="something callable to decorate, got int"):
        mx.util.use_np(3)
