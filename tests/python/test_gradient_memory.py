"""What backward gives and takes: whose memory it is, and who may write to it."""

import numpy
import pytest

import headrace as mx
from headrace import autograd, np, npx
from headrace.gluon import HybridBlock


@pytest.fixture(autouse=True)
def np_semantics():
    npx.set_np()
    yield
    npx.reset_np()


def variable(values, req="write"):
    x = np.array(values)
    x.attach_grad(req)
    return x


class TestResultsOfGrad:
    @pytest.mark.parametrize("create_graph", [False, True])
    def test_share_no_memory_with_each_other_or_the_head(self, create_graph):
        a, b, head = variable([1.0, 2]), variable([3.0, 4]), np.ones(2)
        with autograd.record():
            y = a + b
        first, second = autograd.grad(
            y, [a, b], head_grads=[head], create_graph=create_graph, retain_graph=True
        )
        with autograd.pause():
            first.detach()[:] = 10
        assert head.tolist() == [1, 1] and second.tolist() == [1, 1]

    def test_of_one_variable_twice(self):
        a = variable([1.0, 2])
        with autograd.record():
            y = a * 3
        first, second = autograd.grad(y, [a, a])
        first[:] = 0
        assert second.tolist() == [3, 3]

    @pytest.mark.parametrize("size", [2, 100_000])
    def test_have_a_place_for_each_element(self, size):
        a = variable(numpy.ones(size))
        with autograd.record():
            y = a.sum()
        (gradient,) = autograd.grad(y, [a])
        gradient += np.arange(size)
        assert (gradient.asnumpy() == 1 + numpy.arange(size)).all()

    def test_of_parts(self):
        a, b, head = variable([1.0, 2]), variable([3.0]), np.ones(3)
        with autograd.record():
            y = np.concatenate([a, b])
        first, _ = autograd.grad(y, [a, b], head_grads=[head])
        first[:] = 9
        assert head.tolist() == [1, 1, 1]


class TestHeadsOfCustomCode:
    def test_belong_to_the_function(self):
        class Doubled(autograd.Function):
            def forward(self, x):
                return x * 1

            def backward(self, dy):
                dy[:] = dy * 2
                return dy

        a, b, head = variable([1.0, 2]), variable([3.0, 4]), np.ones(2)
        with autograd.record():
            y = Doubled()(a) + b * 1
        y.backward(head)
        assert a.grad.tolist() == [2, 2] and b.grad.tolist() == [1, 1] and head.tolist() == [1, 1]


class Product(HybridBlock):
    def hybrid_forward(self, F, x, w):
        return F.np.dot(x, w)


class TestGradientsThatAreRead:
    """A leaf's array is not written while a pass reads it."""

    @pytest.mark.parametrize("hybridized", [False, True])
    def test_as_the_head_gradient(self, hybridized):
        random = numpy.random.RandomState(1)
        x, w = variable(random.rand(64, 64)), variable(random.rand(64, 64))
        x.grad[:] = np.array(random.rand(64, 64))
        head = x.grad.asnumpy()
        net = Product()
        net.hybridize(hybridized)
        with autograd.record():
            y = net(x, w)
        y.backward(x.grad)
        numpy.testing.assert_allclose(x.grad.asnumpy(), head @ w.asnumpy().T, rtol=1e-4)
        numpy.testing.assert_allclose(w.grad.asnumpy(), x.asnumpy().T @ head, rtol=1e-4)

    def test_by_a_later_step(self):
        u, w = variable([0.1, 0.2]), variable([1.0, 1])
        w.grad[:] = 5
        with autograd.record():
            y = np.tanh(u) + 3 * w
        y.backward(w.grad)
        numpy.testing.assert_allclose(u.grad.asnumpy(), 5 * (1 - numpy.tanh(u.asnumpy()) ** 2), rtol=1e-5)

    def test_by_what_was_recorded(self):
        a, x = variable([1.0, 2]), variable([3.0, 4])
        x.grad[:] = 7
        with autograd.record():
            y = (a * x.grad).sum() + (3 * x).sum()
        y.backward()
        assert a.grad.tolist() == [7, 7] and x.grad.tolist() == [3, 3]


class Deep(HybridBlock):
    def hybrid_forward(self, F, x):
        a = F.np.exp(x)
        c = F.np.tanh(F.np.sin(a))
        d = F.np.exp(F.np.sin(c) * a)
        for _ in range(6):
            d = F.np.tanh(d * a + x) * c
        return d


def test_the_last_of_two_passes_waits_for_the_first():
    net = Deep()
    net.hybridize()
    values = numpy.random.RandomState(2).uniform(-1, 1, (512, 256))
    once = variable(values)
    with autograd.record():
        y = net(once)
    y.backward()
    expected = 2 * once.grad.asnumpy()
    for _ in range(10):
        x = variable(values, "add")
        with autograd.record():
            y = net(x)
        mx.nd.waitall()
        y.backward(retain_graph=True)
        y.backward()
        numpy.testing.assert_allclose(x.grad.asnumpy(), expected, rtol=1e-4, atol=1e-6)


class Modes(HybridBlock):
    def __init__(self):
        super().__init__()
        self.seen = []

    def hybrid_forward(self, F, x):
        self.seen.append((autograd.is_training(), autograd.is_recording()))
        return x * 2


def test_a_traced_block_sees_whether_it_is_recorded():
    net, x = Modes(), variable([1.0])
    net.hybridize()
    with autograd.record():
        net(x)
    net.hybridize()
    with autograd.train_mode():
        net(x)
    net.hybridize()
    net(x)
    assert net.seen[0] == (True, True) and net.seen[-1] == (False, False) and (True, False) in net.seen
