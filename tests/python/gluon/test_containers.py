"""Sequential and HybridSequential, Lambda and HybridLambda, and the containers of contrib.nn."""

import numpy
import pytest

import headrace as hr
from headrace import nd
from headrace.gluon import Block, HybridBlock, nn
from headrace.gluon.contrib import nn as contrib

X = numpy.arange(6, dtype="float32").reshape(2, 3) - 2


def close(actual, expected):
    numpy.testing.assert_allclose(actual.asnumpy(), expected, rtol=1e-5, atol=1e-6)


class Plus(HybridBlock):
    def __init__(self, number, **kwargs):
        super().__init__(**kwargs)
        self.number = number

    def hybrid_forward(self, F, x):
        return x + self.number


@pytest.mark.parametrize("kind", [nn.Sequential, nn.HybridSequential])
class TestSequential:
    def test_order(self, array, kind):
        net = kind()
        net.add(Plus(1), nn.LeakyReLU(0.5))
        net.add(Plus(3))
        shifted = X + 1
        close(net(array(X)), numpy.where(shifted > 0, shifted, shifted / 2) + 3)

    def test_items(self, kind):
        net = kind(prefix="net_")
        with net.name_scope():
            net.add(Plus(1), Plus(2), Plus(3))
        assert len(net) == 3
        assert net[1].number == net[-2].number == 2
        part = net[1:]
        assert type(part) is kind and part.prefix == "net_" and len(part) == 2
        assert part[0] is net[1]
        with pytest.raises(IndexError):
            net[3]

    def test_repr(self, kind):
        net = kind()
        assert repr(net) == f"{kind.__name__}(\n\n)"
        net.add(nn.Dense(2, in_units=3), nn.Flatten())
        assert repr(net) == f"{kind.__name__}(\n  (0): Dense(3 -> 2, linear)\n  (1): Flatten\n)"

    def test_only_blocks(self, kind):
        with pytest.raises(TypeError, match=r"Sequential.add: expected Blocks, got function"):
            kind().add(lambda x: x)

    def test_parameters_of_children(self, kind):
        net = kind(prefix="net_")
        with net.name_scope():
            net.add(nn.Dense(2, in_units=3), nn.Dense(1, in_units=2, use_bias=False))
        assert list(net.collect_params()) == ["net_dense0_weight", "net_dense0_bias", "net_dense1_weight"]
        assert list(net._collect_params_with_prefix()) == ["0.weight", "0.bias", "1.weight"]


def test_a_hybrid_container_takes_only_hybrid_blocks():
    with pytest.raises(ValueError, match="Children of HybridBlock must also be HybridBlock"):
        nn.HybridSequential().add(nn.Lambda("relu"))


def test_hybridize_warns_where_one_graph_were_possible():
    net = nn.Sequential()
    net.add(nn.Flatten())
    with pytest.warns(UserWarning, match="Consider using HybridSequential for the best performance"):
        net.hybridize()
    net.add(nn.Lambda("tanh"))
    net.hybridize()


class TestLambda:
    def test_by_name(self, array):
        close(nn.Lambda("tanh")(array(X)), numpy.tanh(X))
        close(nn.HybridLambda("tanh")(array(X)), numpy.tanh(X))
        close(nn.HybridLambda("sigmoid")(array(X)), 1 / (1 + numpy.exp(-X)))

    def test_callables(self, array):
        close(nn.Lambda(lambda x: x + 1)(array(X)), X + 1)
        close(nn.HybridLambda(lambda F, x, y: x + y)(array(X), array(X)), X + X)

    def test_repr(self):
        assert repr(nn.HybridLambda("tanh")) == "HybridLambda(tanh)"
        assert repr(nn.HybridLambda(lambda F, x: x)) == "HybridLambda(<lambda>)"

    @pytest.mark.parametrize("kind", [nn.Lambda, nn.HybridLambda])
    def test_errors(self, kind):
        with pytest.raises(AssertionError, match="Function name nope is not found in ndarray"):
            kind("nope")
        with pytest.raises(ValueError, match="Unrecognized function in lambda"):
            kind(3)


@pytest.mark.parametrize("kind", [contrib.Concurrent, contrib.HybridConcurrent])
def test_concurrent(array, kind):
    net = kind(axis=1)
    net.add(contrib.Identity(), Plus(1), nn.Flatten())
    close(net(array(X)), numpy.concatenate([X, X + 1, X], axis=1))
    assert isinstance(net, Block) and repr(net).startswith(kind.__name__)


def shuffled(x, factors):
    """(N, C f1 f2..., d1, d2, ...) to (N, C, f1 d1, f2 d2, ...)."""
    axes = len(factors)
    channels = x.shape[1] // numpy.prod(factors)
    x = x.reshape(len(x), channels, *factors, *x.shape[2:])
    order = [0, 1]
    for axis in range(axes):
        order += [2 + axes + axis, 2 + axis]
    sizes = [f * n for f, n in zip(factors, x.shape[2 + axes :])]
    return x.transpose(order).reshape(len(x), channels, *sizes)


@pytest.mark.parametrize(
    ("kind", "factor", "shape"),
    [
        ("PixelShuffle1D", 2, (2, 6, 5)),
        ("PixelShuffle2D", 2, (2, 8, 3, 4)),
        ("PixelShuffle2D", (2, 3), (1, 12, 2, 3)),
        ("PixelShuffle3D", (1, 2, 3), (2, 6, 2, 3, 2)),
        ("PixelShuffle3D", 2, (1, 16, 2, 1, 2)),
    ],
)
def test_pixel_shuffle(array, kind, factor, shape):
    x = numpy.arange(numpy.prod(shape), dtype="float32").reshape(shape)
    factors = (factor,) * int(kind[-2]) if isinstance(factor, int) else factor
    close(getattr(contrib, kind)(factor)(array(x)), shuffled(x, factors))


def test_sparse_embedding():
    layer = contrib.SparseEmbedding(4, 3)
    layer.initialize(hr.init.One())
    trainer = hr.gluon.Trainer(layer.collect_params(), "sgd", {"learning_rate": 1})
    x = nd.array([1, 3, 3])
    with hr.autograd.record():
        out = layer(x)
    out.backward()
    assert out.asnumpy().tolist() == [[1, 1, 1]] * 3
    assert layer.weight.grad().indices.asnumpy().tolist() == [1, 3]
    trainer.step(1)
    weight = layer.weight.row_sparse_data(nd.arange(4))
    assert weight.stype == "row_sparse"
    assert weight.asnumpy()[:, 0].tolist() == [1, 0, 1, -1]
    assert repr(layer) == "SparseEmbedding(4 -> 3, float32)"
    with pytest.raises(RuntimeError, match="row_sparse_data"):
        layer.weight.data()


def test_identity_is_the_input():
    x = nd.ones((2,))
    assert contrib.Identity()(x) is x


def test_a_plain_block_says_what_to_do_for_a_plan():
    net = nn.Sequential()
    net.add(nn.Dense(2))
    with pytest.raises(RuntimeError, match="HybridSequential.*hybridize"):
        net.explain(nd.ones((1, 2)))
