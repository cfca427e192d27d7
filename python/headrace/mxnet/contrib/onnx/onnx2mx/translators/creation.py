"""Arrays made of a shape or of nothing, and random numbers."""

import numpy as np

from .._registry import translates


@translates("ConstantOfShape")
def constant_of_shape(node):
    shape = node.output_shape()
    if shape is None or None in shape:
        raise node.error(f"expected a result of known shape, got {shape}")
    value = (
        np.ravel(node.onnx.numpy_helper.to_array(node.get("value")))
        if "value" in node.attrs
        else np.float32([0])
    )
    dtype = "float32" if value.dtype == bool else value.dtype.name
    return node.out("_full", shape=shape or (1,), dtype=dtype, value=float(value[0]))


RANDOM = {
    "RandomUniform": ("_random_uniform", {"low": ("low", 0.0), "high": ("high", 1.0)}),
    "RandomNormal": ("_random_normal", {"loc": ("mean", 0.0), "scale": ("scale", 1.0)}),
}


def numbers(node, options):
    return {ours: node.get(*theirs) for ours, theirs in options.items()}


@translates(*RANDOM)
def random(node):
    operator, options = RANDOM[node.operator]
    dtype = np.dtype(node.onnx.helper.tensor_dtype_to_np_dtype(node.get("dtype", 1)))
    return node.out(operator, shape=tuple(node.get("shape")), dtype=dtype.name, **numbers(node, options))


@translates("RandomUniformLike", "RandomNormalLike")
def random_like(node):
    operator, options = RANDOM[node.operator.removesuffix("Like")]
    return node.out(f"{operator}_like", node.input(), **numbers(node, options))


@translates("Multinomial")
def multinomial(node):
    dtype = np.dtype(node.onnx.helper.tensor_dtype_to_np_dtype(node.get("dtype", 6)))
    chances = node.op("softmax", node.input())
    return node.out("_sample_multinomial", chances, shape=(node.get("sample_size", 1),), dtype=dtype.name)
