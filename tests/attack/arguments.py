"""Hostile arguments, as Python text: arrays of every kind, and values for every kind of parameter."""

import inspect
from typing import Any, NamedTuple

DTYPES = (
    *("float32", "float64", "float16", "bfloat16", "bool"),
    *("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
)
EXTENTS = (0, 1, -1, 2**31 - 1, 2**31, 2**32, 2**61 + 3, 2**62, 2**63 - 1, 2**63, -(2**63), 2**64)
INTEGERS = (2, 3, 4, 5, -2, -3, 100, *EXTENTS)
FLOATS = (
    "nan",
    "inf",
    "inf",
    "-inf",
    "0.0",
    "-0.0",
    "1.0",
    "-1.0",
    "0.5",
    "2.5",
    "1e38",
    "-1e300",
    "1e-320",
    "2.0**53",
)
SHAPES = (
    *("()", "(0,)", "(1,)", "(3,)", "(2, 3)", "(3, 3)", "(2, 0, 3)", "(1, 4)", "(2, 3, 4)", "(0, 0)"),
    *("(1, 5, 5, 5)", "(2, 3, 8, 8)", "(2, 2, 4, 4, 4)", "(1, 2, 1, 2, 1, 2, 1)", "(40, 50)"),
)
BEYOND_MEMORY = ("(1 << 62,)", "(1 << 31, 1 << 31)", "((1 << 61) + 3,)", "(1 << 40,)", "(0, 1 << 62)")
NO_ARRAYS = (
    "None",
    "'text'",
    "3",
    "nan",
    "2**63",
    "[1, 2]",
    "[]",
    "object()",
    "numpy.ones((2, 3))",
    "sym.var('v')",
)
VALUES = {  # as the elements of arrays, by the first letter of a dtype
    "f": ("0.0", "1.0", "-1.0", "0.5", "nan", "inf", "-inf", "1e30", "-3.0", "-0.0", "7.0"),
    "b": ("0.0", "1.0", "True", "False"),
    "i": ("0", "1", "-1", "2", "3", "100", "LEAST", "MOST"),
    "u": ("0", "1", "2", "3", "100", "MOST", "MOST // 2 + 1", "MOST // 2"),
}
PARAMETER_KINDS = {  # of Python functions, by parts of the parameter's name
    "shape": ("shape", "size", "reps", "tile", "newshape"),
    "dtype": ("dtype",),
    "int": (
        "axis",
        "num",
        "_n",
        "depth",
        "k",
        "n",
        "step",
        "start",
        "stop",
        "repeat",
        "bins",
        "seed",
        "decimals",
    ),
    "slice": (
        "axes",
        "begin",
        "end",
        "pad_width",
        "sections",
        "source",
        "destination",
        "shift",
        "indices_or",
    ),
    "float": (
        "scale",
        "loc",
        "low",
        "high",
        "mu",
        "sigma",
        "alpha",
        "beta",
        "lam",
        "rtol",
        "atol",
        "val",
        "eps",
    ),
    "bool": ("is_", "use_", "keepdims", "copy", "full_", "no_", "endpoint", "ret", "return_", "with"),
    "ctx": ("ctx", "device", "context"),
    "arrays": ("arrays", "seq", "args", "tup", "operands"),
}


class Parameter(NamedTuple):
    """A parameter of a function: `kind` is that of the catalogue, or self, array, arrays, ctx or any."""

    name: str
    kind: str
    choices: str | None = None
    default: Any = None
    required: bool = True


def number(random, dtype):
    """An element of an array, as text."""
    text = random.choice(VALUES["f" if dtype.startswith("bf") else dtype[0]])
    if "MOST" in text or "LEAST" in text:
        bits = int("".join(filter(str.isdigit, dtype)))
        most = 2**bits - 1 if dtype[0] == "u" else 2 ** (bits - 1) - 1
        text = str(eval(text, {"MOST": most, "LEAST": -most - 1}))
    return text


def array(random, front, dtype=None, shape=None):
    """An array of the front end `front` ("nd" or "np"), mostly one that exists."""
    dtype = dtype or random.choice(DTYPES)
    shape = shape or random.choice(SHAPES)
    named = f"dtype='{dtype}'"
    if random.random() < 0.03:
        part = random.choice(("", "", "[:3]", "[-2:]", ".T", ".reshape((-1,))[:2]"))
        return f"{front}.{random.choice(('empty', 'zeros'))}({random.choice(BEYOND_MEMORY)}, {named}){part}"
    if random.random() < 0.05 and dtype != "bfloat16":
        made = f"{random.choice(('readonly', 'mapped'))}(numpy.ones({shape}, {named}))"
        from_numpy = "nd.from_numpy" if front == "nd" else "npx.from_numpy"
        return f"{from_numpy}({made})"
    place = ", ctx=mx.gpu(1)" if random.random() < 0.05 else ""
    if random.random() < 0.5:
        made = f"{front}.full({shape}, {number(random, dtype)}, {named}{place})"
    else:
        elements = ", ".join(number(random, dtype) for _ in range(random.choice((1, 2, 3, 3, 6))))
        values = f"numpy.resize(numpy.array([{elements}]), {shape})"
        made = f"{front}.array({values}, {named}{place})"
    view = random.choice(
        ("", "", "", "", ".T", "[::-1]", "[::2]", "[..., 1:]", ".broadcast_to((2, 2, 3, 3))")
    )
    return made + (view if shape != "()" else "")


def integers(random):
    count = random.choice((0, 1, 1, 2, 2, 3, 4, 5, 9))
    return "(" + "".join(f"{random.choice((1, 2, 3, *INTEGERS))}, " for _ in range(count)) + ")"


def value(random, parameter, front):
    """A value for a parameter: mostly one of its kind."""
    kind = parameter.kind
    if kind == "self":
        return array(random, front)
    if random.random() < 0.05:
        kind = random.choice(("array", "int", "float", "shape", "str", "none"))
    match kind:
        case "array":
            return array(random, front) if random.random() < 0.95 else random.choice(NO_ARRAYS)
        case "arrays":
            count = random.choice((0, 1, 2, 2, 3))
            return "[" + ", ".join(array(random, front) for _ in range(count)) + "]"
        case "bool":
            return random.choice(("True", "False", "True", "False", "2", "None"))
        case "int":
            return str(random.choice(INTEGERS)) if random.random() < 0.9 else random.choice(FLOATS)
        case "float":
            return random.choice(FLOATS) if random.random() < 0.8 else str(random.choice(INTEGERS))
        case "dtype":
            return repr(random.choice((*DTYPES, "float99", "complex64", "object")))
        case "shape" | "slice":
            return integers(random) if random.random() < 0.8 else random.choice(("None", "3", "-1", "'text'"))
        case "floats":
            return "(" + "".join(f"{random.choice(FLOATS)}, " for _ in range(random.randrange(4))) + ")"
        case "str":
            choices = [one.strip() for one in (parameter.choices or "").replace("|", ",").split(",")]
            return repr(random.choice([*filter(None, choices), "text", ""]))
        case "ctx":
            return random.choice(("mx.cpu()", "mx.gpu(0)", "mx.gpu(1)", "mx.gpu(9)", "mx.cpu(3)", "None"))
        case "none":
            return "None"
    return value(random, parameter._replace(kind=random.choice(("array", "int", "float", "shape"))), front)


def parameters_of_operator(description, np_names):
    """Parameters of an operator of the catalogue."""
    names = description["np_inputs"] if np_names and description["np_inputs"] else description["inputs"]
    if description["variadic"]:
        inputs = [Parameter(names[-1], "arrays")]
    else:
        needed = len(names) - description["optional_inputs"]
        inputs = [Parameter(name, "array", required=i < needed) for i, name in enumerate(names)]
    fields = [
        Parameter(field["name"], field["kind"], field["choices"], field["default"], field["required"])
        for field in description["fields"]
        if not field["of_files"]
    ]
    return inputs + fields


def parameters_of_function(function):
    """Parameters of a Python function; an empty list where it does not tell."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return []
    return [
        Parameter(one.name, _kind(one), default=one.default, required=one.default is one.empty)
        for one in signature.parameters.values()
        if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY)
        and one.name not in ("self", "out", "name", "attr")
    ]


def _kind(parameter):
    default = {bool: "bool", float: "float", str: "str", tuple: "shape"}.get(type(parameter.default))
    if default:
        return default
    for kind, parts in PARAMETER_KINDS.items():
        if any(parameter.name == part or len(part) > 2 and part in parameter.name for part in parts):
            return kind
    return "array" if parameter.default is parameter.empty else "any"
