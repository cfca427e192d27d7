"""Modules are loaded when they are first used: each of them may come first."""

import subprocess
import sys

import pytest

PROGRAM = """
from headrace import {first}
from headrace import nd, np
x = np.ones((2, 2))
assert type(x) is np.ndarray and type(nd.ones(2)) is nd.NDArray
assert np.dot(x, x).shape == (2, 2)
"""


@pytest.mark.parametrize("first", ["np", "npx", "nd", "sym", "gluon", "autograd", "executor", "optimizer"])
def test_any_module_may_come_first(first):
    subprocess.run([sys.executable, "-c", PROGRAM.format(first=first)], check=True, timeout=60)
