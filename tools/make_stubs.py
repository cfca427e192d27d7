"""Writes type stubs for the modules whose functions come from the catalogue, and for the package, which loads
its modules when they are asked for.

Usage: make_stubs.py PACKAGES STUBS. PACKAGES has the built package, STUBS receives the .pyi files.
"""

import ast
import builtins
import importlib
import inspect
import pathlib
import pkgutil
import sys
import textwrap
import types
from collections.abc import Iterator
from typing import Any

PACKAGES = ("headrace.ndarray", "headrace.numpy", "headrace.numpy_extension")
HEADER = '''\
"""{summary}"""

import builtins
from collections.abc import Sequence
from typing import Any

import numpy as _numpy
'''
# The module in C++: the package's own business.
CORE = """\
from typing import Any

__version__: str

class _Module(type):
    def __getattr__(cls, name: str) -> Any: ...

class plan(metaclass=_Module):
    class Plan:
        def __getattr__(self, name: str) -> Any: ...
    class Simulation:
        def __getattr__(self, name: str) -> Any: ...
    class Topology:
        def __getattr__(self, name: str) -> Any: ...

def __getattr__(name: str) -> Any: ...
"""
# Types of attributes by their kind in the catalogue. Modules define names like `bool`, hence the prefix.
KINDS = {
    "bool": "builtins.bool",
    "int": "builtins.int",
    "float": "builtins.float",
    "str": "builtins.str",
    "dtype": "builtins.str | type | _numpy.dtype[Any]",
    "shape": "builtins.int | Sequence[builtins.int]",
    "floats": "Sequence[builtins.float]",
}


class Writer:
    """Collects the text of one module's stub."""

    def __init__(self, module: types.ModuleType, operators: dict[str, dict[str, Any]]) -> None:
        self._module = module
        self._operators = operators
        self._array = "ndarray" if module.__name__.startswith("headrace.numpy") else "NDArray"
        self._imports: set[str] = set()
        self._lines: list[str] = []

    def text(self) -> str:
        if hasattr(self._module, "__all__"):
            self._lines.append("__all__: list[str]")
        for name in public_names(self._module):
            self._lines += self._member(name, getattr(self._module, name))
        source = "headrace.numpy.multiarray" if self._array == "ndarray" else "headrace.ndarray.ndarray"
        if source != self._module.__name__:
            self._imports.add(f"from {source} import {self._array} as {self._array}")
        summary = (self._module.__doc__ or self._module.__name__).strip().splitlines()[0]
        return "\n".join(
            [HEADER.format(summary=summary) + "\n".join(sorted(self._imports)), "", *self._lines, ""]
        )

    def _member(self, name: str, value: Any) -> list[str]:
        if isinstance(value, types.ModuleType):
            if value.__name__.startswith("headrace."):
                parent, _, child = value.__name__.rpartition(".")
                self._imports.add(f"from {parent} import {child} as {name}")
            return []
        if inspect.isclass(value):
            if value.__module__ == self._module.__name__:
                return self._class(value)
            if value.__module__.startswith("headrace."):
                self._imports.add(f"from {value.__module__} import {value.__name__} as {name}")
                return []
            return [f"{name}: type"]
        if callable(value):
            return self._function(name, value)
        kind = type(value).__name__
        return [f"{name}: builtins.{kind}" if hasattr(builtins, kind) else f"{name}: Any"]

    def _class(self, cls: type) -> list[str]:
        bases = [
            base
            for base in cls.__bases__
            if base.__module__.startswith("headrace.") and "_core" not in base.__module__
        ]
        for base in bases:
            if base.__module__ != self._module.__name__:
                self._imports.add(f"from {base.__module__} import {base.__name__} as {base.__name__}")
        inherited = {name for base in [object, *bases] for name in dir(base)}
        lines = [f"class {cls.__name__}({', '.join(base.__name__ for base in bases)}):".replace("()", "")]
        lines += docstring(cls)
        inherited.add("__ipow__")  # to type checkers `x **= 2` is `x = x ** 2`; in C the signatures differ
        for name in sorted(set(dir(cls)) - inherited):
            if name.startswith("_") and not (name.startswith("__") and callable(getattr(cls, name))):
                continue
            lines += ["    " + line for line in self._class_member(name, inspect.getattr_static(cls, name))]
        return [*lines, "    ..."]

    def _class_member(self, name: str, value: Any) -> list[str]:
        if (
            isinstance(value, property)
            or inspect.isgetsetdescriptor(value)
            or inspect.ismemberdescriptor(value)
        ):
            return ["@property", f"def {name}(self) -> Any:", *docstring(value), "    ..."]
        if isinstance(value, classmethod | staticmethod):
            return [f"@{type(value).__name__}", *self._function(name, value.__func__)]
        if callable(value):
            return self._function(name, value, is_method=True)
        return [f"{name}: Any"]

    def _function(self, name: str, function: Any, is_method: bool = False) -> list[str]:
        operator = self._operators.get(getattr(function, "op_name", None), {})
        parameters = list(parameters_of(function))
        if is_method and not parameters:  # a method in C whose signature leaves self away
            parameters = [inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)]
        elif is_method and parameters[0].kind is not inspect.Parameter.VAR_POSITIONAL:
            parameters[0] = parameters[0].replace(name="self", default=inspect.Parameter.empty)
        fields = {field["name"]: field for field in operator.get("fields", ())}
        inputs = {*operator.get("inputs", ()), *operator.get("np_inputs", ()), "out"} if operator else set()
        typed = [self._typed(parameter, fields.get(parameter.name), inputs) for parameter in parameters]
        result = self._array if operator.get("outputs") == 1 else "Any"
        return [f"def {name}{inspect.Signature(typed)} -> {result}:", *docstring(function), "    ..."]

    def _typed(self, parameter: inspect.Parameter, field: dict | None, inputs: set[str]) -> inspect.Parameter:
        if parameter.name == "self":
            return parameter.replace(annotation=inspect.Parameter.empty)
        kind = "Any"
        if field and (kind := KINDS.get(field["kind"], "Any")) != "Any":
            kind += " | None" if field["nullable"] or parameter.default is None else ""
        elif parameter.name in inputs:
            kind = f"{self._array} | Any"
        default = parameter.default
        if default is not inspect.Parameter.empty:
            default = Text("...") if not is_literal(default) else Text(repr(default))
        return parameter.replace(annotation=Text(kind), default=default)


class Text(str):
    """A string that shows without quotes, so that a signature prints it as code."""

    __repr__ = str.__str__


def is_literal(value: Any) -> bool:
    if isinstance(value, tuple):
        return all(map(is_literal, value))
    if isinstance(value, float) and not abs(value) < float("inf"):
        return False
    return value is None or type(value) in (bool, int, float, str)


def docstring(value: Any) -> list[str]:
    text = inspect.cleandoc(getattr(value, "__doc__", None) or "").replace("\\", "\\\\").replace('"""', "'''")
    if not text:
        return []
    if "\n" in text:
        text += "\n"
    return textwrap.indent(f'"""{text}"""', "    ").splitlines()


def parameters_of(function: Any) -> Iterator[inspect.Parameter]:
    for definition, _, defaults in getattr(function, "__nb_signature__", ())[:1]:
        function = _declared(definition, defaults or ())
    try:
        yield from inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        yield inspect.Parameter("args", inspect.Parameter.VAR_POSITIONAL)
        yield inspect.Parameter("kwargs", inspect.Parameter.VAR_KEYWORD)


def _declared(definition: str, defaults: tuple[Any, ...]) -> Any:
    """A function with the parameters that nanobind tells of one in C++: `def f(a: int = \\0) -> str`."""
    for i, default in enumerate(defaults):
        definition = definition.replace(f"\\{i}", repr(default))
    [node] = ast.parse(f"{definition}: ...").body
    assert isinstance(node, ast.FunctionDef)
    for parameter in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs):
        parameter.annotation = None  # types of the module in C++ are its own business
    node.returns = None
    scope: dict[str, Any] = {}
    exec(compile(ast.Module([node], []), "<nanobind>", "exec"), scope)
    return scope[node.name]


def public_names(module: types.ModuleType) -> list[str]:
    names = {*getattr(module, "__all__", ()), *(name for name in vars(module) if not name.startswith("_"))}
    return sorted(name for name in names if name.isidentifier())


def modules() -> Iterator[types.ModuleType]:
    for package_name in PACKAGES:
        package = importlib.import_module(package_name)
        yield package
        for found in pkgutil.iter_modules(package.__path__, f"{package_name}."):
            yield importlib.import_module(found.name)


def package_text(package: types.ModuleType) -> str:
    """What programs find in the package: modules, also under short names, and names of some modules."""
    summary = package.__doc__.splitlines()[0]
    lines = [f'"""{summary}"""', "", "from ._core import __version__ as __version__"]
    for name, path in sorted(package._MODULES.items()):
        parent, _, child = path.rpartition(".")
        lines.append(f"from .{parent} import {child} as {name}")
    for name, (module, attribute) in sorted(package._NAMES.items()):
        lines.append(f"from .{module} import {attribute} as {name}")
    return "\n".join([*lines, ""])


def main(packages: str, stubs: str) -> None:
    sys.path.insert(0, packages)
    import headrace
    from headrace import _core

    folder = pathlib.Path(stubs)
    operators = {operator["name"]: operator for operator in _core.catalogue()}
    for module in modules():
        path = folder.joinpath(*module.__name__.split("."))
        path = path / "__init__.pyi" if hasattr(module, "__path__") else path.with_suffix(".pyi")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(Writer(module, operators).text())
    (folder / "headrace" / "__init__.pyi").write_text(package_text(headrace))
    (folder / "headrace" / "_core.pyi").write_text(CORE)
    (folder / "headrace" / "py.typed").touch()


if __name__ == "__main__":
    main(*sys.argv[1:])
