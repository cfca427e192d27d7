"""Pages of the Python package: one for each public module, with what users find there."""

import importlib
import importlib.machinery
import importlib.util
import inspect
import pkgutil
import re
import types
from collections.abc import Iterator
from typing import Any, NamedTuple

from make_stubs import Text, is_literal, parameters_of, public_names

import headrace
from headrace.mxnet._names import names_of
from headrace.numpy.host import FROM_NUMPY

from . import derived, prose

# By these names programs know the modules.
SHORT = {
    "headrace.ndarray": "headrace.nd",
    "headrace.numpy": "headrace.np",
    "headrace.numpy_extension": "headrace.npx",
    "headrace.symbol": "headrace.sym",
}

EXAMPLES = "\n\nExamples\n--------\n"


class Member(NamedTuple):
    """A class or function, with the module in which users find it."""

    module: str
    name: str
    value: Any

    @property
    def path(self) -> str:
        return f"{short(self.module)}.{self.name}"


def short(module: str) -> str:
    for long, name in SHORT.items():
        if module == long or module.startswith(long + "."):
            return name + module[len(long) :]
    return module


def _is_library(found: pkgutil.ModuleInfo) -> bool:
    """Whether it is a shared library beside the modules of an installed package, and none of them."""
    spec = importlib.util.find_spec(found.name)
    return spec is not None and isinstance(spec.loader, importlib.machinery.ExtensionFileLoader)


def public_modules() -> Iterator[types.ModuleType]:
    """Rooms, packages, what these list in `__all__`, and what MXNet shows as modules; without modules that
    begin with an underscore.
    """
    for found in pkgutil.walk_packages(headrace.__path__, "headrace."):
        _, *parts = found.name.split(".")
        of_mxnet = parts[1:] if parts[0] == "mxnet" else parts
        is_shown = len(parts) == 1 or found.ispkg or names_of(".".join(["mxnet", *of_mxnet]))
        package = importlib.import_module(found.name.rpartition(".")[0])
        is_shown = is_shown or parts[-1] in getattr(package, "__all__", ())
        if is_shown and not any(part.startswith("_") for part in parts) and not _is_library(found):
            yield importlib.import_module(found.name)


def members() -> list[Member]:
    """Every public class and function that is written in Python or C++, once, where it is found first."""
    homes: dict[int, Member] = {}
    for module in public_modules():
        for name in getattr(module, "__all__", public_names(module)):
            value = getattr(module, name)
            is_own_name = hasattr(value, "__nb_signature__") or name == getattr(value, "__name__", "")
            if is_own_name and _is_documented(value) and not name.startswith("_"):
                member = Member(module.__name__, name, value)
                homes[id(value)] = min(homes.get(id(value), member), member, key=_distance)
    return sorted(homes.values(), key=lambda one: (one.module, inspect.isfunction(one.value), one.name))


def _is_documented(value: Any) -> bool:
    is_routine = inspect.isroutine(value) or hasattr(value, "__nb_signature__")
    if not (inspect.isclass(value) or is_routine) or hasattr(value, "op_name"):
        return False
    return (getattr(value, "__module__", None) or "").startswith("headrace")


def _distance(member: Member) -> tuple[bool, int, str]:
    """Packages around the definition come first, outer ones before inner ones."""
    is_around = f"{member.value.__module__}.".startswith(f"{member.module}.")
    return (not is_around, member.module.count("."), member.module)


def pages() -> Iterator[tuple[str, str]]:
    """Name and text of each page, and of their list."""
    by_module: dict[str, list[Member]] = {}
    for member in members():
        by_module.setdefault(member.module, []).append(member)
    for module, found in by_module.items():
        yield f"python/{short(module)}", page(module, found)
    listed = "\n".join(sorted(f"python/{short(module)}" for module in by_module))
    toctree = prose.fenced("{toctree}", f":maxdepth: 1\n\n{listed}")
    yield "python", f"# Python modules\n\n{INTRODUCTION}\n\n{toctree}\n"


INTRODUCTION = """\
Functions that are operators are on the pages of [operators](operators.md). Examples are run as
tests, and begin with

```python
import headrace as mx
from headrace import autograd, gluon, init, metric, nd, np, npx, sym
from headrace.gluon import nn
```"""


def page(module: str, found: list[Member]) -> str:
    title = prose.escaped(short(module))
    parts = [f"# {title}", prose.markdown(inspect.cleandoc(importlib.import_module(module).__doc__ or ""))]
    return "\n\n".join([*parts, *map(section, found)]) + "\n"


def section(member: Member) -> str:
    """A heading and the description below it."""
    text = class_text(member) if inspect.isclass(member.value) else function_text(member)
    return f"## {prose.escaped(member.name)}\n\n{text}"


def docstring(value: Any) -> str:
    """What is said of a class or function itself: nothing of a base class, and of NumPy's text below ours its
    first paragraph.
    """
    found = vars(value).get("__doc__") if inspect.isclass(value) else value.__doc__
    if overloads := getattr(value, "__nb_signature__", None):
        found = "\n\n".join(text for _, text, _ in overloads if text)
    own, _, of_numpy = inspect.cleandoc(found or "").partition(FROM_NUMPY)
    if not of_numpy:
        return own
    summary = next(one for one in of_numpy.split("\n\n") if not re.match(r"\s*\w+\(", one))
    head, _, rest = own.partition("\n\n")
    return f"{head}\n\n{' '.join(summary.split())}\n\n{rest}"


def description(member: Member) -> str:
    """The docstring of a class or function, with a derived example where there is one."""
    text = docstring(member.value)
    made = derived.example(member.path, member.value)
    return f"{text.partition(EXAMPLES)[0]}{EXAMPLES}{made}" if made else text


def function_text(member: Member) -> str:
    head = f"````{{py:function}} {member.path}{signature(member.value)}"
    return f"{head}\n\n{prose.markdown(description(member))}\n````"


def class_text(member: Member) -> str:
    cls = member.value
    named = [base for base in cls.__bases__ if base.__module__.startswith("headrace.")]
    bases = ", ".join(f"`{base.__name__}`" for base in named if not base.__name__.startswith("_"))
    parts = [f"Bases: {bases}"] if bases else []
    parts.append(prose.markdown(description(member)))
    operators = []
    for name, value in own_attributes(cls):
        if hasattr(value, "op_name"):
            operators.append(name)
        else:
            parts.append(_attribute_text(name, value))
    if operators:
        listed = ", ".join(f"`{name}`" for name in operators)
        parts.append(f"Methods that are operators, with the array as their first input: {listed}.")
    body = "\n\n".join(filter(None, parts))
    return f"`````{{py:class}} {member.path}{signature(cls)}\n\n{body}\n`````"


def own_attributes(cls: type) -> Iterator[tuple[str, Any]]:
    """Public methods and properties with a docstring that a class, or its part in C++, defines itself."""
    own = [base for base in cls.__mro__ if base is cls or "_core" in base.__module__]
    seen: set[str] = set()
    for name, value in ((name, value) for base in own for name, value in vars(base).items()):
        if (
            not name.startswith("_")
            and name not in seen
            and getattr(value, "__doc__", None)
            and _is_method(value)
        ):
            seen.add(name)
            yield name, value


def _is_method(value: Any) -> bool:
    kinds = (property, classmethod, staticmethod, types.GetSetDescriptorType, types.MemberDescriptorType)
    return isinstance(value, kinds) or (callable(value) and not inspect.isclass(value))


def _attribute_text(name: str, value: Any) -> str:
    doc = prose.markdown(docstring(value))
    if isinstance(value, (classmethod, staticmethod)):
        arguments = signature(value.__func__, skip=isinstance(value, classmethod))
        return f"````{{py:method}} {name}{arguments}\n:{type(value).__name__}:\n\n{doc}\n````"
    if callable(value):
        return f"````{{py:method}} {name}{signature(value, skip=True)}\n\n{doc}\n````"
    return f"````{{py:property}} {name}\n\n{doc}\n````"


def signature(value: Any, skip: bool = False) -> str:
    """What a call is given, without types; `skip` leaves out the object itself. Empty for exceptions."""
    if inspect.isclass(value) and issubclass(value, BaseException):
        return ""
    parameters = [
        one.replace(
            annotation=inspect.Parameter.empty,
            default=one.default
            if one.default is inspect.Parameter.empty
            else Text(repr(one.default) if is_literal(one.default) else "..."),
        )
        for one in parameters_of(value)
    ]
    if (
        skip
        and parameters
        and parameters[0].kind in (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    ):
        parameters = parameters[1:]
    return str(inspect.Signature(parameters))
