"""Writes type stubs of the operator functions, derived from the catalogue. Usage: generate_stubs.py FOLDER

FOLDER becomes a stub-only package (PEP 561), to stand beside `headrace` under the name `headrace-stubs`.
Editors and type checkers then show signatures and docstrings of functions that exist only at run time.
"""

import importlib
import inspect
import pathlib
import sys
import textwrap

MODULES = {
    "ndarray": "NDArray",
    "ndarray.contrib": "NDArray",
    "ndarray.linalg": "NDArray",
    "ndarray.random": "NDArray",
    "numpy": "ndarray",
    "numpy.linalg": "ndarray",
    "numpy.random": "ndarray",
    "numpy_extension": "ndarray",
    "numpy_extension.random": "ndarray",
}
HOMES = {"NDArray": "headrace.ndarray.ndarray", "ndarray": "headrace.numpy.multiarray"}


def parameter_text(parameter: inspect.Parameter) -> str:
    """One parameter as it stands in a stub."""
    star = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
    default = "" if parameter.default is parameter.empty else "=..."
    return f"{star}{parameter.name}{default}"


def function_text(name: str, function, result: str, indent: str = "") -> str:
    """The stub of one function, with its docstring."""
    try:
        parameters = ", ".join(parameter_text(p) for p in inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        parameters = "*args, **kwargs"
    doc = inspect.cleandoc(function.__doc__ or name).replace("\\", "\\\\").replace('"""', "'''")
    body = textwrap.indent(f'"""{doc}\n"""' if "\n" in doc else f'"""{doc}"""', indent + "    ")
    return f"{indent}def {name}({parameters}) -> {result}:\n{body}\n"


def is_operator(value) -> bool:
    """Whether a name holds a function of the catalogue."""
    return type(value).__name__ == "OpFunction"


def module_text(module, array: str) -> str:
    """The stub of one module: its functions; what is no function stays Any."""
    lines = [f"from typing import Any\n\nfrom {HOMES[array]} import {array}\n"]
    for name in sorted(n for n in vars(module) if not n.startswith("_")):
        value = getattr(module, name)
        if is_operator(value):
            lines.append(function_text(name, value, f"{array} | list[{array}]"))
        elif inspect.isfunction(value):
            lines.append(function_text(name, value, "Any"))
        elif name != array and not inspect.ismodule(value):
            lines.append(f"{name}: Any\n")
    return "\n".join(lines)


def write(folder: pathlib.Path) -> int:
    """Writes all stubs; gives how many functions they hold."""
    count = 0
    for name, array in MODULES.items():
        module = importlib.import_module("headrace." + name)
        is_package = hasattr(module, "__path__")
        path = folder.joinpath(*name.split("."))
        path = path / "__init__.pyi" if is_package else path.with_suffix(".pyi")
        path.parent.mkdir(parents=True, exist_ok=True)
        text = module_text(module, array)
        path.write_text(text)
        count += text.count("def ")
    (folder / "py.typed").write_text("partial\n")  # modules without a stub are read as they are
    return count


def main(arguments: list[str]) -> int:
    """Runs the tool."""
    if len(arguments) != 1:
        print(__doc__, file=sys.stderr)
        return 2
    print(f"generate_stubs: {write(pathlib.Path(arguments[0]))} functions")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
