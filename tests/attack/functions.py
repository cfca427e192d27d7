"""Every public function of the front ends, found by walking modules, classes and the catalogue."""

import functools
import inspect
import operator
import types
from typing import Any, NamedTuple

from arguments import Parameter, parameters_of_function, parameters_of_operator

FRONTS = {"nd": "nd", "np": "np", "npx": "np"}  # module: whose arrays it takes
# What changes the mode or the threads of the whole process, and what leaves the library.
_LEFT_OUT = {
    "set_np",
    "reset_np",
    "use_np",
    "set_np_shape",
    "set_np_array",
    "Context",
    "is_np_array",
    "is_np_shape",
}
_OPERATORS = (
    *("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and_", "or_", "xor"),
    *("lt", "le", "eq", "ne", "gt", "ge"),
)


class Function(NamedTuple):
    """A function as programs call it: `path` is its text, `front` says whose arrays it takes.

    A method has the path ".name", and its array is the first parameter. `description` is the catalogue's.
    """

    path: str
    front: str
    parameters: list
    description: Any = None

    @property
    def is_method(self):
        return self.path.startswith(".")

    @property
    def mutates(self):
        """Whether it may change arguments that are not `out`."""
        name = self.path.rpartition(".")[2]
        return (
            bool(self.description and self.description["mutates"])
            or name.startswith("__i")
            or name in _MUTATING
        )


_MUTATING = {
    *("__setitem__", "__setstate__", "copyto", "fill_diagonal", "onehot_encode", "shuffle", "sort"),
    *("slice_assign", "slice_assign_scalar"),
}


@functools.cache
def operators():
    """Name to description of the catalogue."""
    from headrace import _core

    return {description["name"]: description for description in _core.catalogue()}


def functions():
    """All of them, each under one path, in an order that the seed may rely on."""
    import headrace

    found = {}
    for name, front in FRONTS.items():
        _walk(getattr(headrace, name), name, front, found)
    for front, cls in (("nd", headrace.nd.NDArray), ("np", headrace.np.ndarray)):
        for name in sorted(filter(_is_for_users, dir(cls))):
            method = inspect.getattr_static(cls, name)
            if callable(method) and not isinstance(method, type):
                one = _described(f".{name}", front, method, True)
                found[front, one.path] = one
        for name in _OPERATORS:
            both = [Parameter("a", "operand"), Parameter("b", "operand")]
            found[front, name] = Function(f"operator.{name}", front, both)
    return list(found.values())


def _walk(module, path, front, found):
    """The public functions of a module, then those of its modules that are not among them."""
    names = [name for name in sorted(getattr(module, "__all__", dir(module))) if not name.startswith("_")]
    modules = {name: module.__name__ + "." + name for name in dir(module) if not name.startswith("_")}
    for name in names:
        member = getattr(module, name)
        if callable(member) and not isinstance(member, type) and name not in _LEFT_OUT:
            key = front, getattr(member, "op_name", member)
            found.setdefault(key, _described(f"{path}.{name}", front, member, False))
    for name, full in modules.items():
        member = getattr(module, name)
        if isinstance(member, types.ModuleType) and member.__name__ == full and hasattr(member, "__all__"):
            _walk(member, f"{path}.{name}", front, found)


def _described(path, front, function, is_method):
    description = operators().get(getattr(function, "op_name", None))
    if description:
        parameters = parameters_of_operator(description, front == "np")
        if is_method:
            parameters[0] = parameters[0]._replace(kind="self")
        return Function(path, front, parameters, description)
    first = [Parameter("self", "self")] if is_method else []
    return Function(path, front, first + parameters_of_function(function))


def _is_for_users(name):
    """Whether a method is public, or one that an expression calls."""
    return not name.startswith("_") or name in _EXPRESSIONS


_EXPRESSIONS = {
    *("__getitem__", "__setitem__", "__len__", "__bool__", "__float__", "__int__", "__index__", "__repr__"),
    *(
        f"__{kind}{name}__"
        for kind in ("i", "r")
        for name in ("add", "sub", "mul", "truediv", "mod", "pow", "floordiv")
    ),
    *("__iter__", "__contains__", "__neg__", "__abs__", "__invert__", "__array__", "__dlpack__", "__copy__"),
}
assert all(hasattr(operator, name) for name in _OPERATORS)
