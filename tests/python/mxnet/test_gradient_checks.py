"""headrace.mxnet.test_utils: checks of symbols, devices, blocks and optimizers find what is wrong."""

import numpy as np
import pytest

import headrace as mx
from headrace.mxnet import test_utils as tools

a, b = mx.sym.Variable("a"), mx.sym.Variable("b")


@pytest.fixture(autouse=True)
def seeded():
    np.random.seed(3)
    mx.random.seed(3)


def blocked(x):
    """x whose gradient is (wrongly) half of it."""
    return 0.5 * x + mx.sym.BlockGrad(0.5 * x)


def test_forward():
    x, y = np.array([[1.0, 2], [3, 4]]), np.array([[5.0, 6], [7, 8]])
    product = mx.sym.dot(a, b, name="product")
    (out,) = tools.check_symbolic_forward(product, [x, y], [x @ y])
    assert out.asnumpy().tolist() == (x @ y).tolist()
    tools.check_symbolic_forward(product, {"b": y, "a": x}, {"product_output": x @ y})
    with pytest.raises(AssertionError, match="EXPECTED_product_output"):
        tools.check_symbolic_forward(product, [y, x], [x @ y])
    with pytest.raises(ValueError, match="do not match"):
        tools.check_symbolic_forward(product, {"a": x}, [x])
    out = tools.check_symbolic_forward(a + 1, [np.array([2], dtype="int32")], [[3]], dtype="asnumpy")
    assert out[0].dtype == np.int32
    assert tools.simple_forward(product, a=x, b=y).tolist() == (x @ y).tolist()
    assert len(tools.simple_forward(mx.sym.Group([a + b, a - b]), a=x, b=y)) == 2


def test_backward():
    x, y, head = (np.random.randn(2, 3) for _ in range(3))
    got = tools.check_symbolic_backward(a * b, [x, y], [head], [head * y, head * x])
    assert set(got) == {"a", "b"}
    tools.check_symbolic_backward(a * b, [x, y], [head], {"a": head * y}, 1e-4, 1e-5, grad_req={"a": "add"})
    product = mx.sym.elemwise_mul(a, b, name="product")
    tools.check_symbolic_backward(
        product, [x, y], {"product_output": head}, {"b": head * x}, 1e-4, 1e-5, grad_req=["null", "add"]
    )
    with pytest.raises(AssertionError, match="BACKWARD_a"):
        tools.check_symbolic_backward(blocked(a), [x], [head], [head])


@pytest.mark.parametrize("stype", ["row_sparse", "csr", "default", None])
@pytest.mark.parametrize("request_", ["write", "add"])
def test_gradients_are_stored_as_asked(stype, request_):
    x, head = np.array([[1.0, 2.0], [0.0, 0.0]]), np.array([[3.0, 0.0], [0.0, 0.0]])
    options = {"grad_stypes": {"a": stype}, "grad_req": request_, "rtol": 1e-4, "atol": 1e-4}
    got = tools.check_symbolic_backward(mx.sym.square(a), [x], [head], [2 * x * head], **options)
    assert got["a"].stype == (stype or "default")
    tools.check_numeric_gradient(
        mx.sym.square(a), [x], rtol=1e-2, atol=1e-2, grad_nodes={"a": request_}, grad_stype_dict={"a": stype}
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_finite_differences(dtype):
    x, y = np.random.randn(2, 3), np.random.randn(3, 2)
    options = {"rtol": 1e-2, "atol": 1e-3, "dtype": dtype}
    tools.check_numeric_gradient(mx.sym.dot(a, b), [x, y], **options)
    tools.check_numeric_gradient(mx.sym.dot(a, b), [x, y], grad_nodes=["b"], **options)
    tools.check_numeric_gradient(mx.sym.dot(a, b), [x, y], grad_nodes={"a": "add", "b": "null"}, **options)
    with pytest.raises(AssertionError, match="NUMERICAL_a"):
        tools.check_numeric_gradient(blocked(a), [x], **options)
    with pytest.raises(AssertionError, match="NUMERICAL_a"):
        tools.check_numeric_gradient(blocked(a), [x], grad_nodes={"a": "add"}, **options)


def test_finite_differences_of_states_and_scalars():
    net = mx.sym.BatchNorm(a, name="bn", fix_gamma=False)
    states = {"bn_moving_mean": np.full(3, 0.5), "bn_moving_var": np.full(3, 2.0)}
    location = [np.random.randn(2, 3), np.ones(3), np.zeros(3)]
    tools.check_numeric_gradient(
        net, location, states, numeric_eps=1e-2, rtol=0.05, atol=1e-2, use_forward_train=False, grad_nodes=[]
    )
    with mx.np_shape():
        x = mx.sym.Variable("x").as_np_ndarray()
        tools.check_numeric_gradient(mx.sym.np.sin(x), [np.array(0.3)], rtol=1e-2, atol=1e-3)
        tools.check_numeric_gradient(mx.sym.np.sin(x), [np.zeros((0, 2))])


def test_numeric_grad_restores_the_arguments():
    x = {"a": np.array([1.0, 2.0], dtype="float32")}
    executor = (a * a).bind(mx.cpu(), args={"a": mx.nd.array(x["a"])})
    slopes = tools.numeric_grad(executor, x, eps=2**-8)
    np.testing.assert_allclose(slopes["a"], [2, 4], rtol=1e-3)
    assert executor.arg_dict["a"].asnumpy().tolist() == [1, 2]


def test_same_on_all_devices(capsys):
    where = [
        {"ctx": mx.cpu(i), "a": (2, 4), "type_dict": {"a": dtype}}
        for i, dtype in enumerate(("float32", "float64"))
    ]
    net = mx.sym.FullyConnected(a, num_hidden=3, name="fc")
    truth = tools.check_consistency(net, where)
    assert truth["fc_output"].dtype == np.float64 and truth["fc_weight"].shape == (3, 4)
    tools.check_consistency(net, where, grad_req="add", use_uniform=True)
    tools.check_consistency(net, where, grad_req="null")
    other_values = [mx.sym.relu(a, name="x"), mx.sym.abs(a, name="x")]
    with pytest.raises(AssertionError):
        tools.check_consistency(other_values, where)
    assert "Predict Err: ctx 0 vs ctx 1 at x_output" in capsys.readouterr().out
    other_gradients = [mx.sym.identity(a, name="x"), mx.sym.BlockGrad(a, name="x")]
    with pytest.raises(AssertionError):
        tools.check_consistency(other_gradients, where)
    assert "Train Err: ctx 0 vs ctx 1 at a" in capsys.readouterr().out
    tools.check_consistency(other_gradients, where, grad_req="null")
    tools.check_consistency(other_gradients, where, raise_on_err=False)


def test_hybridized_and_not():
    class Scaled(mx.gluon.HybridBlock):
        def __init__(self, wrong, **kwargs):
            super().__init__(**kwargs)
            self._wrong = wrong
            with self.name_scope():
                self.scale = self.params.get("scale", shape=(3,), init=mx.init.Constant(3))

        def hybrid_forward(self, F, x, scale):  # noqa: N803
            return F.np.sin(x) * scale * (2 if self._wrong and isinstance(x, mx.sym.Symbol) else 1)

    data = [mx.np.array(np.random.randn(2, 3))]
    tools.check_gluon_hybridize_consistency(lambda prefix: Scaled(False, prefix=prefix), data)
    with pytest.raises(AssertionError, match="exceeds"):
        tools.check_gluon_hybridize_consistency(lambda prefix: Scaled(True, prefix=prefix), data)
    with pytest.raises(AssertionError, match="exceeds"):
        tools.check_gluon_hybridize_consistency(lambda prefix: Scaled(False, prefix=prefix), data, np.cos)
    assert not mx.util.is_np_array()


def test_optimizers():
    make = mx.optimizer.create
    tools.compare_optimizer(make("sgd", momentum=0.9), make("sgd", momentum=0.9), (3, 4), "float32")
    with pytest.raises(AssertionError):
        tools.compare_optimizer(make("sgd"), make("sgd", learning_rate=0.5), (3, 4), "float32")
    shapes = [(3,), (2, 2)]
    tools.compare_optimizer(
        make("sgd", momentum=0.9), make("sgd", momentum=0.9), shapes, "float32", ntensors=2
    )
    with pytest.raises(AssertionError):
        tools.compare_optimizer(make("sgd"), make("sgd", wd=0.5), shapes, "float32", ntensors=2)


def test_optimizers_of_sparse_arrays():
    class Dense(mx.optimizer.SGD):
        def update(self, index, weight, grad, state):
            assert weight[0][0].stype == grad[0][0].stype == "default"
            super().update(index, weight, grad, state)

    tools.compare_optimizer(
        Dense(lazy_update=False),
        mx.optimizer.SGD(lazy_update=False),
        (3, 4),
        "float32",
        w_stype="row_sparse",
        g_stype="row_sparse",
    )


def test_speed_is_a_number_of_seconds():
    assert tools.check_speed(a * b, N=1, a=(2, 2), b=(2, 2)) > 0
    assert tools.check_speed(a * b, {"a": np.ones(2), "b": np.ones(2)}, N=1, typ="forward") > 0
    with pytest.raises(ValueError, match="typ"):
        tools.check_speed(a * b, typ="backward", a=(2,), b=(2,))


def test_structure():
    assert tools.same_symbol_structure(a + b, mx.sym.Variable("x") + mx.sym.Variable("y"))
    assert not tools.same_symbol_structure(a + b, a * b)


def test_numeric_grad_takes_arrays_of_either_kind():
    executor = (mx.sym.var("x") * mx.sym.var("x")).simple_bind(mx.cpu(), x=(2,))
    found = [
        tools.numeric_grad(executor, {"x": x}, eps=0.01)["x"]
        for x in (mx.nd.array([1, 3]), np.array([1.0, 3]))
    ]
    np.testing.assert_allclose(found, [[2, 6], [2, 6]], rtol=1e-3)
