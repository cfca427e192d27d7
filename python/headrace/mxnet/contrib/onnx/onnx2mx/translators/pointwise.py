"""Operators that work on each element by itself."""

import functools

import numpy as np

from .._registry import translates

UNARY = {
    "Identity": "_copy",
    "Abs": "abs",
    "Neg": "negative",
    "Exp": "exp",
    "Log": "log",
    "Sqrt": "sqrt",
    "Reciprocal": "reciprocal",
    "Floor": "floor",
    "Ceil": "ceil",
    "Sign": "sign",
    "Erf": "erf",
    "Sin": "sin",
    "Cos": "cos",
    "Tan": "tan",
    "Asin": "arcsin",
    "Acos": "arccos",
    "Atan": "arctan",
    "Sinh": "sinh",
    "Cosh": "cosh",
    "Tanh": "tanh",
    "Asinh": "arcsinh",
    "Acosh": "arccosh",
    "Atanh": "arctanh",
    "Sigmoid": "sigmoid",
    "Relu": "relu",
    "Softsign": "softsign",
}
BINARY = {
    "Add": "broadcast_add",
    "Sub": "broadcast_sub",
    "Mul": "broadcast_mul",
    "Div": "broadcast_div",
    "Pow": "broadcast_power",
}
MANY = {
    "Sum": "broadcast_add",
    "Mean": "broadcast_add",
    "Max": "broadcast_maximum",
    "Min": "broadcast_minimum",
}
TRUTHS = {
    "Less": "broadcast_lesser",
    "LessOrEqual": "broadcast_lesser_equal",
    "Greater": "broadcast_greater",
    "GreaterOrEqual": "broadcast_greater_equal",
    "Equal": "broadcast_equal",
    "And": "broadcast_logical_and",
    "Or": "broadcast_logical_or",
    "Xor": "broadcast_logical_xor",
}


@translates(*UNARY)
def unary(node):
    return node.out(UNARY[node.operator], node.input())


@translates(*BINARY)
def binary(node):
    lhs, rhs = node.inputs()
    if node.get("broadcast") and "axis" in node.attrs:
        # Before opset 7, the second operand's axes began at this one.
        trailing = node.rank(0) - node.axis() - node.rank(1)
        rhs = node.op("Reshape", rhs, shape=(-2, *[1] * trailing)) if trailing else rhs
    if node.operator == "Pow" and node.type(0) != node.type(1) and node.type(0):
        rhs = node.op("Cast", rhs, dtype=type_name(node, node.type(0)))
    return node.out(BINARY[node.operator], lhs, rhs)


def type_name(node, number):
    """MXNet's name of a type of ONNX."""
    name = np.dtype(node.onnx.helper.tensor_dtype_to_np_dtype(number)).name
    if name not in ("float16", "float32", "float64", "int8", "uint8", "int32", "int64"):
        raise node.error(f"expected a type of MXNet, got {name}")
    return name


@translates(*MANY)
def many(node):
    first, *others = node.inputs()
    if not others:
        return node.out("_copy", first)
    *others, last = others
    result = functools.reduce(lambda a, b: node.op(MANY[node.operator], a, b), others, first)
    if node.operator != "Mean":
        return node.out(MANY[node.operator], result, last)
    return node.out("_div_scalar", node.op(MANY["Mean"], result, last), scalar=len(others) + 2)


@translates(*TRUTHS)
def truths(node):
    return node.truth(node.op(TRUTHS[node.operator], *node.inputs()))


@translates("Not")
def logical_not(node):
    return node.out("logical_not", node.input())


@translates("IsNaN", "IsInf")
def special(node):
    for key in ("detect_negative", "detect_positive"):
        node.refuse(key, 1)
    return node.truth(node.op(f"_contrib_{node.operator.lower()}", node.input()))


@translates("Cast", "CastLike")
def cast(node):
    to = node.get("to") or node.type(1)
    if to == node.onnx.TensorProto.BOOL:
        return node.truth(node.op("_not_equal_scalar", node.input(), scalar=0))
    return node.out("Cast", node.input(), dtype=type_name(node, to))


@translates("Clip")
def clip(node):
    low, high = (node.setting(key, i + 1) for i, key in enumerate(("min", "max")))
    if low and high:
        return node.out("clip", node.input(), a_min=float(low[0]), a_max=float(high[0]))
    if low:
        return node.out("_maximum_scalar", node.input(), scalar=float(low[0]))
    if high:
        return node.out("_minimum_scalar", node.input(), scalar=float(high[0]))
    return node.out("_copy", node.input())


@translates("Round")
def round_(node):
    """Halves to even numbers; those of MXNet's rint go down."""
    down = node.op("rint", node.input())
    half = node.op("_equal_scalar", node.op("elemwise_sub", node.input(), down), scalar=0.5)
    odd = node.op("_mod_scalar", down, scalar=2)
    return node.out("elemwise_add", down, node.op("elemwise_mul", half, odd))


@translates("Where")
def where(node):
    condition, *choices = node.inputs()
    return node.out("_npi_where", condition, *choices)


@translates("Mod")
def modulo(node):
    lhs, rhs = node.inputs()
    if not node.get("fmod", 0):
        return node.out("broadcast_mod", lhs, rhs)
    # The sign is the first operand's.
    size = node.op("broadcast_mod", node.op("abs", lhs), node.op("abs", rhs))
    return node.out("broadcast_mul", size, node.op("sign", lhs))


@translates("LeakyRelu", "Elu", "Selu", "PRelu")
def leaky(node):
    kinds = {"LeakyRelu": ("leaky", 0.01), "Elu": ("elu", 1.0)}
    if node.operator in kinds:
        kind, slope = kinds[node.operator]
        return node.out("LeakyReLU", node.input(), act_type=kind, slope=node.get("alpha", slope))
    if node.operator == "PRelu":
        slope = node.input(1)
        if node.opset < 7 and node.rank() > 2:
            slope = node.op("Reshape", slope, shape=(-1, *[1] * (node.rank() - 2)))
        below = node.op("broadcast_mul", node.op("_minimum_scalar", node.input(), scalar=0), slope)
        return node.out("broadcast_add", node.op("relu", node.input()), below)
    alpha, gamma = node.get("alpha", 1.67326319217681884765625), node.get("gamma", 1.05070102214813232421875)
    unit = node.op("LeakyReLU", node.input(), act_type="elu", slope=alpha)
    return node.out("_mul_scalar", unit, scalar=gamma)


@translates("HardSigmoid", "HardSwish")
def hard_sigmoid(node):
    if node.operator == "HardSigmoid":
        slope, height = node.get("alpha", 0.2), node.get("beta", 0.5)
        return node.out("hard_sigmoid", node.input(), alpha=slope, beta=height)
    gate = node.op("hard_sigmoid", node.input(), alpha=1 / 6, beta=0.5)
    return node.out("broadcast_mul", node.input(), gate)


@translates("Softplus", "Mish")
def softplus(node):
    if node.operator == "Softplus":
        return node.out("Activation", node.input(), act_type="softrelu")
    gate = node.op("tanh", node.op("Activation", node.input(), act_type="softrelu"))
    return node.out("broadcast_mul", node.input(), gate)


@translates("Gelu")
def gelu(node):
    data = node.input()
    if node.get("approximate", "none") == "none":
        return node.out("LeakyReLU", data, act_type="gelu")
    cube = node.op("_mul_scalar", node.op("_power_scalar", data, scalar=3), scalar=0.044715)
    inner = node.op("_mul_scalar", node.op("broadcast_add", data, cube), scalar=(2 / np.pi) ** 0.5)
    gate = node.op("_plus_scalar", node.op("tanh", inner), scalar=1)
    return node.out("broadcast_mul", node.op("_mul_scalar", data, scalar=0.5), gate)


@translates("Celu", "ThresholdedRelu", "Swish")
def celu(node):
    data, alpha = node.input(), node.get("alpha", 1.0)
    if node.operator == "Swish":
        return node.out("broadcast_mul", data, node.op("sigmoid", node.op("_mul_scalar", data, scalar=alpha)))
    if node.operator == "Celu":
        unit = node.op("LeakyReLU", node.op("_div_scalar", data, scalar=alpha), act_type="elu", slope=1)
        return node.out("_mul_scalar", unit, scalar=alpha)
    return node.out("broadcast_mul", data, node.op("_greater_scalar", data, scalar=alpha))
