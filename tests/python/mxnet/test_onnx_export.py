"""export_model: onnxruntime computes what the symbol computes."""

import sys

import numpy as np
import pytest

import headrace as mx
from headrace.mxnet import onnx as mx_onnx
from headrace.mxnet.contrib import onnx as contrib_onnx


def check(tmp_path, sym, tolerance=1e-5, **data):
    """Random parameters; the symbol's outputs here and in onnxruntime are the same numbers."""
    pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    shapes, _, auxiliary = sym.infer_shape(**{name: value.shape for name, value in data.items()})
    random = np.random.default_rng(3)
    drawn = [
        (name, mx.nd.array(random.uniform(0.1, 0.9, shape).astype("float32")))
        for name, shape in (
            *zip(sym.list_arguments(), shapes),
            *zip(sym.list_auxiliary_states(), auxiliary),
        )
    ]
    inputs = {name: mx.nd.array(value) for name, value in data.items()}
    params = {name: value for name, value in drawn if name not in inputs and not name.endswith("label")}
    aux = {name: params[name] for name in sym.list_auxiliary_states()}
    args = {name: inputs.get(name, value) for name, value in drawn if name not in aux}
    want = [out.asnumpy() for out in sym.bind(mx.cpu(), args, aux_states=aux).forward(is_train=False)]
    order = [name for name in sym.list_inputs() if name in inputs]
    path = mx_onnx.export_model(
        sym,
        params,
        [inputs[name].shape for name in order],
        onnx_file_path=str(tmp_path / "model.onnx"),
        run_shape_inference=True,
    )
    session = runtime.InferenceSession(path, providers=["CPUExecutionProvider"])
    got = session.run(None, {name: inputs[name].asnumpy() for name in order})
    assert len(got) == len(want)
    for ours, theirs in zip(want, got):
        assert ours.shape == theirs.shape
        np.testing.assert_allclose(theirs, ours, rtol=tolerance, atol=tolerance)


X = mx.sym.var("x")
Y = mx.sym.var("y")
IMAGE = np.random.default_rng(1).uniform(-1, 1, (2, 3, 9, 8)).astype("float32")
MATRIX = np.random.default_rng(2).uniform(0.1, 0.9, (2, 4, 5)).astype("float32")

POINTWISE = [
    "relu",
    "sigmoid",
    "tanh",
    "softsign",
    "exp",
    "log",
    "sqrt",
    "abs",
    "sin",
    "cos",
    "tan",
    "arcsin",
    "arccos",
]
POINTWISE += [
    "arctan",
    "sinh",
    "cosh",
    "erf",
    "floor",
    "ceil",
    "reciprocal",
    "negative",
    "square",
    "BlockGrad",
    "identity",
]
BROADCAST = ["add", "sub", "mul", "div", "power", "maximum", "minimum"]

GRAPHS = {
    "scalars": 2 - (X * 3 + 1 - 0.5) / 2 + 1 / X + X**2,
    "elementwise": X + X * X - X / (X + 2),
    "scalar_limits": mx.sym.maximum(X, 0.5) + mx.sym.minimum(X, 0.4),
    "add_n": mx.sym.add_n(X, X, X),
    "leaky": mx.sym.LeakyReLU(X - 0.5, slope=0.1),
    "elu": mx.sym.LeakyReLU(X - 0.5, act_type="elu", slope=0.7),
    "gelu": mx.sym.LeakyReLU(X - 0.5, act_type="gelu"),
    "softrelu": mx.sym.Activation(X, act_type="softrelu"),
    "softmax": mx.sym.softmax(X, axis=1),
    "log_softmax": mx.sym.log_softmax(X),
    "layer_norm": mx.sym.LayerNorm(X, eps=1e-3),
    "dense": mx.sym.FullyConnected(X, num_hidden=6),
    "dense_rows": mx.sym.FullyConnected(X, num_hidden=6, flatten=False, no_bias=True),
    "softmax_output": mx.sym.SoftmaxOutput(mx.sym.FullyConnected(X, num_hidden=6), name="out"),
    "reshape": mx.sym.reshape(X, shape=(0, -1)),
    "flatten": mx.sym.flatten(X),
    "transpose": mx.sym.transpose(X, axes=(2, 0, 1)),
    "transpose_all": mx.sym.transpose(X),
    "expand_dims": mx.sym.expand_dims(X, axis=1),
    "concat": mx.sym.concat(X, X * 2, dim=2),
    "attention": mx.sym.batch_dot(mx.sym.softmax(mx.sym.batch_dot(X, X, transpose_b=True)), X),
    "transposed_product": mx.sym.batch_dot(X, X, transpose_a=True),
    "sum": mx.sym.sum(X, axis=(0, 2)),
    "sum_all": mx.sym.sum(X),
    "mean": mx.sym.mean(X, axis=1, keepdims=True),
    "max": mx.sym.max(X, axis=-1),
    "min": mx.sym.min(X, axis=0),
    "two_outputs": mx.sym.Group([X + 1, X * 2]),
}

IMAGES = {
    "convolution": mx.sym.Convolution(X, kernel=(3, 3), num_filter=4, pad=(1, 0), stride=(2, 1)),
    "dilated": mx.sym.Convolution(X, kernel=(2, 3), num_filter=6, num_group=3, dilate=(2, 1), no_bias=True),
    "max_pool": mx.sym.Pooling(X, kernel=(2, 2), stride=(2, 2), pool_type="max"),
    "average_pool": mx.sym.Pooling(X, kernel=(3, 3), pad=(1, 1), pool_type="avg"),
    "uncounted": mx.sym.Pooling(X, kernel=(3, 3), pad=(1, 1), pool_type="avg", count_include_pad=False),
    "global_pool": mx.sym.Pooling(X, global_pool=True, kernel=(1, 1), pool_type="avg"),
    "batch_norm": mx.sym.BatchNorm(X, fix_gamma=False),
    "fixed_gamma": mx.sym.BatchNorm(X, eps=1e-5),
}


@pytest.mark.parametrize("name", POINTWISE)
def test_pointwise(tmp_path, name):
    check(tmp_path, getattr(mx.sym, name)(X), x=MATRIX)


@pytest.mark.parametrize("name", BROADCAST)
def test_broadcast(tmp_path, name):
    check(tmp_path, getattr(mx.sym, f"broadcast_{name}")(X, Y), x=MATRIX, y=MATRIX[:, :1])


@pytest.mark.parametrize("name", GRAPHS)
def test_graphs(tmp_path, name):
    check(tmp_path, GRAPHS[name], x=MATRIX)


@pytest.mark.parametrize("name", IMAGES)
def test_images(tmp_path, name):
    check(tmp_path, IMAGES[name], x=IMAGE)


def test_embedding_clips(tmp_path):
    rows = np.array([[0, 3, 9], [-2, 4, 1]], "float32")
    check(tmp_path, mx.sym.Embedding(X, input_dim=5, output_dim=3), x=rows)


@pytest.mark.parametrize("name", ["resnet18_v1", "mobilenet0_25"])
def test_zoo(tmp_path, name):
    runtime = pytest.importorskip("onnxruntime")
    pytest.importorskip("onnx")
    net = getattr(mx.gluon.model_zoo.vision, name)(classes=10)
    net.initialize(mx.init.Xavier())
    net.hybridize()
    data = mx.nd.random.uniform(shape=(1, 3, 64, 64))
    want = net(data).asnumpy()
    net.export(str(tmp_path / "net"))
    files = [str(tmp_path / name) for name in ("net-symbol.json", "net-0000.params")]
    path = mx_onnx.export_model(*files, [(1, 3, 64, 64)], onnx_file_path=str(tmp_path / "net.onnx"))
    session = runtime.InferenceSession(path, providers=["CPUExecutionProvider"])
    np.testing.assert_allclose(session.run(None, {"data": data.asnumpy()})[0], want, rtol=1e-3, atol=1e-4)


def test_any_batch(tmp_path):
    pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    path = mx_onnx.export_model(
        X * 2,
        {},
        [(2, 3)],
        onnx_file_path=str(tmp_path / "m"),
        dynamic=True,
        dynamic_input_shapes=[(None, 3)],
    )
    session = runtime.InferenceSession(path, providers=["CPUExecutionProvider"])
    assert session.run(None, {"x": np.ones((5, 3), "float32")})[0].tolist() == [[2, 2, 2]] * 5


def test_errors(tmp_path):
    pytest.importorskip("onnx")
    path = str(tmp_path / "m")
    with pytest.raises(mx.MXNetError, match="no translation of operator topk"):
        mx_onnx.export_model(mx.sym.topk(X), {}, [(2, 3)], onnx_file_path=path)
    with pytest.raises(mx.MXNetError, match="pooling_convention=full"):
        pool = mx.sym.Pooling(X, kernel=(2, 2), pooling_convention="full")
        mx_onnx.export_model(pool, {}, [(1, 1, 4, 4)], onnx_file_path=path)
    with pytest.raises(ValueError, match="for each of the inputs"):
        mx_onnx.export_model(X, {}, onnx_file_path=path)
    with pytest.raises(ValueError, match=">= 13"):
        mx_onnx.get_operator_support(12)


def test_without_onnx(monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ImportError, match="pip install onnx"):
        mx_onnx.export_model(X, {}, [(1,)])


def test_names():
    assert contrib_onnx.export_model is mx_onnx.export_model
    assert "Convolution" in mx_onnx.get_operator_support()
