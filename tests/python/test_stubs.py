"""Stubs and signatures follow from the catalogue."""

import ast
import inspect
import subprocess
import sys
from pathlib import Path

import headrace
from headrace import nd, np

ROOT = Path(__file__).resolve().parents[2]


def test_stubs_are_python_and_hold_the_operators(tmp_path):
    packages = Path(headrace.__file__).absolute().parents[1]
    subprocess.run([sys.executable, ROOT / "tools/make_stubs.py", packages, tmp_path], check=True)
    found = {}
    for path in tmp_path.rglob("*.pyi"):
        tree = ast.parse(path.read_text())
        functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
        found[path.relative_to(tmp_path / "headrace").as_posix()] = {node.name: node for node in functions}
    dot = found["ndarray/__init__.pyi"]["dot"]
    assert [a.arg for a in dot.args.args][:4] == ["lhs", "rhs", "transpose_a", "transpose_b"]
    assert "sum" in found["numpy/__init__.pyi"]
    assert all(ast.get_docstring(f) for functions in found.values() for f in functions.values())


def test_signatures_are_real():
    assert str(inspect.signature(nd.softmax)).startswith("(data")
    assert "axis" in inspect.signature(np.sum).parameters
    assert inspect.signature(nd.clip).parameters["a_min"].default is inspect.Parameter.empty


def test_docstrings_list_parameters():
    assert "axis" in nd.softmax.__doc__
    assert "Parameters" in nd.softmax.__doc__
