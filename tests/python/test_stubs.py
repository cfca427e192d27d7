"""Stubs and signatures follow from the catalogue."""

import ast
import importlib.util
import inspect
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import headrace
from headrace import nd, np

ROOT = Path(__file__).resolve().parents[2]


def make_stubs(folder):
    packages = Path(headrace.__file__).absolute().parents[1]
    subprocess.run([sys.executable, ROOT / "tools/make_stubs.py", packages, folder], check=True)


def test_stubs_are_python_and_hold_the_operators(tmp_path):
    make_stubs(tmp_path)
    found = {}
    for path in tmp_path.rglob("*.pyi"):
        tree = ast.parse(path.read_text())
        functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
        found[path.relative_to(tmp_path / "headrace").as_posix()] = {node.name: node for node in functions}
    dot = found["ndarray/__init__.pyi"]["dot"]
    assert [a.arg for a in dot.args.args][:4] == ["lhs", "rhs", "transpose_a", "transpose_b"]
    assert "sum" in found["numpy/__init__.pyi"]
    del found["_core.pyi"]
    assert all(ast.get_docstring(f) for functions in found.values() for f in functions.values())


PROGRAM = """\
import headrace as mx
from headrace import autograd, gluon, nd, np

x = nd.ones((2, 3))
y = nd.sofmax(x)
z = nd.clip(x, a_min="zero", a_max=1)
reveal_type(mx.nd.dot(x, x))
reveal_type(np.sum(np.ones(3)))
net = gluon.nn.Dense(3)
"""


@pytest.mark.skipif(importlib.util.find_spec("mypy") is None, reason="mypy checks the types of a program")
def test_type_checkers_see_mistakes_and_types_and_find_nothing_in_the_package(tmp_path):
    stubs, program = tmp_path / "stubs", tmp_path / "program.py"
    program.write_text(PROGRAM)
    shutil.copytree(ROOT / "python/headrace", stubs / "headrace", ignore=shutil.ignore_patterns("*.so"))
    make_stubs(stubs)
    files = [program, *stubs.rglob("*.pyi")]
    checked = subprocess.run(
        [sys.executable, "-m", "mypy", "--config-file", ROOT / "pyproject.toml", *files],
        env={**os.environ, "MYPYPATH": str(stubs), "MYPY_CACHE_DIR": str(tmp_path / "cache")},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert not [line for line in checked.stdout.splitlines() if "stubs/headrace/" in line]
    said = [line.partition("program.py:")[2] for line in checked.stdout.splitlines() if "program.py:" in line]
    assert [line.partition(" ")[0] for line in said] == ["5:", "6:", "7:", "8:"], checked.stdout
    assert "sofmax" in said[0]
    assert "a_min" in said[1]
    assert "NDArray" in said[2]
    assert "ndarray" in said[3]


def test_signatures_are_real():
    assert str(inspect.signature(nd.softmax)).startswith("(data")
    assert "axis" in inspect.signature(np.sum).parameters
    assert inspect.signature(nd.clip).parameters["a_min"].default is inspect.Parameter.empty


def test_docstrings_list_parameters():
    assert "axis" in nd.softmax.__doc__
    assert "Parameters" in nd.softmax.__doc__
