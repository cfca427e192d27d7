"""import_model on models that the package onnx brings with it: networks of PyTorch, and ONNX's own cases."""

import pathlib
import warnings

import numpy as np
import pytest

import headrace as mx
from headrace.mxnet.contrib import onnx as contrib_onnx

DILATED = {"test_MaxPool1d_stride_padding_dilation", "test_MaxPool2d_stride_padding_dilation"}


def same(name, want, got):
    for theirs, ours in zip(want, got):
        assert ours.shape == (theirs.shape or (1,)) or ours.shape == theirs.shape, name
        rtol, atol = (5e-3, 1e-3) if theirs.dtype == np.float16 else (1e-3, 1e-5)
        ours, theirs = ours.astype("float64").reshape(theirs.shape), theirs.astype("float64")
        np.testing.assert_allclose(ours, theirs, rtol, atol, err_msg=name)


def arrays(folder, kind):
    import onnx

    files = sorted(folder.glob(f"{kind}_*.pb"), key=lambda file: int(file.stem.rpartition("_")[2]))
    return [onnx.numpy_helper.to_array(onnx.load_tensor(file)) for file in files]


@pytest.mark.parametrize("group", ["pytorch-operator", "pytorch-converted"])
def test_networks_of_pytorch(models, group):
    import onnx

    folders = sorted((pathlib.Path(onnx.__file__).parent / "backend/test/data" / group).glob("*/model.onnx"))
    if not folders:
        pytest.skip("this version of onnx brings no models")
    for file in folders:
        name, data = file.parent.name, file.parent / "test_data_set_0"
        if name in DILATED:
            with pytest.raises(mx.MXNetError, match="dilations"):
                contrib_onnx.import_model(str(file))
            continue
        inputs = [each for each, *_ in contrib_onnx.get_model_metadata(str(file))["input_tensor_data"]]
        got = models.imported(str(file), **dict(zip(inputs, arrays(data, "input"))))
        same(name, arrays(data, "output"), got)


# Cases of random numbers.
RANDOM = ("test_bernoulli", "test_training_dropout")
NUMBERS = {
    np.dtype(name) for name in ("float16", "float32", "float64", "int8", "uint8", "int32", "int64", "bool")
}


def constants_of(model, inputs):
    """The model with all inputs but the first as constants, for operators that need them so."""
    import onnx

    made = onnx.ModelProto.FromString(model.SerializeToString())
    names = [value.name for value in made.graph.input]
    made.graph.initializer.extend(
        onnx.numpy_helper.from_array(np.asarray(inputs.pop(name)), name)
        for name in names[1:]
        if name in inputs
    )
    del made.graph.input[1:]
    return made, inputs


@pytest.mark.slow
def test_cases_of_onnx(models):
    """Of all cases of single operators, each gives the right numbers or an MXNetError that names the node."""
    import onnx

    cases = pytest.importorskip("onnx.backend.test.case.node")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = cases.collect_testcases(None)
    right = 0
    for case in found:
        given, want = case.data_sets[0]
        values = [*given, *want]
        if not all(isinstance(v, (np.ndarray, np.generic)) and v.dtype in NUMBERS for v in values):
            continue
        if case.name.startswith(RANDOM):
            continue
        names = [value.name for value in case.model.graph.input]
        inputs = dict(zip(names, map(np.asarray, given)))
        path, model = models.file(), case.model
        for _ in range(2):
            onnx.save(model, path)
            try:
                sym, args, aux = contrib_onnx.import_model(path)
                break
            except mx.MXNetError as error:
                assert str(error).startswith("import_model: "), case.name
                model, inputs = constants_of(case.model, dict(inputs))
        else:
            continue
        try:
            got = models.forward(sym, {**args, **aux}, {n: numbers(v) for n, v in inputs.items()})
        except mx.MXNetError:
            continue
        same(case.name, [np.asarray(v) for v in want], got)
        right += 1
    assert right > 0.4 * len(found)


def numbers(value):
    value = value.astype("float32") if value.dtype == bool else value
    return value.reshape(value.shape or (1,))


@pytest.mark.parametrize("name", ["densenet121", "shufflenet", "squeezenet"])
def test_networks_of_other_frameworks(models, name):
    """Their weights are all the same number, made by the model itself."""
    import onnx

    file = pathlib.Path(onnx.__file__).parent / f"backend/test/data/light/light_{name}.onnx"
    if not file.exists():
        pytest.skip("this version of onnx brings no models")
    ((data, shape, _),) = contrib_onnx.get_model_metadata(str(file))["input_tensor_data"]
    image = np.random.default_rng(1).uniform(0, 1, shape).astype("float32")
    models.same(models.run(str(file), **{data: image}), models.imported(str(file), **{data: image}), 1e-4)
