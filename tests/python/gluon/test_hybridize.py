"""Hybridized blocks give the values and gradients of the same blocks run operator by operator."""

import warnings

import numpy
import pytest

import headrace as mx
from headrace import autograd, gluon, nd, sym
from headrace.base import MXNetError
from headrace.gluon import nn


def same(a, b):
    assert (a.asnumpy() == b.asnumpy()).all()


def close(a, b):
    numpy.testing.assert_allclose(a.asnumpy(), b.asnumpy(), rtol=1e-5, atol=1e-6)


def outcome(net, x, hybrid):
    """Output, gradients of everything and running statistics after one training call."""
    net.hybridize(hybrid)
    x = x.copy()
    x.attach_grad()
    mx.random.seed(3)
    with autograd.record():
        y = net(x)
        y = y[0] if isinstance(y, list) else y
        loss = (y * y).mean()
    loss.backward()
    found = {"output": y.copy(), "input": x.grad.copy()}
    for name, param in net.collect_params().items():
        found[name] = (param.data() if param.grad_req == "null" else param.grad()).copy()
    return found


LAYERS = {
    "dense": (lambda: nn.Dense(4, activation="relu"), (3, 5)),
    "dense unflattened": (lambda: nn.Dense(4, flatten=False, use_bias=False), (3, 2, 5)),
    "conv": (lambda: nn.Conv2D(4, 3, padding=1, strides=2), (2, 3, 8, 8)),
    "conv groups": (lambda: nn.Conv2D(4, 3, groups=2, activation="tanh"), (2, 4, 6, 6)),
    "conv1d": (lambda: nn.Conv1D(4, 3), (2, 3, 8)),
    "transposed": (lambda: nn.Conv2DTranspose(3, 2, strides=2), (2, 3, 4, 4)),
    "max pool": (lambda: nn.MaxPool2D(3, 2, 1), (2, 3, 8, 8)),
    "average pool": (lambda: nn.AvgPool2D(2), (2, 3, 8, 8)),
    "global pool": (lambda: nn.GlobalAvgPool2D(), (2, 3, 8, 8)),
    "batch norm": (lambda: nn.BatchNorm(), (4, 3, 5, 5)),
    "layer norm": (lambda: nn.LayerNorm(), (4, 6)),
    "group norm": (lambda: nn.GroupNorm(2), (2, 4, 3, 3)),
    "instance norm": (lambda: nn.InstanceNorm(), (2, 3, 4, 4)),
    "dropout": (lambda: nn.Dropout(0.5), (20, 5)),
    "flatten": (lambda: nn.Flatten(), (2, 3, 4)),
    "prelu": (lambda: nn.PReLU(), (2, 3)),
    "elu": (lambda: nn.ELU(), (2, 3)),
    "selu": (lambda: nn.SELU(), (2, 3)),
    "gelu": (lambda: nn.GELU(), (2, 3)),
    "swish": (lambda: nn.Swish(), (2, 3)),
    "leaky": (lambda: nn.LeakyReLU(0.1), (2, 3)),
    "lambda": (lambda: nn.HybridLambda(lambda F, x: F.softmax(x) * 2), (2, 3)),
    "reflection": (lambda: nn.ReflectionPad2D(1), (2, 3, 4, 4)),
}


@pytest.mark.parametrize("name", LAYERS)
def test_layers(name):
    make, shape = LAYERS[name]
    net = nn.HybridSequential()
    net.add(make())
    net.initialize()
    x = nd.array(numpy.random.RandomState(0).uniform(-1, 1, shape))
    net(x)
    before = {key: param.data().copy() for key, param in net.collect_params().items()}
    eager = outcome(net, x, False)
    for key, param in net.collect_params().items():
        param.set_data(before[key])
    hybrid = outcome(net, x, True)
    assert eager.keys() == hybrid.keys()
    for key, value in eager.items():
        close(hybrid[key], value)


def test_zoo_network():
    net = gluon.model_zoo.vision.squeezenet1_1(classes=5)
    net.initialize()
    x = nd.array(numpy.random.RandomState(0).uniform(-1, 1, (1, 3, 224, 224)))
    eager = net(x)
    net.hybridize()
    close(net(x), eager)


def three_layers():
    net = nn.HybridSequential(prefix="net_")
    with net.name_scope():
        net.add(nn.Dense(4), nn.BatchNorm(), nn.Dense(3))
    return net


class OutOfOrder(nn.HybridBlock):
    """Uses its layers in another order than it made them."""

    def __init__(self):
        super().__init__(prefix="net_")
        with self.name_scope():
            self.last, self.first = nn.Dense(4), nn.Dense(3)

    def hybrid_forward(self, F, x):
        return self.last(self.first(x))


@pytest.mark.parametrize("make", [three_layers, OutOfOrder])
def test_weights_of_deferred_initialization_do_not_depend_on_it(make):
    weights = []
    for hybrid in (False, True):
        mx.random.seed(11)
        net = make()
        net.initialize(mx.init.Xavier())
        net.hybridize(hybrid)
        net(nd.ones((2, 5)))
        weights.append([param.data() for param in net.collect_params().values()])
    for a, b in zip(*weights):
        same(a, b)


class Nested(nn.HybridBlock):
    def hybrid_forward(self, F, x, states, extra=None):
        a, (b, c) = states
        y = x + a if extra is None else x + a + extra
        return y, [b * c, [c]]


def test_nested_lists_and_none():
    x, a, b, c = (nd.array([float(i)]) for i in range(1, 5))
    expected = Nested()(x, [a, [b, c]])
    net = Nested()
    net.hybridize()
    y, (bc, (last,)) = net(x, [a, [b, c]])
    same(y, expected[0])
    same(bc, b * c)
    same(last, c)
    same(net(x, [a, [b, c]], None)[0], expected[0])
    with pytest.raises(ValueError, match="argument structure"):
        net(x, [a, b])
    with pytest.raises(ValueError, match="argument structure"):
        net(x, [a, [b, c]], x)


def test_inputs_must_be_arrays():
    net = Nested()
    net.hybridize()
    with pytest.raises(ValueError, match="Symbol or NDArray"):
        net(nd.ones(1), [3, [nd.ones(1), nd.ones(1)]])
    with pytest.raises(ValueError):
        net(numpy.ones(1), [nd.ones(1), [nd.ones(1), nd.ones(1)]])


@pytest.mark.parametrize("result", [None, [], ()])
def test_outputs_must_be_arrays(result):
    class Nothing(gluon.HybridBlock):
        def hybrid_forward(self, F, x):
            return result

    block = Nothing()
    block.hybridize()
    with pytest.raises(TypeError, match="must give arrays"):
        block(nd.ones((2,)))


def test_other_ranks_dtypes_and_batch_sizes():
    net = nn.HybridLambda(lambda F, x: F.sum(F.relu(x) * 2, axis=-1))
    net.hybridize()
    for shape in ((3,), (2, 3), (5, 3), (2, 2, 3), (1, 2, 2, 3)):
        for dtype in ("float32", "float64", "int32", "float16"):
            x = nd.ones(shape, dtype=dtype)
            y = net(x)
            assert y.dtype == numpy.dtype(dtype).type
            assert (y.asnumpy() == 6).all()


def test_partial_hybridization():
    inner = nn.HybridSequential()
    inner.add(nn.Dense(4), nn.Dense(3))
    outer = nn.Sequential()
    outer.add(inner, nn.Dense(2))
    outer.initialize()
    x = nd.ones((2, 3))
    expected = outer(x)
    inner.hybridize()
    close(outer(x), expected)
    with pytest.warns(UserWarning, match="HybridSequential"):
        outer.hybridize()
    close(outer(x), expected)
    inner.hybridize(False)
    close(outer(x), expected)


def test_a_child_must_be_hybrid():
    net = nn.HybridSequential()
    with pytest.raises(ValueError, match="must also be HybridBlock"):
        net.add(nn.Sequential())


def test_what_f_is():
    seen = []

    class Shows(nn.HybridBlock):
        def hybrid_forward(self, F, x):
            seen.append((F, type(x).__name__))
            return F.relu(x)

    net = Shows()
    net(nd.ones(1))
    net.hybridize()
    net(nd.ones(1))
    net(nd.ones(1))
    assert seen == [(nd, "NDArray"), (sym, "Symbol")]


def test_parameters_may_change_after_the_trace(tmp_path):
    net = nn.HybridSequential(prefix="net_")
    with net.name_scope():
        net.add(nn.Dense(2, in_units=2, use_bias=False))
    net.initialize(mx.init.One())
    net.hybridize()
    x = nd.ones((1, 2))
    assert net(x).asnumpy().tolist() == [[2, 2]]
    path = str(tmp_path / "net.params")
    net.save_parameters(path)
    net[0].weight.set_data(nd.ones((2, 2)) * 3)
    assert net(x).asnumpy().tolist() == [[6, 6]]
    net.load_parameters(path)
    assert net(x).asnumpy().tolist() == [[2, 2]]
    net.initialize(mx.init.Zero(), force_reinit=True)
    assert net(x).asnumpy().tolist() == [[0, 0]]
    net.cast("float64")
    assert net(x.astype("float64")).dtype == numpy.float64


def test_new_children_are_seen():
    net = nn.HybridSequential()
    net.add(nn.HybridLambda(lambda F, x: x + 1))
    net.hybridize()
    assert net(nd.ones(1)).asscalar() == 2
    net.add(nn.HybridLambda(lambda F, x: x * 10))
    assert net(nd.ones(1)).asscalar() == 20


def test_dropout_draws_the_same_numbers():
    found = []
    for hybrid in (False, True):
        net = nn.HybridSequential()
        net.add(nn.Dropout(0.5), nn.Dropout(0.3))
        net.hybridize(hybrid)
        mx.random.seed(5)
        with autograd.train_mode():
            net(nd.ones((4, 50)))
            found.append(net(nd.ones((4, 50))))
    same(*found)


def test_explain_and_optimize_for():
    net = nn.HybridLambda(lambda F, x: F.relu(x * 2 + 1))
    with pytest.raises(RuntimeError, match="hybridize"):
        net.explain(nd.ones(3))
    net.optimize_for(nd.ones(3), backend="anything", clear=True, option=3)
    text = net.explain(nd.ones(3))
    assert "_fused" in text and "fuses _mul_scalar, _plus_scalar, relu" in text
    for call in (net.explain, net.optimize_for):
        with pytest.raises(ValueError, match="arrays are needed"):
            call(3)


def test_optimize_for_and_explain_do_not_run_the_network():
    net = nn.HybridSequential()
    net.add(nn.BatchNorm(momentum=0.5), nn.Dense(2))
    net.initialize()
    x = nd.array([[2.0], [4.0]])
    with autograd.record():
        net.optimize_for(x, static_alloc=True, static_shape=True)
        net.explain(x)
    assert net[0].running_mean.data().asnumpy().tolist() == [0]
    assert net[1].weight.shape == (2, 1)
    assert net(x).shape == (2, 2)


@pytest.mark.parametrize("is_hybridized", [False, True])
def test_inputs_that_are_no_arrays(is_hybridized):
    net = nn.Dense(2, in_units=3, prefix="fc_")
    net.initialize()
    net.hybridize(is_hybridized)
    message = (
        r"Dense fc: expected an array as first input, got numpy\.ndarray; .* Convert it with mx\.nd\.array"
    )
    with pytest.raises(ValueError, match=message):
        net(numpy.ones((1, 3)))
    with pytest.raises(ValueError, match="got int, list;"):
        net(3, [numpy.ones(2)])
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'x'"):
        net()


def test_operator_hooks():
    net = nn.HybridSequential(prefix="net_")
    with net.name_scope():
        net.add(nn.Dense(2, activation="relu"))
    net.initialize()
    net.hybridize()
    seen = []
    net.register_op_hook(
        lambda name, operator, array: seen.append((name.decode(), operator.decode(), array.shape))
    )
    net(nd.ones((3, 4)))
    assert seen == [
        ("net_dense0_fwd_output", "FullyConnected", (3, 2)),
        ("net_dense0_relu_fwd_output", "Activation", (3, 2)),
    ]


def test_operator_hooks_see_inputs_of_all_operators():
    net = nn.HybridSequential(prefix="net_")
    with net.name_scope():
        net.add(nn.Dense(3, in_units=2), nn.BatchNorm(in_channels=3))
    net.initialize()
    net.hybridize()
    seen = []
    net.register_op_hook(
        lambda name, operator, array: seen.append((name.decode(), operator.decode(), array.shape)), True
    )
    with autograd.record():
        net(nd.ones((4, 2)))
    dense, norm = "FullyConnected", "BatchNorm"
    assert seen == [
        ("net_dense0_fwd_data", dense, (4, 2)),
        ("net_dense0_fwd_weight", dense, (3, 2)),
        ("net_dense0_fwd_bias", dense, (3,)),
        ("net_dense0_fwd_output", dense, (4, 3)),
        ("net_batchnorm0_fwd_data", norm, (4, 3)),
        ("net_batchnorm0_fwd_gamma", norm, (3,)),
        ("net_batchnorm0_fwd_beta", norm, (3,)),
        ("net_batchnorm0_fwd_moving_mean", norm, (3,)),
        ("net_batchnorm0_fwd_moving_var", norm, (3,)),
        ("net_batchnorm0_fwd_output", norm, (4, 3)),
    ]


def test_operator_hooks_of_children():
    class Own(gluon.Block):
        def __init__(self):
            super().__init__()
            self.inner = nn.Sequential()
            self.inner.add(nn.Dense(2, in_units=2, prefix="a_"), nn.Dense(2, in_units=2, prefix="b_"))

        def forward(self, x):
            return self.inner(x)

    net, seen = Own(), []
    net.initialize()
    net.register_op_hook(lambda name, operator, array: seen.append(name.decode()))
    net(nd.ones((1, 2)))
    assert seen == []  # nothing is hybridized
    net.inner[1].hybridize()
    net(nd.ones((1, 2)))
    assert seen == ["b_fwd_output"]
    with pytest.warns(UserWarning, match="HybridSequential"):
        net.hybridize()
    net(nd.ones((1, 2)))
    assert seen == ["b_fwd_output", "a_fwd_output", "b_fwd_output"]


def test_operator_hooks_of_several_outputs():
    class Split(gluon.HybridBlock):
        def hybrid_forward(self, F, x):
            a, b = F.split(x, num_outputs=2, axis=1, name="sp")
            return F.concat(a, b, a, dim=1, name="cc")

    net, seen = Split(prefix="m_"), []
    net.hybridize()
    net.register_op_hook(
        lambda name, operator, array: seen.append((name.decode(), array.asnumpy().tolist())), True
    )
    net(nd.array([[1, 2]]))
    assert seen == [
        ("m_sp_data", [[1, 2]]),
        ("m_sp_output0", [[1]]),
        ("m_sp_output1", [[2]]),
        ("m_cc_arg0", [[1]]),
        ("m_cc_arg1", [[2]]),
        ("m_cc_arg2", [[1]]),
        ("m_cc_output", [[1, 2, 1]]),
    ]


def test_hooks_of_children_warn():
    net = nn.HybridSequential()
    net.add(nn.Dense(2))
    net[0].register_forward_hook(lambda *args: None)
    with pytest.warns(UserWarning, match="hook"):
        net.hybridize()


def test_unused_inputs_warn():
    net = nn.HybridLambda(lambda F, x, y: x + 1)
    net.hybridize()
    with pytest.warns(UserWarning, match="not used"):
        net(nd.ones(1), nd.ones(1))


class Unused(nn.HybridBlock):
    def __init__(self):
        super().__init__(prefix="net_")
        with self.name_scope():
            self.layer, self.other = nn.Dense(2, in_units=2), nn.Dense(3, in_units=2)

    def hybrid_forward(self, F, x):
        return self.layer(x)


def test_one_warning_names_all_unused_parameters():
    net = Unused()
    net.initialize()
    net.hybridize()
    with pytest.warns(UserWarning, match="Parameter .*not used") as caught:
        net(nd.ones((1, 2)))
    (message,) = [str(one.message) for one in caught if "Parameter" in str(one.message)]
    assert "net_dense1_weight" in message and "net_dense1_bias" in message


def test_summary_is_that_of_the_block_before_it_was_hybridized(capsys):
    net = nn.HybridSequential()
    net.add(nn.Dense(3), nn.HybridSequential())
    net[1].add(nn.Dense(2, activation="relu"))
    net.initialize()
    net.summary(nd.ones((1, 2)))
    expected = capsys.readouterr().out
    net.hybridize()
    net(nd.ones((1, 2)))
    net.summary(nd.ones((1, 2)))
    assert capsys.readouterr().out == expected
    net.explain(nd.ones((1, 2)))  # it still is hybridized: a RuntimeError otherwise


def test_infer_shape():
    net = nn.Dense(2)
    net.infer_shape(nd.ones((3, 7)))
    assert net.weight.shape == (2, 7)
    net = nn.HybridLambda(lambda F, x, y: F.dot(x, y))
    net.hybridize()
    with pytest.raises((MXNetError, ValueError)):
        net(nd.ones((2, 3)), nd.ones((2, 3)))
    assert net(nd.ones((2, 3)), nd.ones((3, 1))).shape == (2, 1)


def test_errors_name_the_layer():
    net = nn.HybridSequential(prefix="net_")
    with net.name_scope():
        net.add(nn.Dense(3, in_units=4), nn.Dense(2, in_units=5))
    net.initialize()
    net.hybridize()
    with pytest.raises(
        MXNetError, match=r"Error in operator net_dense1_fwd: FullyConnected: weight must have"
    ):
        net(nd.ones((1, 4)))


def test_static_shape_needs_static_alloc():
    net = nn.Dense(2)
    with pytest.raises(MXNetError, match="static_alloc"):
        net.hybridize(static_shape=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        net.hybridize(static_alloc=True, static_shape=True, inline_limit=3, forward_bulk_size=4)
        net.hybridize(backend="anything", an_option_of_it=3)


@pytest.mark.parametrize(
    "option",
    [
        {"static_alloc": "maybe"},
        {"inline_limit": "x"},
        {"inline_limit": -1},
        {"forward_bulk_size": 1.5},
        {"backward_bulk_size": -2},
    ],
)
def test_options_of_other_types_are_refused(option):
    with pytest.raises(MXNetError, match=next(iter(option))):
        nn.Dense(2).hybridize(**option)


def test_options_change_neither_results_nor_plans():
    x = nd.array([[0.5, -1.0]])
    net = nn.HybridSequential()
    net.add(nn.Dense(3, activation="relu"), nn.Dense(2))
    net.initialize()
    net.hybridize()
    expected, plan = net(x).asnumpy().tolist(), net.explain(x)
    for options in (
        {"static_alloc": True, "static_shape": True},
        {"inline_limit": 0},
        {"forward_bulk_size": 1},
    ):
        net.hybridize(**options)
        assert net(x).asnumpy().tolist() == expected and net.explain(x) == plan


def test_running_statistics_move_once_per_call():
    net = nn.BatchNorm(momentum=0.5, in_channels=1)
    net.initialize()
    net.hybridize()
    x = nd.array([[1.0], [3.0]])
    with autograd.record():
        net(x).sum().backward()
    assert net.running_mean.data().asscalar() == 1
    net(x)
    assert net.running_mean.data().asscalar() == 1
    with autograd.train_mode():
        net(x)
    assert net.running_mean.data().asscalar() == 1.5


def test_split_and_slices():
    net = nn.HybridLambda(lambda F, x: F.concat(*F.split(F.split(x, 2, axis=1)[1], 2, axis=1), dim=0))
    x = nd.arange(16).reshape((4, 4))
    expected = net(x)
    net.hybridize()
    same(net(x), expected)
