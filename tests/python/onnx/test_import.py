"""import_model, import_to_gluon and get_model_metadata: conventions, versions of operators, and errors."""

import sys

import numpy as np
import pytest

import headrace as mx
from headrace.mxnet.contrib import onnx as contrib_onnx

RANDOM = np.random.default_rng(7)


def drawn(*shape):
    return RANDOM.uniform(-1, 1, shape).astype("float32")


class Maker:
    """Writes ONNX models of a few nodes."""

    def __init__(self, models):
        import onnx

        self.onnx, self.models = onnx, models

    def node(self, operator, inputs, outputs, name="", **options):
        return self.onnx.helper.make_node(operator, inputs, outputs, name, **options)

    def file(self, nodes, inputs, outputs, constants=None, opset=13):
        """A file of nodes; `inputs` are shapes or arrays by name, `outputs` names."""
        helper, shapes = (
            self.onnx.helper,
            {n: np.shape(v) if hasattr(v, "dtype") else v for n, v in inputs.items()},
        )
        kinds = {
            n: helper.np_dtype_to_tensor_dtype(v.dtype) if hasattr(v, "dtype") else 1
            for n, v in inputs.items()
        }
        graph = helper.make_graph(
            nodes,
            "graph",
            [helper.make_tensor_value_info(n, kinds[n], list(shapes[n])) for n in inputs],
            [helper.make_tensor_value_info(n, 1, None) for n in outputs],
            [self.onnx.numpy_helper.from_array(np.asarray(v), n) for n, v in (constants or {}).items()],
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=7)
        path = self.models.file()
        self.onnx.save(model, path)
        return path

    def outputs(self, nodes, inputs, outputs, constants=None, opset=13):
        """The outputs here."""
        return self.models.imported(self.file(nodes, inputs, outputs, constants, opset), **inputs)

    def check(self, nodes, inputs, outputs, constants=None, opset=13, tolerance=1e-5):
        """The outputs here are those of onnxruntime."""
        path = self.file(nodes, inputs, outputs, constants, opset)
        self.models.same(self.models.run(path, **inputs), self.models.imported(path, **inputs), tolerance)


@pytest.fixture
def make(models):
    return Maker(models)


def perceptron(make, opset=13):
    nodes = [
        make.node("Gemm", ["x", "w", "b"], ["h"], "dense", transB=1),
        make.node("BatchNormalization", ["h", "gamma", "beta", "mean", "var"], ["n"], "norm", epsilon=1e-3),
        make.node("Relu", ["n"], ["y"], "active"),
    ]
    constants = {"w": drawn(4, 5), "b": drawn(4), "gamma": drawn(4), "beta": drawn(4)}
    constants.update(mean=drawn(4), var=drawn(4) + 2)
    return nodes, constants


def test_what_comes_back(make):
    nodes, constants = perceptron(make)
    path = make.file(nodes, {"x": (2, 5)}, ["y"], constants)
    sym, args, aux = contrib_onnx.import_model(path)
    assert isinstance(sym, mx.sym.Symbol)
    assert sym.list_outputs() == ["active_output"]
    assert set(args) == {"w", "b", "gamma", "beta"}
    assert set(aux) == {"mean", "var"}
    assert set(sym.list_arguments()) == {"x", *args}
    np.testing.assert_array_equal(args["w"].asnumpy(), constants["w"])


def test_metadata(make):
    nodes, constants = perceptron(make)
    path = make.file(nodes, {"x": ("batch", 5)}, ["y"], constants)
    assert contrib_onnx.get_model_metadata(path) == {
        "input_tensor_data": [("x", (0, 5), 1)],
        "output_tensor_data": [("y", ())],
    }


def test_module(make):
    nodes, constants = perceptron(make)
    path = make.file(nodes, {"x": (2, 5)}, ["y"], constants)
    sym, args, aux = contrib_onnx.import_model(path)
    module = mx.mod.Module(sym, data_names=["x"], label_names=None)
    module.bind([("x", (2, 5))], for_training=False)
    module.set_params(args, aux, allow_missing=True, allow_extra=True)
    data = drawn(2, 5)
    module.forward(mx.io.DataBatch([mx.nd.array(data)]), is_train=False)
    make.models.same(make.models.run(path, x=data), [module.get_outputs()[0].asnumpy()], 1e-5)


@pytest.mark.parametrize("ctx", [mx.cpu(), [mx.cpu(0), mx.cpu(1)]])
def test_gluon(make, ctx):
    nodes, constants = perceptron(make)
    path = make.file(nodes, {"x": (2, 5)}, ["y"], constants)
    net = contrib_onnx.import_to_gluon(path, ctx)
    assert isinstance(net, mx.gluon.SymbolBlock)
    data = drawn(2, 5)
    for each in ctx if isinstance(ctx, list) else [ctx]:
        got = net(mx.nd.array(data, ctx=each))
        make.models.same(make.models.run(path, x=data), [got.asnumpy()], 1e-5)


def test_an_imported_net_learns(make):
    nodes, constants = perceptron(make)
    net = contrib_onnx.import_to_gluon(make.file(nodes, {"x": (2, 5)}, ["y"], constants), mx.cpu())
    trainer = mx.gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
    data, losses = mx.nd.array(drawn(2, 5)), []
    for _ in range(5):
        with mx.autograd.record():
            loss = ((net(data) - 1) ** 2).mean()
        loss.backward()
        trainer.step(1)
        losses.append(loss.asscalar())
    assert losses[-1] < losses[0]


def test_lists_are_inputs_or_attributes(make):
    """The same nodes in the forms of old and new versions of the operators."""
    data = {"x": drawn(2, 3, 4)}
    old = [
        make.node("Unsqueeze", ["x"], ["a"], axes=[0, 4]),
        make.node("Squeeze", ["a"], ["b"], axes=[0]),
        make.node("Slice", ["b"], ["c"], starts=[1, 0], ends=[9, -1], axes=[1, 2]),
        make.node("Clip", ["c"], ["d"], min=-0.5, max=0.5),
        make.node("Pad", ["d"], ["e"], pads=[0, 1, 0, 0, 0, 0, 2, 0], value=3.0),
        make.node("Split", ["e"], ["f", "g"], axis=1, split=[1, 2]),
        make.node("ReduceSum", ["g"], ["h"], axes=[1]),
        make.node("Dropout", ["h"], ["i"], ratio=0.3),
    ]
    new = [
        make.node("Unsqueeze", ["x", "04"], ["a"]),
        make.node("Squeeze", ["a", "0"], ["b"]),
        make.node("Slice", ["b", "begin", "end", "12"], ["c"]),
        make.node("Clip", ["c", "low", "high"], ["d"]),
        make.node("Pad", ["d", "pads", "three"], ["e"]),
        make.node("Split", ["e", "12"], ["f", "g"], axis=1),
        make.node("ReduceSum", ["g", "1"], ["h"]),
        make.node("Dropout", ["h", "ratio"], ["i"]),
    ]
    integers = {"04": [0, 4], "0": [0], "begin": [1, 0], "end": [9, -1], "12": [1, 2], "1": [1]}
    integers["pads"] = [0, 1, 0, 0, 0, 0, 2, 0]
    constants = {name: np.array(value, "int64") for name, value in integers.items()}
    constants.update(low=np.float32(-0.5), high=np.float32(0.5), three=np.float32(3), ratio=np.float32(0.3))
    outputs = ["f", "i"]
    make.models.same(
        make.outputs(old, data, outputs, opset=9), make.outputs(new, data, outputs, constants), 0
    )
    make.check(new, data, outputs, constants)


@pytest.mark.parametrize("opset", [7, 9, 11, 12, 13, 17])
def test_versions(make, opset):
    data = {"x": drawn(2, 3, 4, 4)}
    nodes = [
        make.node("Conv", ["x", "w"], ["a"], auto_pad="SAME_UPPER", strides=[2, 2]),
        make.node("Softmax", ["a"], ["b"], axis=1),
        make.node("Flatten", ["b"], ["c"], axis=2),
        make.node("LogSoftmax", ["c"], ["y"], axis=1),
    ]
    make.check(nodes, data, ["y"], {"w": drawn(5, 3, 3, 3)}, opset=opset)


def test_shapes_computed_as_pytorch_does(make):
    """x.view(x.size(0), -1) of a batch of any size, and sizes put together of others."""
    nodes = [
        make.node("Shape", ["x"], ["shape"]),
        make.node("Constant", [], ["zero"], value=make.onnx.numpy_helper.from_array(np.array(0))),
        make.node("Gather", ["shape", "zero"], ["size"], axis=0),
        make.node("Unsqueeze", ["size", "front"], ["sizes"]),
        make.node("Concat", ["sizes", "rest"], ["target"], axis=0),
        make.node("Reshape", ["x", "target"], ["y"]),
    ]
    constants = {"front": np.array([0]), "rest": np.array([-1])}
    path = make.file(nodes, {"x": ("batch", 3, 4)}, ["y"], constants)
    data = drawn(5, 3, 4)
    make.models.same([data.reshape(5, 12)], make.models.imported(path, x=data), 0)


@pytest.mark.parametrize("operator", ["LSTM", "GRU", "RNN"])
@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
def test_recurrent_layers(make, operator, direction):
    gates, ways = {"LSTM": 4, "GRU": 3, "RNN": 1}[operator], 1 + (direction == "bidirectional")
    constants = {"w": drawn(ways, gates * 3, 4), "r": drawn(ways, gates * 3, 3), "b": drawn(ways, gates * 6)}
    options = {"linear_before_reset": 1} if operator == "GRU" else {}
    nodes = [
        make.node(operator, ["x", "w", "r", "b"], ["y", "h"], hidden_size=3, direction=direction, **options),
    ]
    make.check(nodes, {"x": drawn(5, 2, 4)}, ["y", "h"], constants)
    lengths = {"lengths": np.array([2, 5], "int32")}
    nodes = [
        make.node(
            operator, ["x", "w", "r", "b", "lengths"], ["y"], hidden_size=3, direction=direction, **options
        ),
    ]
    make.check(nodes, {"x": drawn(5, 2, 4), **lengths}, ["y"], constants)


def test_truth_values_are_numbers(make):
    nodes = [
        make.node("Greater", ["x", "zero"], ["a"]),
        make.node("Not", ["a"], ["b"]),
        make.node("Or", ["a", "b"], ["c"]),
        make.node("Where", ["a", "x", "zero"], ["y"]),
        make.node("Cast", ["c"], ["z"], to=1),
    ]
    make.check(nodes, {"x": drawn(2, 3)}, ["y", "z"], {"zero": np.float32(0)})


def test_a_constant_shared_and_a_name_used_twice(make):
    nodes = [
        make.node("Add", ["x", "w"], ["a"], "same"),
        make.node("Mul", ["a", "w"], ["b"], "same"),
        make.node("Sub", ["b", "w"], ["y"], "w"),
    ]
    data, weight = drawn(2, 3), drawn(3)
    (got,) = make.outputs(nodes, {"x": data}, ["y"], {"w": weight})
    np.testing.assert_allclose(got, (data + weight) * weight - weight, rtol=1e-5, atol=1e-6)


def test_unknown_operators_are_named(make):
    path = make.file([make.node("NonZero", ["x"], ["y"], "counting")], {"x": (2, 3)}, ["y"])
    with pytest.raises(mx.MXNetError, match=r"NonZero \(node counting\): this operator has no translation"):
        contrib_onnx.import_model(path)
    with pytest.raises(mx.MXNetError, match="counting"):
        contrib_onnx.import_to_gluon(path, mx.cpu())


def test_options_without_translation_are_named(make):
    for node, text in (
        (make.node("MaxPool", ["x"], ["y"], "p", kernel_shape=[2, 2], dilations=[2, 2]), "dilations"),
        (make.node("Cast", ["x"], ["y"], "p", to=16), "bfloat16"),
        (make.node("Reshape", ["x", "s"], ["y"], "p"), "its input s to be a constant"),
        (make.node("CumSum", ["x", "one"], ["y"], "p", exclusive=1), "exclusive=1"),
    ):
        path = make.file([node], {"x": (1, 1, 4, 4), "s": np.ones(2, "int64")}, ["y"], {"one": np.array(1)})
        with pytest.raises(mx.MXNetError, match=rf"\(node p\): .*{text}"):
            contrib_onnx.import_model(path)


def test_what_nobody_reads_is_no_error(make):
    nodes = [make.node("NonZero", ["x"], ["z"]), make.node("Relu", ["x"], ["y"])]
    make.check(nodes, {"x": drawn(2, 3)}, ["y"])


def test_graphs_in_graphs_are_refused(make):
    helper = make.onnx.helper
    branch = helper.make_graph(
        [make.node("Relu", ["x"], ["z"])], "branch", [], [helper.make_tensor_value_info("z", 1, None)]
    )
    nodes = [make.node("If", ["c"], ["y"], "choice", then_branch=branch, else_branch=branch)]
    path = make.file(nodes, {"x": (2,), "c": np.array(True)}, ["y"])
    with pytest.raises(mx.MXNetError, match=r"If \(node choice\)"):
        contrib_onnx.import_model(path)


def test_constants_that_would_be_large_are_not_made(make):
    nodes = [
        make.node("ConstantOfShape", ["shape"], ["a"]),
        make.node("Expand", ["a", "shape"], ["b"]),
        make.node("Range", ["zero", "end", "one"], ["y"], "numbers"),
    ]
    constants = {
        "shape": np.array([2**20, 2**20]),
        "zero": np.array(0),
        "one": np.array(1),
        "end": np.array(2**40),
    }
    path = make.file(nodes, {"x": (2,)}, ["y"], constants)
    with pytest.raises(mx.MXNetError, match=r"Range \(node numbers\)"):
        contrib_onnx.import_model(path)


def test_long_chains_of_constants(make):
    count = 3000
    nodes = [make.node("Add", [f"c{i}", f"c{i}"], [f"c{i + 1}"]) for i in range(count)]
    nodes.append(make.node("MatMul", ["x", f"c{count}"], ["y"]))
    make.check(nodes, {"x": drawn(2, 5)}, ["y"], {"c0": np.zeros((5, 5), "float32")})


def test_broken_files(make):
    nodes, constants = perceptron(make)
    path = make.file(nodes, {"x": (2, 5)}, ["y"], constants)
    with open(path, "rb") as file:
        whole = file.read()
    broken = make.models.file("broken.onnx")
    for content in (b"", b"no model", whole[: len(whole) // 2], whole[:-3], bytes(range(256)) * 40):
        with open(broken, "wb") as file:
            file.write(content)
        for read in (
            contrib_onnx.import_model,
            contrib_onnx.get_model_metadata,
            lambda name: contrib_onnx.import_to_gluon(name, mx.cpu()),
        ):
            with pytest.raises(mx.MXNetError, match="no valid ONNX model"):
                read(broken)


def test_files_with_bytes_changed_never_crash(make):
    nodes, constants = perceptron(make)
    with open(make.file(nodes, {"x": (2, 5)}, ["y"], constants), "rb") as file:
        whole = bytearray(file.read())
    broken = make.models.file("broken.onnx")
    for _ in range(200):
        changed = bytearray(whole)
        for place in RANDOM.integers(0, len(whole), 3):
            changed[place] = RANDOM.integers(0, 256)
        with open(broken, "wb") as file:
            file.write(changed)
        try:
            sym, args, aux = contrib_onnx.import_model(broken)
        except mx.MXNetError:
            continue
        assert isinstance(sym, mx.sym.Symbol)


def test_absent_files(models):
    with pytest.raises(FileNotFoundError, match="nowhere.onnx"):
        contrib_onnx.import_model(models.file("nowhere.onnx"))


def test_without_onnx(monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ImportError, match="import_model needs the package onnx: pip install onnx"):
        contrib_onnx.import_model("model.onnx")


def test_names():
    for name in ("export_model", "get_model_metadata", "import_model", "import_to_gluon"):
        assert getattr(contrib_onnx, f"{name}_") is getattr(contrib_onnx, name)
    assert contrib_onnx.onnx2mx.import_model.import_model is contrib_onnx.import_model
    assert contrib_onnx.onnx2mx.import_onnx.GraphProto().opset_version == 0
