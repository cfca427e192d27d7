"""The table of README.md that says what is missing names nothing that is there."""

import importlib
import pathlib
import re
import subprocess
import sys

import pytest

import headrace as mx
from headrace.mxnet import _names

ROOT = pathlib.Path(__file__).parents[3]
README = ROOT / "README.md"
TABLE = (
    README.read_text(encoding="utf-8")
    .partition("What is missing today:")[2]
    .partition("\n\nA missing name")[0]
)
NAMES = re.findall(r"`mx\.([\w.]+)`", "\n".join(line.split("|")[2] for line in TABLE.strip().splitlines()))


def walk(module, path):
    """The name below a module, as `import` and `.` find it. AttributeError, ImportError."""
    value = importlib.import_module(module)
    for part in path.split("."):
        try:
            value = getattr(value, part)
        except AttributeError:
            value = importlib.import_module(f"{value.__name__}.{part}")
    return value


def found(path):
    """What headrace or headrace.mxnet has of that name, or None."""
    for top in ("headrace", "headrace.mxnet"):
        try:
            return walk(top, path)
        except (AttributeError, ImportError):
            continue
    return None


def test_there_are_names():
    assert NAMES and found("nd.dot") is mx.nd.dot and found("contrib.text") is not None


@pytest.mark.parametrize("path", NAMES)
def test_is_missing(path):
    assert _names.is_public(f"mxnet.{path}")
    assert found(path) is None


COVERAGE = """
import sys
sys.path.insert(0, sys.argv[1])
from reference import coverage
for names in coverage.findings().values():
    print(*(one.name for one in names.values() if one.kind == "missing"), sep="\\n")
"""


def test_differences_tell_of_every_missing_module():
    """Of a module that is missing, or of which names are: its path or one of those names is in the text."""
    tools = ROOT / "tools"
    done = subprocess.run(
        [sys.executable, "-c", COVERAGE, str(tools)], capture_output=True, text=True, check=True
    )
    missing = set(done.stdout.split())
    assert "mxnet.nd.contrib.tvm_dot" in missing
    told = (ROOT / "docs" / "differences.md").read_text(encoding="utf-8")
    modules = {}
    for name in missing:
        modules.setdefault(name.rpartition(".")[0], []).append(name.removeprefix("mxnet."))
    for module, names in modules.items():
        ends = {".".join(name.split(".")[-2:]) for name in names} | {module.removeprefix("mxnet.")}
        assert any(f"{end}`" in told for end in ends | {name.rpartition(".")[2] for name in names}), module
