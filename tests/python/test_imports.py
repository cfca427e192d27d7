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


def test_names_of_the_package():
    import headrace as mx

    assert mx.use_np is mx.util.use_np and mx.rnd is mx.random
    for name in dir(mx):
        getattr(mx, name)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        mx.nothing  # noqa: B018
