"""The operators there are, and their arguments, as text."""

from typing import NamedTuple

from . import _core

__all__ = ["OperatorArguments", "get_all_registered_operators", "get_operator_arguments"]

_KINDS = {
    "bool": "boolean",
    "int": "int",
    "float": "float",
    "str": "string",
    "dtype": "string",
    "shape": "Shape(tuple)",
    "slice": "string",
    "floats": "tuple of <float>",
}


class OperatorArguments(NamedTuple):
    """The arguments of an operator, inputs first: how many, their names, and what they take."""

    narg: int
    names: list[str]
    types: list[str]


def get_all_registered_operators():
    """The names of all operators, other names of the same ones among them."""
    return [name for op in _core.catalogue() for name in (op["name"], *op["aliases"])]


def get_operator_arguments(op_name):
    """The OperatorArguments of the operator with a name. ValueError: there is none."""
    for op in _core.catalogue():
        if op_name == op["name"] or op_name in op["aliases"]:
            break
    else:
        raise ValueError(f"get_operator_arguments: there is no operator {op_name!r}")
    input_type = "NDArray-or-Symbol[]" if op["variadic"] else "NDArray-or-Symbol"
    fields = [field for field in op["fields"] if not field["of_files"]]
    names = [*op["inputs"], *(field["name"] for field in fields)]
    types = [*(input_type for _ in op["inputs"]), *map(_describe, fields)]
    return OperatorArguments(len(names), names, types)


def _describe(field):
    kind = _KINDS[field["kind"]]
    if field["choices"]:
        choices = sorted(f"'{choice}'" for choice in field["choices"].split("|"))
        kind = "{" + ", ".join(["None"] * field["nullable"] + choices) + "}"
    elif field["nullable"]:
        kind += " or None"
    if field["required"]:
        return f"{kind}, required"
    default = field["default"]
    if field["kind"] == "bool":
        return f"{kind}, optional, default={int(default)}"
    return f"{kind}, optional, default={repr(default) if isinstance(default, tuple) else repr(str(default))}"
