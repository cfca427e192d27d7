"""Exports symbols, runs them in onnxruntime, imports them again, and compares the numbers."""

import numpy as np
import pytest

import headrace as mx
from headrace.mxnet import onnx as mx_onnx
from headrace.mxnet.contrib import onnx as contrib_onnx


class Models:
    """Writes models into a folder and runs them."""

    def __init__(self, folder, runtime):
        self.folder, self.runtime = folder, runtime

    def file(self, name="model.onnx"):
        return str(self.folder / name)

    def run(self, path, **inputs):
        session = self.runtime.InferenceSession(path, providers=["CPUExecutionProvider"])
        return session.run(None, inputs)

    def params(self, sym, inputs, seed=3):
        """Random parameters by name, of the shapes and types that the inputs' ask for."""
        shapes, _, auxiliary = sym.infer_shape(**{name: value.shape for name, value in inputs.items()})
        types, _, _ = sym.infer_type(**{name: value.dtype for name, value in inputs.items()})
        random = np.random.default_rng(seed)
        kinds = dict(zip(sym.list_arguments(), types))
        return {
            name: mx.nd.array(random.uniform(0.1, 0.9, shape), dtype=kinds.get(name, "float32"))
            for name, shape in (
                *zip(sym.list_arguments(), shapes),
                *zip(sym.list_auxiliary_states(), auxiliary),
            )
            if name not in inputs
        }

    def forward(self, sym, params, inputs):
        """The symbol's outputs here."""
        given = {name: mx.nd.array(value, dtype=value.dtype) for name, value in inputs.items()}
        args = {name: {**params, **given}[name] for name in sym.list_arguments()}
        aux = {name: {**params, **given}[name] for name in sym.list_auxiliary_states()}
        return [out.asnumpy() for out in sym.bind(mx.cpu(), args, aux_states=aux).forward(is_train=False)]

    def same(self, want, got, tolerance):
        assert len(got) == len(want)
        for ours, theirs in zip(want, got):
            assert ours.shape == theirs.shape
            assert ours.dtype == theirs.dtype
            np.testing.assert_allclose(theirs, ours, rtol=tolerance, atol=tolerance)

    def imported(self, path, **inputs):
        """The outputs of the symbol that the model is imported as."""
        sym, args, aux = contrib_onnx.import_model(path)
        return self.forward(sym, {**args, **aux}, inputs)

    def check(self, sym, tolerance=1e-5, dynamic=False, back=True, **inputs):
        """The symbol's outputs here and in onnxruntime are the same, and those after an import if `back`.

        Returns the model's path.
        """
        params = self.params(sym, inputs)
        order = [name for name in sym.list_inputs() if name in inputs]
        path = mx_onnx.export_model(
            sym,
            {name: value for name, value in params.items() if not name.endswith("_label")},
            [inputs[name].shape for name in order],
            [inputs[name].dtype for name in order],
            onnx_file_path=self.file(),
            run_shape_inference=True,
            dynamic=dynamic,
        )
        want = self.forward(sym, params, inputs)
        self.same(want, self.run(path, **inputs), tolerance)
        if back:
            self.same(want, self.imported(path, **inputs), tolerance)
        return path


@pytest.fixture
def models(tmp_path):
    pytest.importorskip("onnx", reason="needs the Python package onnx")
    runtime = pytest.importorskip("onnxruntime", reason="needs the Python package onnxruntime")
    return Models(tmp_path, runtime)
