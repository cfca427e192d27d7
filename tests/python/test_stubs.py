"""tools/make_stubs.py writes stubs that parse and have every public name with its real parameters."""

import ast
import importlib
import inspect
import pathlib
import subprocess
import sys

import pytest

import headrace

TOOL = pathlib.Path(__file__).parents[2] / "tools" / "make_stubs.py"


@pytest.fixture(scope="module")
def stubs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("stubs")
    packages = pathlib.Path(headrace.__file__).parents[1]
    subprocess.run([sys.executable, str(TOOL), str(packages), str(folder)], check=True, timeout=120)
    return folder


def definitions(path):
    tree = ast.parse(path.read_text())
    return {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)}


@pytest.mark.parametrize("name", ["ndarray", "numpy", "numpy_extension"])
def test_every_function_with_its_parameters(stubs, name):
    module = importlib.import_module(f"headrace.{name}")
    found = definitions(stubs / "headrace" / name / "__init__.pyi")
    compared = 0
    for key in set(module.__all__) & set(found):
        try:
            real = inspect.signature(getattr(module, key)).parameters.values()
        except ValueError:
            continue  # functions of nanobind do not tell
        node = found[key].args
        written = [argument.arg for argument in (*node.posonlyargs, *node.args, *node.kwonlyargs)]
        assert written == [p.name for p in real if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)], key
        compared += 1
    assert compared > 40


def test_types_defaults_and_documentation(stubs):
    found = definitions(stubs / "headrace" / "ndarray" / "__init__.pyi")["dot"]
    assert ast.unparse(found.returns) == "NDArray"
    types = {argument.arg: ast.unparse(argument.annotation) for argument in found.args.args}
    assert types["transpose_a"] == "builtins.bool"
    assert types["lhs"].startswith("NDArray")
    assert "transpose_a" in ast.get_docstring(found)


def test_methods_of_arrays(stubs):
    array = definitions(stubs / "headrace" / "ndarray" / "ndarray.pyi")["NDArray"]
    methods = {node.name for node in array.body if isinstance(node, ast.FunctionDef)}
    assert {"asnumpy", "reshape", "sum", "attach_grad", "shape", "__add__"} <= methods


def test_every_stub_is_python(stubs):
    for path in stubs.rglob("*.pyi"):
        ast.parse(path.read_text())
