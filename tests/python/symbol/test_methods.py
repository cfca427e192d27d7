"""What symbols can do beside being operated on: composition, texts, and what they refuse."""

import numpy
import pytest

import headrace as mx
from headrace import gluon, nd, sym
from headrace.base import NotImplementedForSymbol
from headrace.util import np_array, np_shape


@pytest.fixture(autouse=True)
def fresh_names():
    with mx.name.NameManager():
        yield


@pytest.fixture
def layer():
    return sym.FullyConnected(sym.var("data"), num_hidden=3, name="fc")


def test_compose_names_the_node(layer):
    made = layer(data=sym.var("x") * 2, name="other")
    assert made.list_outputs() == ["other_output"] and made.list_arguments() == ["x", "fc_weight", "fc_bias"]
    assert layer.list_outputs() == ["fc_output"]
    assert layer(name="alone").list_outputs() == ["alone_output"] and layer.name == "fc"
    both = sym.Group([layer, layer * 2])(data=sym.var("x"), name="z")
    assert both.list_outputs() == ["z_output", "_mulscalar1_output"]
    with pytest.raises(ValueError, match="x is a variable"):
        sym.var("x")(name="y")


def test_compose_says_what_is_wrong(layer):
    with pytest.raises(
        mx.MXNetError, match=r"name foo not found.\nCandidate arguments:\n\t\[0\]data\n\t\[1\]fc_weight"
    ):
        layer(foo=sym.var("x"))
    with pytest.raises(TypeError, match="4 symbols are given"):
        layer(*[sym.var("x")] * 4)
    with pytest.raises(ValueError, match="data must be replaced by one output, got 2"):
        layer(data=sym.Group([sym.var("a"), sym.var("b")]))


def test_compose_shares_what_does_not_change():
    x, y = sym.var("x"), sym.var("y")
    kept = sym.tanh(y)
    made = (sym.sin(x) + kept)(x=sym.var("other"))
    assert made.eval(other=nd.zeros(2), y=nd.zeros(2))[0].asnumpy().tolist() == [0, 0]
    assert (x(x=y)).list_arguments() == ["y"]


def test_debug_str():
    assert (sym.var("x") * 2 + 1).debug_str() == (
        "Symbol Outputs:\n"
        "\toutput[0]=_plusscalar0(0)\n"
        "Variable:x\n"
        "--------------------\n"
        "Op:_mul_scalar, Name=_mulscalar0\n"
        "Inputs:\n"
        "\targ[0]=x(0) version=0\n"
        "Attrs:\n"
        "\tscalar=2\n"
        "--------------------\n"
        "Op:_plus_scalar, Name=_plusscalar0\n"
        "Inputs:\n"
        "\targ[0]=_mulscalar0(0)\n"
        "Attrs:\n"
        "\tscalar=1\n"
    )


@pytest.mark.parametrize(
    "name", ["asnumpy", "asscalar", "backward", "copy", "detach", "wait_to_read", "as_in_context"]
)
def test_symbols_have_no_values(name, layer):
    for one in (layer, layer.as_np_ndarray()):
        with pytest.raises(NotImplementedForSymbol, match=f"Function {name} is not implemented for Symbol"):
            getattr(one, name)()


def test_what_else_symbols_refuse(layer):
    with pytest.raises(NotImplementedForSymbol, match="bind fc and call Executor.backward"):
        layer.gradient(["data"])
    with pytest.raises(NotImplementedForSymbol, match="__bool__"):
        bool(layer)
    with pytest.raises(AttributeError, match="infer_shape"):
        layer.shape  # noqa: B018


def test_split_v2():
    x = nd.array([[1, 2, 3, 4], [5, 6, 7, 8]])
    parts = sym.split_v2(sym.var("x"), 2, axis=1)
    assert len(parts) == 2 and parts[1].eval(x=x)[0].asnumpy().tolist() == [[3, 4], [7, 8]]
    parts = sym.var("x").split_v2((1, 3), axis=1)
    assert [one.shape for one in parts.eval(x=x)] == [(2, 1), (2, 2), (2, 1)]
    assert sym.var("x").split_v2(2, squeeze_axis=True)[0].eval(x=x)[0].asnumpy().tolist() == [1, 2, 3, 4]
    with pytest.raises(ValueError, match="must be positive"):
        sym.split_v2(sym.var("x"), 0)


def test_histogram():
    x = nd.array([0.1, 0.2, 0.6, 0.9])
    counts, edges = sym.histogram(sym.var("x"), 2, (0, 1)).eval(x=x)
    assert counts.asnumpy().tolist() == [2, 2] and edges.asnumpy().tolist() == [0, 0.5, 1]
    counts, _ = sym.histogram(sym.var("x"), sym.var("b")).eval(x=x, b=nd.array([0, 0.15, 1]))
    assert counts.asnumpy().tolist() == [1, 3]
    with pytest.raises(ValueError, match="null range"):
        sym.histogram(sym.var("x"), 2)


@pytest.mark.parametrize("axes", [(), (None,), (0, 2, 1), ((0, 2, 1),), ([2, 0, 1],), (-1, 0, 1)])
def test_transpose_of_np_symbols(axes):
    class Turned(gluon.HybridBlock):
        def hybrid_forward(self, F, x):  # noqa: N803
            return x.transpose(*axes)

    with np_shape(True), np_array(True):
        x = mx.np.arange(24).reshape(2, 3, 4)
        block = Turned()
        eager = block(x).asnumpy()
        block.hybridize()
        assert block(x).asnumpy().tolist() == eager.tolist() == x.asnumpy().transpose(*axes).tolist()


def test_reshape_and_astype_take_names():
    x = sym.var("x")
    assert x.reshape(shape=(-1, 2), name="r").list_outputs() == ["r_output"]
    assert x.reshape((-1,), name="q", attr={"__group__": "a"}).attr("__group__") == "a"
    assert x.astype("float16", name="c").list_outputs() == ["c_output"]


@pytest.mark.parametrize(
    ("name", "dtype"),
    [("float", "float64"), ("int", "int64"), ("f", "float32"), ("<f2", "float16"), ("half", "float16")],
)
def test_dtypes_have_numpy_s_other_names(name, dtype):
    x = sym.var("x", dtype="float32")
    made = [x.astype(name), sym.zeros((2,), dtype=name), sym.one_hot(x, depth=3, dtype=name)]
    for one in made:
        assert one.infer_type()[1] == [numpy.dtype(dtype).type]
        assert f'"dtype": "{dtype}"' in one.tojson()
    with pytest.raises(TypeError, match="dtype"):
        x.astype("flot")
