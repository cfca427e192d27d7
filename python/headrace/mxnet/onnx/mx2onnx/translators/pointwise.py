"""Operators that work on each element by itself."""

import numpy as np

from .._registry import translates

SAME = {
    "_copy": "Identity",
    "identity": "Identity",
    "BlockGrad": "Identity",
    "MakeLoss": "Identity",
    "make_loss": "Identity",
    "LinearRegressionOutput": "Identity",
    "MAERegressionOutput": "Identity",
    "SVMOutput": "Identity",
    "LogisticRegressionOutput": "Sigmoid",
    "negative": "Neg",
    "relu": "Relu",
    "sigmoid": "Sigmoid",
    "tanh": "Tanh",
    "softsign": "Softsign",
    "exp": "Exp",
    "log": "Log",
    "sqrt": "Sqrt",
    "abs": "Abs",
    "sign": "Sign",
    "sin": "Sin",
    "cos": "Cos",
    "tan": "Tan",
    "arcsin": "Asin",
    "arccos": "Acos",
    "arctan": "Atan",
    "sinh": "Sinh",
    "cosh": "Cosh",
    "arcsinh": "Asinh",
    "arccosh": "Acosh",
    "arctanh": "Atanh",
    "erf": "Erf",
    "floor": "Floor",
    "ceil": "Ceil",
    "reciprocal": "Reciprocal",
    "add_n": "Sum",
    "elemwise_add": "Add",
    "elemwise_sub": "Sub",
    "elemwise_mul": "Mul",
    "elemwise_div": "Div",
    "_power": "Pow",
    "_maximum": "Max",
    "_minimum": "Min",
    "broadcast_add": "Add",
    "broadcast_sub": "Sub",
    "broadcast_mul": "Mul",
    "broadcast_div": "Div",
    "broadcast_power": "Pow",
    "broadcast_maximum": "Max",
    "broadcast_minimum": "Min",
}
SCALAR = {
    "_plus_scalar": "Add",
    "_minus_scalar": "Sub",
    "_mul_scalar": "Mul",
    "_div_scalar": "Div",
    "_power_scalar": "Pow",
    "_maximum_scalar": "Max",
    "_minimum_scalar": "Min",
}
SWAPPED = {"_rminus_scalar": "Sub", "_rdiv_scalar": "Div", "_rpower_scalar": "Pow"}
# Comparison, and whether its result is turned round.
COMPARE = {
    "lesser": ("Less", False),
    "greater": ("Greater", False),
    "lesser_equal": ("LessOrEqual", False),
    "greater_equal": ("GreaterOrEqual", False),
    "equal": ("Equal", False),
    "not_equal": ("Equal", True),
}
LOGIC = {"and": "And", "or": "Or", "xor": "Xor"}


@translates(*SAME)
def same(g, node):
    return g.add(SAME[node.operator], node.inputs)


@translates(*SCALAR, *SWAPPED)
def with_scalar(g, node):
    dtype = node.out_dtypes[0]
    data = node.inputs[0] if node.dtypes[0] == dtype else g.cast(node.inputs[0], dtype)
    operands = [data, g.constant(float(node.get("scalar", 1)), dtype)]
    if node.operator in SWAPPED:
        return g.add(SWAPPED[node.operator], operands[::-1])
    return g.add(SCALAR[node.operator], operands)


def compared(g, node, operands, kind):
    operator, negated = COMPARE[kind]
    result = g.add(operator, operands)
    return g.cast(g.add("Not", [result]) if negated else result, node.out_dtypes[0])


@translates(*(f"broadcast_{kind}" for kind in COMPARE), *(f"_{kind}" for kind in COMPARE))
def compare(g, node):
    return compared(g, node, node.inputs, node.operator.removeprefix("broadcast").removeprefix("_"))


@translates(*(f"_{kind}_scalar" for kind in COMPARE))
def compare_scalar(g, node):
    operands = [node.inputs[0], g.constant(node.get("scalar", 1), node.dtypes[0])]
    return compared(g, node, operands, node.operator.removeprefix("_").removesuffix("_scalar"))


@translates(*(f"broadcast_logical_{kind}" for kind in LOGIC), *(f"_logical_{kind}" for kind in LOGIC))
def logic(g, node):
    truths = [g.cast(name, "bool") for name in node.inputs]
    return g.cast(g.add(LOGIC[node.operator.rpartition("_")[2]], truths), node.out_dtypes[0])


@translates("logical_not")
def logical_not(g, node):
    return g.cast(g.add("Not", [g.cast(node.inputs[0], "bool")]), node.out_dtypes[0])


@translates("broadcast_mod")
def modulo(g, node):
    """The sign is the divisor's; of a divisor of 0, the remainder is 0."""
    lhs, rhs = node.inputs
    zero, one = (g.constant(value, node.dtypes[0]) for value in (0, 1))
    none = g.add("Equal", [rhs, zero])
    divisor = g.add("Where", [none, one, rhs])
    if node.dtypes[0].kind == "f":
        whole = g.add("Floor", [g.add("Div", [lhs, divisor])])
        result = g.add("Sub", [lhs, g.add("Mul", [divisor, whole])])
    else:
        result = g.add("Mod", [lhs, divisor])
    return g.add("Where", [none, zero, result])


@translates("square")
def square(g, node):
    return g.add("Mul", [node.inputs[0]] * 2)


@translates("rint", "round")
def rounded(g, node):
    half = g.constant(0.5, node.dtypes[0])
    down = g.add("Ceil", [g.add("Sub", [*node.inputs, half])])
    if node.operator == "rint":
        return down
    # Halves go away from zero.
    up = g.add("Floor", [g.add("Add", [*node.inputs, half])])
    return g.add("Where", [g.add("Less", [*node.inputs, g.constant(0, node.dtypes[0])]), down, up])


@translates("rsqrt")
def rsqrt(g, node):
    return g.add("Reciprocal", [g.add("Sqrt", node.inputs)])


@translates("log2", "log10")
def logarithm(g, node):
    base = g.constant(np.log({"log2": 2, "log10": 10}[node.operator]), node.dtypes[0])
    return g.add("Div", [g.add("Log", node.inputs), base])


@translates("log1p", "expm1")
def shifted(g, node):
    one = g.constant(1, node.dtypes[0])
    if node.operator == "log1p":
        return g.add("Log", [g.add("Add", [*node.inputs, one])])
    return g.add("Sub", [g.add("Exp", node.inputs), one])


@translates("hard_sigmoid")
def hard_sigmoid(g, node):
    return g.add(
        "HardSigmoid", node.inputs, alpha=float(node.get("alpha", 0.2)), beta=float(node.get("beta", 0.5))
    )


@translates("clip")
def clip(g, node):
    limits = [g.constant(float(node.get(key)), node.dtypes[0]) for key in ("a_min", "a_max")]
    return g.add("Clip", [*node.inputs, *limits])


@translates("Cast", "amp_cast")
def cast(g, node):
    return g.cast(node.inputs[0], node.out_dtypes[0])


@translates("where")
def where(g, node):
    condition, *choices = node.inputs
    truth = g.cast(condition, "bool")
    missing = len(node.shapes[1]) - node.rank
    if missing:
        truth = g.unsqueeze(truth, *range(1, 1 + missing))
    return g.add("Where", [truth, *choices])


@translates("smooth_l1")
def smooth_l1(g, node):
    dtype, sigma = node.dtypes[0], float(node.get("scalar", 1))
    size = g.add("Abs", node.inputs)
    near = g.add("Mul", [g.add("Mul", [size, size]), g.constant(0.5 * sigma**2, dtype)])
    far = g.add("Sub", [size, g.constant(0.5 / sigma**2, dtype)])
    return g.add("Where", [g.add("Less", [size, g.constant(1 / sigma**2, dtype)]), near, far])
