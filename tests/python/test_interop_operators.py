"""Calls of operators recorded from MXNet 1.9.1: the same values and gradients must come out."""

import json

import numpy
import pytest
import recorded

import headrace
from headrace import autograd, np
from headrace.util import np_array, np_shape

FOLDER = recorded.folder() / "operators"
CASES = json.loads((FOLDER / "index.json").read_text())["cases"]
ARRAYS = numpy.load(FOLDER / "arrays.npz", allow_pickle=False)

# Where MXNet's gradient is wrong and Headrace's is right.
WRONG_GRADIENT = {
    "batchnorm_eval": "MXNet differentiates through the statistics of a batch that predict mode did not use",
    "np_atleast_2d": "MXNet's gradient of atleast_2d is zero",
    "np_linalg_eigh": "MXNet's gradient of eigh is zero",
    "np_linalg_eigvalsh": "MXNet's gradient of eigvalsh is zero",
    "np_linalg_norm_ord1": "MXNet multiplies the head gradient in twice",
    "np_matmul_batch": "MXNet's gradient of a broadcast matmul is not the sum over the broadcast axes",
    "np_std_ddof": "MXNet's gradient of std is zero",
    "np_var": "MXNet's gradient of var is zero",
    "np_where_scalar": "MXNet gives the array the gradient where the number was chosen",
}


def path_of(case):
    return f"{case['namespace']}.{case['op']}"


def find(path):
    """The function of that name, or None."""
    target = headrace
    for part in path.split("."):
        target = getattr(target, part, None)
    return target


class Call:
    """One recorded call with its arrays made new."""

    def __init__(self, case):
        self.case = case
        self.make = np.array if case["namespace"] in ("np", "npx") else headrace.nd.array
        self.live = {}

    def new(self, key):
        return self.make(ARRAYS[key], dtype=ARRAYS[key].dtype)

    def value(self, item):
        if isinstance(item, list):
            return tuple(self.value(i) for i in item)
        if not isinstance(item, dict):
            return item
        if "array" in item:
            key = item["array"]
            if key not in self.live:
                self.live[key] = self.new(key)
            return self.live[key]
        if "list" in item:
            return [self.value(i) for i in item["list"]]
        return slice(*item["slice"]) if "slice" in item else Ellipsis

    def run(self):
        """(outputs, gradient of each differentiated input, inputs afterwards)"""
        case, function = self.case, find(path_of(self.case))
        args = [self.value(a) for a in case["args"]]
        kwargs = {name: self.value(v) for name, v in case["kwargs"].items()}
        inputs = [self.live[key] for key in case["inputs"]]
        if "out_is_input" in case:
            kwargs["out"] = inputs[case["out_is_input"]]
        wanted = [] if case["name"] in WRONG_GRADIENT else [int(i) for i in case["gradients"]]
        for i in wanted:
            inputs[i].attach_grad()
        train = case["mode"] == "train"
        mode = autograd.train_mode() if train else autograd.predict_mode()
        scope = autograd.record(train) if wanted else mode
        with scope:
            result = function(*args, **kwargs)
        outputs = [result] if case["single_output"] else list(result)
        if wanted:
            heads = [o for o in outputs if hasattr(o, "asnumpy") and numpy.dtype(o.dtype).kind == "f"]
            autograd.backward(heads, [self.new(key) for key in case["head_gradients"]])
        return outputs, {i: inputs[i].grad for i in wanted}, inputs


def compare(name, got, key, half):
    got = got.asnumpy() if hasattr(got, "asnumpy") else numpy.asarray(got)
    expected = ARRAYS[key]
    assert got.shape == expected.shape, name
    assert got.dtype == expected.dtype, name
    if expected.dtype.kind != "f":
        numpy.testing.assert_array_equal(got, expected, err_msg=name)
        return
    rtol, atol = (1e-2, 1e-3) if half else (1e-5, 2e-6)
    numpy.testing.assert_allclose(got, expected, rtol=rtol, atol=atol, err_msg=name)


@pytest.mark.parametrize("case", [pytest.param(c, id=c["name"]) for c in CASES])
def test_recorded_call(case):
    numpy_mode = case["namespace"] in ("np", "npx")
    assert find(path_of(case)) is not None, f"{path_of(case)} is missing"
    with np_shape(numpy_mode), np_array(numpy_mode):
        outputs, gradients, inputs = Call(case).run()
        half = any(ARRAYS[key].dtype == numpy.float16 for key in case["inputs"])
        assert len(outputs) == len(case["outputs"])
        for i, (output, key) in enumerate(zip(outputs, case["outputs"])):
            compare(f"output {i}", output, key, half)
        for i, gradient in gradients.items():
            compare(f"gradient of input {i}", gradient, case["gradients"][str(i)], half)
        for i, key in case.get("mutated", {}).items():
            compare(f"input {i} afterwards", inputs[int(i)], key, half)


def test_every_listed_case_is_recorded():
    assert not set(WRONG_GRADIENT) - {c["name"] for c in CASES}
