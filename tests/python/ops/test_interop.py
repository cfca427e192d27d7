"""Operators against what MXNet 1.9.1 computed: values, gradients, mutated inputs.

The recorded cases are kept beside the repository. A case is tried when the function it calls exists.
"""

import json
from pathlib import Path

import numpy
import pytest

import headrace
from headrace import autograd, npx, util

ROOT = Path(__file__).resolve().parents[3]
FOLDER = (
    next((f for f in (ROOT / "shared", ROOT.parent / "shared") if f.is_dir()), ROOT)
    / "data/interop/operators"
)
if not FOLDER.is_dir():
    pytest.skip("the interoperability files are not beside the repository", allow_module_level=True)

CASES = json.loads((FOLDER / "index.json").read_text())["cases"]
ARRAYS = numpy.load(FOLDER / "arrays.npz")

# MXNet sends the gradient of np.where(condition, x, number) to the elements that were not chosen.
WRONG_GRADIENTS = {"np_where_scalar"}


def find(case):
    """The function of a case, or None."""
    space = getattr(headrace, case["namespace"])
    for name in case["op"].split("."):
        space = getattr(space, name, None)
    return space


def tolerance(dtype):
    return {"rtol": 1e-2, "atol": 1e-2} if dtype == numpy.float16 else {"rtol": 1e-4, "atol": 2e-5}


class Arguments:
    """Turns the recorded arguments into those of the call."""

    def __init__(self, is_np):
        self.module = headrace.np if is_np else headrace.nd
        self.arrays = {}

    def array(self, key):
        if key not in self.arrays:
            values = ARRAYS[key]
            self.arrays[key] = self.module.array(values, dtype=values.dtype)
        return self.arrays[key]

    def value(self, recorded):
        if isinstance(recorded, dict):
            if "array" in recorded:
                return self.array(recorded["array"])
            if "list" in recorded:
                return [self.value(one) for one in recorded["list"]]
            if "slice" in recorded:
                return slice(*recorded["slice"])
            return Ellipsis
        return tuple(self.value(one) for one in recorded) if isinstance(recorded, list) else recorded


def compare(actual, key):
    expected = ARRAYS[key]
    actual = actual.asnumpy() if hasattr(actual, "asnumpy") else numpy.asarray(actual)
    assert actual.shape == expected.shape
    assert actual.dtype == expected.dtype
    numpy.testing.assert_allclose(actual, expected, equal_nan=True, **tolerance(expected.dtype))


def run(case):
    is_np = case["namespace"] in ("np", "npx")
    arguments = Arguments(is_np)
    inputs = [arguments.array(key) for key in case["inputs"]]
    for number in case["gradients"]:
        inputs[int(number)].attach_grad()
    args = [arguments.value(one) for one in case["args"]]
    kwargs = {name: arguments.value(one) for name, one in case["kwargs"].items()}
    if "out_is_input" in case:
        kwargs["out"] = inputs[case["out_is_input"]]
    scope = autograd.record if case["mode"] == "train" else autograd.predict_mode
    with scope():
        result = find(case)(*args, **kwargs)
    outputs = [result] if case["single_output"] else list(result)
    if case["gradients"]:
        heads = [o for o in outputs if "float" in str(numpy.dtype(o.dtype))]
        autograd.backward(heads, [arguments.array(key) for key in case["head_gradients"]])
    return inputs, outputs


@pytest.mark.parametrize("case", [pytest.param(c, id=c["name"]) for c in CASES if find(c) is not None])
def test_gives_what_mxnet_gave(case):
    is_np = case["namespace"] in ("np", "npx")
    if is_np:
        npx.set_np()
    try:
        inputs, outputs = run(case)
    finally:
        util.reset_np()
    if "note" not in case:
        for output, key in zip(outputs, case["outputs"]):
            compare(output, key)
        gradients = {} if case["name"] in WRONG_GRADIENTS else case["gradients"]
        for number, key in gradients.items():
            compare(inputs[int(number)].grad, key)
    for number, key in case.get("mutated", {}).items():
        compare(inputs[int(number)], key)
