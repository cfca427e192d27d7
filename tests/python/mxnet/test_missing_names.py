"""The table of README.md that says what is missing names nothing that is there."""

import importlib
import pathlib
import re

import pytest

import headrace as mx
from headrace.mxnet import _names

README = pathlib.Path(__file__).parents[3] / "README.md"
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
    assert len(NAMES) >= 3 and found("nd.dot") is mx.nd.dot and found("contrib.text") is not None


@pytest.mark.parametrize("path", NAMES)
def test_is_missing(path):
    assert _names.is_public(f"mxnet.{path}")
    assert found(path) is None
