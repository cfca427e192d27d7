"""What each operator is in ONNX: one function per operator, which adds nodes and returns its output's name.

A translator gets the graph that is being written, the names of the node's inputs and its attributes.
"""

import ast

import numpy as np

from ...base import MXNetError

TRANSLATORS = {}


def translates(*operators):
    def add(function):
        TRANSLATORS.update(dict.fromkeys(operators, function))
        return function

    return add


def read(attrs, key, default=None):
    """An attribute's value: a number, truth value or tuple where its text is one, else the text."""
    text = attrs.get(key)
    if text is None:
        return default
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def refuse(attrs, operator, key, *allowed):
    """MXNetError unless the attribute is absent or has one of the allowed values."""
    value = read(attrs, key, allowed[0])
    if value not in allowed:
        raise MXNetError(
            f"export_model: {operator} with {key}={value} has no translation to ONNX; "
            f"expected {key} in {allowed}"
        )


def same_name(operators):
    """Operators whose inputs and outputs are those of one ONNX operator without attributes."""
    for ours, theirs in operators.items():
        TRANSLATORS[ours] = lambda g, inputs, attrs, theirs=theirs: g.add(theirs, inputs)


same_name(
    {
        "_copy": "Identity",
        "BlockGrad": "Identity",
        "Dropout": "Identity",
        "identity": "Identity",
        "negative": "Neg",
        "relu": "Relu",
        "sigmoid": "Sigmoid",
        "tanh": "Tanh",
        "softsign": "Softsign",
        "exp": "Exp",
        "log": "Log",
        "sqrt": "Sqrt",
        "abs": "Abs",
        "sin": "Sin",
        "cos": "Cos",
        "tan": "Tan",
        "arcsin": "Asin",
        "arccos": "Acos",
        "arctan": "Atan",
        "sinh": "Sinh",
        "cosh": "Cosh",
        "erf": "Erf",
        "floor": "Floor",
        "ceil": "Ceil",
        "reciprocal": "Reciprocal",
        "add_n": "Sum",
        "elemwise_add": "Add",
        "elemwise_sub": "Sub",
        "elemwise_mul": "Mul",
        "elemwise_div": "Div",
        "broadcast_add": "Add",
        "broadcast_sub": "Sub",
        "broadcast_mul": "Mul",
        "broadcast_div": "Div",
        "broadcast_power": "Pow",
        "broadcast_maximum": "Max",
        "broadcast_minimum": "Min",
    }
)


def with_scalar(theirs, swapped=False):
    def translate(g, inputs, attrs):
        operands = [inputs[0], g.number(float(read(attrs, "scalar")))]
        return g.add(theirs, operands[::-1] if swapped else operands)

    return translate


TRANSLATORS.update(
    _plus_scalar=with_scalar("Add"),
    _minus_scalar=with_scalar("Sub"),
    _rminus_scalar=with_scalar("Sub", swapped=True),
    _mul_scalar=with_scalar("Mul"),
    _div_scalar=with_scalar("Div"),
    _rdiv_scalar=with_scalar("Div", swapped=True),
    _power_scalar=with_scalar("Pow"),
    _maximum_scalar=with_scalar("Max"),
    _minimum_scalar=with_scalar("Min"),
)


@translates("square")
def square(g, inputs, attrs):
    return g.add("Mul", [inputs[0], inputs[0]])


@translates("Activation")
def activation(g, inputs, attrs):
    kinds = {
        "relu": "Relu",
        "sigmoid": "Sigmoid",
        "tanh": "Tanh",
        "softrelu": "Softplus",
        "softsign": "Softsign",
    }
    return g.add(kinds[attrs["act_type"]], inputs)


@translates("LeakyReLU")
def leaky_relu(g, inputs, attrs):
    kind = attrs.get("act_type", "leaky")
    slope = float(read(attrs, "slope", 0.25))
    if kind == "leaky":
        return g.add("LeakyRelu", inputs, alpha=slope)
    if kind == "elu":
        return g.add("Elu", inputs, alpha=slope)
    refuse(attrs, "LeakyReLU", "act_type", "gelu", "leaky", "elu")
    error = g.add("Erf", [g.add("Mul", [inputs[0], g.number(0.5**0.5)])])
    half = g.add("Mul", [inputs[0], g.number(0.5)])
    return g.add("Mul", [half, g.add("Add", [error, g.number(1)])])


@translates("FullyConnected")
def fully_connected(g, inputs, attrs):
    data = g.add("Flatten", inputs[:1], axis=1) if read(attrs, "flatten", True) else inputs[0]
    product = g.add("MatMul", [data, g.add("Transpose", [inputs[1]], perm=[1, 0])])
    return product if read(attrs, "no_bias", False) else g.add("Add", [product, inputs[2]])


def window(attrs, operator):
    kernel = read(attrs, "kernel")
    refuse(attrs, operator, "layout", "None", None, "NCW", "NCHW", "NCDHW")
    ones, zeros = (1,) * len(kernel), (0,) * len(kernel)
    pad = read(attrs, "pad") or zeros
    return {"kernel_shape": kernel, "strides": read(attrs, "stride") or ones, "pads": (*pad, *pad)}


@translates("Convolution")
def convolution(g, inputs, attrs):
    options = window(attrs, "Convolution")
    options["dilations"] = read(attrs, "dilate") or (1,) * len(options["kernel_shape"])
    return g.add("Conv", inputs, group=read(attrs, "num_group", 1), **options)


@translates("Pooling")
def pooling(g, inputs, attrs):
    refuse(attrs, "Pooling", "pool_type", "max", "avg")
    kind = "Max" if attrs.get("pool_type", "max") == "max" else "Average"
    if read(attrs, "global_pool", False):
        return g.add(f"Global{kind}Pool", inputs)
    refuse(attrs, "Pooling", "pooling_convention", "valid")
    options = window(attrs, "Pooling")
    if kind == "Average":
        options["count_include_pad"] = int(read(attrs, "count_include_pad", True))
    return g.add(f"{kind}Pool", inputs, **options)


@translates("BatchNorm")
def batch_norm(g, inputs, attrs):
    refuse(attrs, "BatchNorm", "axis", 1)
    data, gamma, *others = inputs
    if read(attrs, "fix_gamma", True):
        if gamma not in g.constants:
            raise MXNetError(f"export_model: BatchNorm with fix_gamma needs {gamma} among the parameters")
        gamma = g.ones_like(gamma)
    return g.add("BatchNormalization", [data, gamma, *others], epsilon=float(read(attrs, "eps", 1e-3)))


@translates("LayerNorm")
def layer_norm(g, inputs, attrs):
    refuse(attrs, "LayerNorm", "axis", -1)
    data, gamma, beta = inputs
    centred = g.add("Sub", [data, g.add("ReduceMean", [data], axes=[-1], keepdims=1)])
    variance = g.add("ReduceMean", [g.add("Mul", [centred, centred])], axes=[-1], keepdims=1)
    deviation = g.add("Sqrt", [g.add("Add", [variance, g.number(float(read(attrs, "eps", 1e-5)))])])
    return g.add("Add", [g.add("Mul", [g.add("Div", [centred, deviation]), gamma]), beta])


@translates("softmax", "log_softmax")
def softmax(g, inputs, attrs):
    for key, allowed in (("temperature", (None, 1.0)), ("use_length", (False,))):
        refuse(attrs, "softmax", key, *allowed, "None")
    kind = "LogSoftmax" if g.operator == "log_softmax" else "Softmax"
    return g.add(kind, inputs, axis=read(attrs, "axis", -1))


@translates("SoftmaxOutput")
def softmax_output(g, inputs, attrs):
    refuse(attrs, "SoftmaxOutput", "multi_output", False)
    refuse(attrs, "SoftmaxOutput", "preserve_shape", False)
    return g.add("Softmax", inputs[:1], axis=1)


@translates("Embedding")
def embedding(g, inputs, attrs):
    rows = g.add("Cast", inputs[:1], to=g.onnx.TensorProto.INT64)
    last = int(read(attrs, "input_dim")) - 1
    return g.add("Gather", [inputs[1], g.add("Clip", [rows, g.integers(0), g.integers(last)])], axis=0)


@translates("batch_dot")
def batch_dot(g, inputs, attrs):
    turned = (read(attrs, "transpose_a", False), read(attrs, "transpose_b", False))
    return g.add(
        "MatMul",
        [g.add("Transpose", [i], perm=[0, 2, 1]) if turn else i for i, turn in zip(inputs, turned)],
    )


@translates("Flatten", "flatten")
def flatten(g, inputs, attrs):
    return g.add("Flatten", inputs, axis=1)


@translates("Reshape", "reshape")
def reshape(g, inputs, attrs):
    shape = read(attrs, "shape")
    refuse(attrs, "Reshape", "reverse", False)
    if min(shape) < -1:
        raise MXNetError(f"export_model: Reshape to {shape} has no translation; expected sizes, 0 or -1")
    return g.add("Reshape", [inputs[0], g.integers(shape)])


@translates("transpose")
def transpose(g, inputs, attrs):
    axes = read(attrs, "axes", ())
    return g.add("Transpose", inputs, **({"perm": axes} if axes else {}))


@translates("expand_dims")
def expand_dims(g, inputs, attrs):
    return g.add("Unsqueeze", [inputs[0], g.integers([read(attrs, "axis")])])


@translates("Concat", "concat")
def concat(g, inputs, attrs):
    return g.add("Concat", inputs, axis=read(attrs, "dim", 1))


@translates("mean", "sum", "max", "min")
def reduction(g, inputs, attrs):
    refuse(attrs, g.operator, "exclude", False)
    axes = read(attrs, "axis")
    axes = None if axes in (None, (), "None") else list(np.atleast_1d(axes).tolist())
    keep = int(read(attrs, "keepdims", False))
    # MXNet's total has the shape (1,).
    one = axes is None and not keep
    if g.operator == "sum":
        result = g.add("ReduceSum", [*inputs, *([g.integers(axes)] if axes else [])], keepdims=keep)
    else:
        result = g.add(
            f"Reduce{g.operator.title()}", inputs, keepdims=keep, **({"axes": axes} if axes else {})
        )
    return g.add("Reshape", [result, g.integers([1])]) if one else result
