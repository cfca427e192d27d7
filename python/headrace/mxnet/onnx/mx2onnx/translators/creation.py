"""Arrays made of nothing or of another's shape, and random numbers."""

import numpy as np

from .._registry import translates


@translates("_zeros", "_ones", "_full")
def filled(g, node):
    value = {"_zeros": 0, "_ones": 1}.get(node.operator, node.get("value", 0))
    return g.constant(np.full(node.out_shapes[0], value), node.out_dtypes[0])


@translates("zeros_like", "ones_like")
def filled_like(g, node):
    value = g.constant(int(node.operator == "ones_like"), node.dtypes[0])
    return g.add("Expand", [value, g.shape(node)])


@translates("_arange")
def arange(g, node):
    repeats, count = int(node.get("repeat", 1)), node.out_shapes[0][0]
    start = 0 if node.get("stop") is None else float(node.get("start", 0))
    numbers = start + float(node.get("step", 1)) * (np.arange(count) // repeats)
    return g.constant(numbers, node.out_dtypes[0])


@translates("_contrib_arange_like")
def arange_like(g, node):
    node.refuse("repeat", 1)
    dtype = node.out_dtypes[0]
    if node.get("axis") is None:
        places = g.count(g.add("ReduceProd", [g.shape(node)], axes=[0], keepdims=1))
    else:
        places = g.count(g.size(node, node.axis()))
    step, start = (g.constant(float(node.get(k, v)), dtype) for k, v in (("step", 1), ("start", 0)))
    numbers = g.add("Add", [g.add("Mul", [g.cast(places, dtype), step]), start])
    return g.add("Reshape", [numbers, g.shape(node)]) if node.get("axis") is None else numbers


RANDOM = {
    "_random_uniform": ("RandomUniform", {"low": ("low", 0), "high": ("high", 1)}),
    "_random_normal": ("RandomNormal", {"mean": ("loc", 0), "scale": ("scale", 1)}),
}


def numbers(node, options):
    return {theirs: float(node.get(*ours)) for theirs, ours in options.items()}


@translates(*RANDOM)
def random(g, node):
    operator, options = RANDOM[node.operator]
    code = g.onnx.helper.np_dtype_to_tensor_dtype(node.out_dtypes[0])
    return g.add(operator, [], shape=node.out_shapes[0], dtype=code, **numbers(node, options))


@translates("_random_uniform_like", "_random_normal_like")
def random_like(g, node):
    operator, options = RANDOM[node.operator.removesuffix("_like")]
    return g.add(f"{operator}Like", node.inputs, **numbers(node, options))


@translates("_sample_multinomial")
def multinomial(g, node):
    node.refuse("get_prob", False)
    shape = node.get("shape", ())
    shape = shape if isinstance(shape, (tuple, list)) else (shape,)
    if len(shape) > 1:
        raise node.error(f"expected shape to be one number, got {shape}")
    code = g.onnx.helper.np_dtype_to_tensor_dtype(node.out_dtypes[0])
    rows = node.inputs[0] if node.rank == 2 else g.unsqueeze(node.inputs[0], 0)
    drawn = g.add("Multinomial", [g.add("Log", [rows])], dtype=code, sample_size=shape[0] if shape else 1)
    return g.reshape(drawn, node.out_shapes[0] if not g.dynamic else [-1, *shape])
