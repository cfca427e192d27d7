"""export_model: names, types, labels and errors of the models it writes."""

import sys

import numpy as np
import pytest

import headrace as mx
from headrace.mxnet import onnx as mx_onnx
from headrace.mxnet.contrib import onnx as contrib_onnx

X = mx.sym.var("x")
Y = mx.sym.var("y")
MATRIX = np.random.default_rng(2).uniform(0.1, 0.9, (2, 4, 5)).astype("float32")


def names_of(path):
    """Inputs and outputs of a model."""
    import onnx

    graph = onnx.load(path).graph
    return [v.name for v in graph.input], [v.name for v in graph.output]


def test_outputs_are_named_after_their_nodes(models):
    parts = mx.sym.split(X * 2, num_outputs=2, axis=1, name="parts")
    path = models.check(mx.sym.Group([mx.sym.relu(X, name="active"), parts]), x=MATRIX)
    assert names_of(path) == (["x"], ["active", "parts0", "parts1"])


def test_a_variable_may_be_an_output_more_than_once(models):
    models.check(mx.sym.Group([X, X + 1, X]), x=MATRIX)


def test_nodes_of_one_name(models):
    models.check(mx.sym.relu(mx.sym.sin(X, name="same") - 0.5, name="same"), x=MATRIX)


def test_labels_of_losses_are_left_out(models):
    fully = mx.sym.FullyConnected(X, num_hidden=6)
    path = models.check(mx.sym.SoftmaxOutput(fully, mx.sym.var("whatever"), name="out"), x=MATRIX)
    assert names_of(path) == (["x"], ["out"])


def test_an_input_named_label_stays(models):
    label = mx.sym.var("score_label")
    path = models.check(X * label, x=MATRIX, score_label=MATRIX + 1)
    assert names_of(path)[0] == ["x", "score_label"]


@pytest.mark.parametrize("dtype", ["float16", "float64", "int32", "int64"])
def test_types(models, dtype):
    data = (MATRIX * 9).astype(dtype)
    models.check((X * 3 - 1) + mx.sym.broadcast_mul(X, Y), 1e-2, x=data, y=data[:, :1])


def test_types_that_mix(models):
    rows = np.array([[0, 3, 1], [2, 4, 1]], "int32")
    table = mx.sym.Embedding(X, input_dim=5, output_dim=3)
    models.check(mx.sym.broadcast_add(table, mx.sym.cast(mx.sym.expand_dims(X, 2) > 1, "float32")), x=rows)


def test_dropout_that_always_drops(models):
    path = mx_onnx.export_model(
        mx.sym.Dropout(X, p=0.5, mode="always"), {}, [(50, 50)], onnx_file_path=models.file()
    )
    (got,) = models.run(path, x=np.ones((50, 50), "float32"))
    assert set(np.unique(got)) == {0, 2}
    assert 0.4 < (got == 0).mean() < 0.6


def test_any_batch(models):
    sizes = {"dynamic": True, "dynamic_input_shapes": [(None, 3)]}
    path = mx_onnx.export_model(X * 2, {}, [(2, 3)], onnx_file_path=models.file(), **sizes)
    (got,) = models.run(path, x=np.ones((5, 3), "float32"))
    assert got.tolist() == [[2, 2, 2]] * 5


def test_shape_inference_tells_all_shapes(models):
    import onnx

    path = models.check(mx.sym.exp(mx.sym.FullyConnected(X, num_hidden=6)), x=MATRIX)
    assert len(onnx.load(path).graph.value_info) >= 1


def test_files_and_lists_of_parameters(models):
    sym = mx.sym.BatchNorm(X, name="norm")
    data = {"x": MATRIX}
    params = models.params(sym, data)
    args = {k: v for k, v in params.items() if not k.startswith("norm_moving")}
    aux = {k: v for k, v in params.items() if k.startswith("norm_moving")}
    mx.model.save_checkpoint(models.file("net"), 0, sym, args, aux)
    want = models.forward(sym, params, data)
    for source in (
        (models.file("net-symbol.json"), models.file("net-0000.params")),
        (sym, [args, aux]),
        (sym, params),
    ):
        path = mx_onnx.export_model(*source, [MATRIX.shape], onnx_file_path=models.file())
        models.same(want, models.run(path, **data), 1e-5)


def test_old_names_of_arguments(models):
    path = mx_onnx.export_model(
        X + 1, {}, input_shape=[(2,)], input_type=np.float64, onnx_file_path=models.file()
    )
    assert models.run(path, x=np.zeros(2))[0].dtype == np.float64


def test_errors(models):
    def export(sym, shapes=((1, 1, 4, 4),), **options):
        return mx_onnx.export_model(sym, {}, shapes, onnx_file_path=models.file(), **options)

    with pytest.raises(mx.MXNetError, match=r"no translation of operator gamma \(node g\)"):
        export(mx.sym.gamma(X, name="g"))
    with pytest.raises(mx.MXNetError, match=r"Pooling \(node p\): pooling_convention=same"):
        export(mx.sym.Pooling(X, kernel=(2, 2), pooling_convention="same", name="p"))
    with pytest.raises(mx.MXNetError, match="mode=always with axes"):
        export(mx.sym.Dropout(X, mode="always", axes=(1,)))
    with pytest.raises(ValueError, match="for each of the inputs"):
        export(X, None)
    with pytest.raises(ValueError, match="needs dynamic=True"):
        export(X, dynamic_input_shapes=[(None, 1, 4, 4)])
    with pytest.raises(ValueError, match="with the axes of"):
        export(X, dynamic=True, dynamic_input_shapes=[(None,)])
    with pytest.raises(ValueError, match="expected a Symbol or its file"):
        mx_onnx.export_model(X, 3, [(1,)], onnx_file_path=models.file())
    with pytest.raises(ValueError, match=">= 13"):
        mx_onnx.get_operator_support(12)


def test_without_onnx(monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ImportError, match="pip install onnx"):
        mx_onnx.export_model(X, {}, [(1,)])


def test_names():
    assert contrib_onnx.export_model is mx_onnx.export_model
    assert mx_onnx.mx2onnx.export_model is mx_onnx.export_model
    assert "Convolution" in mx_onnx.get_operator_support()
