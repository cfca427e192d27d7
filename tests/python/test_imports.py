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


FIRST = ["np", "npx", "nd", "sym", "gluon", "autograd", "executor", "optimizer", "random", "util", "model"]


@pytest.mark.parametrize("first", FIRST)
def test_any_module_may_come_first(first):
    subprocess.run([sys.executable, "-c", PROGRAM.format(first=first)], check=True, timeout=60)


def test_modules_show_what_mxnet_has_there():
    from headrace import gluon, model, nd, optimizer
    from headrace.gluon.parameter import Constant, Parameter, ParameterDict, tensor_types
    from headrace.module.feed_forward import FeedForward

    assert model.FeedForward is FeedForward and optimizer.optimizer.SGD is optimizer.SGD
    assert (
        Parameter is gluon.Parameter and Constant is gluon.Constant and ParameterDict is gluon.ParameterDict
    )
    assert nd.NDArray in tensor_types


def test_names_of_the_package():
    import headrace as mx

    assert mx.use_np is mx.util.use_np and mx.rnd is mx.random
    for name in dir(mx):
        getattr(mx, name)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        mx.nothing  # noqa: B018
