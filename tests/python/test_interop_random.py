"""Seeded random streams recorded from MXNet 1.9.1 on the CPU: the same numbers must come out of 'mt19937'."""

import json

import numpy
import pytest
import recorded

import headrace as mx
from headrace import autograd, init, nd, np
from headrace.gluon import nn
from headrace.util import np_array, np_shape

FOLDER = recorded.folder() / "random"
pytestmark = pytest.mark.usefixtures("mt19937")

RECORDED = numpy.load(FOLDER / "random.npz", allow_pickle=False)
ROWS = {row["name"]: row for row in json.loads((FOLDER / "index.json").read_text())}


def dense_weights():
    first, second = nn.Dense(3, in_units=50), nn.Dense(2, in_units=4)
    first.initialize()
    second.initialize(init.Xavier())
    return [first.weight.data(), second.weight.data()]


def dropped():
    with autograd.train_mode():
        return [nd.Dropout(nd.ones((150,)), p=0.3)]


DRAWS = {
    "nd_uniform": lambda: [nd.random.uniform(shape=n) for n in (3, 3, 64, 65, 1000)],
    "nd_uniform_range": lambda: [nd.random.uniform(-2, 5, shape=(4, 30))],
    "nd_normal": lambda: [nd.random.normal(shape=n) for n in (5, 5, 200)] + [nd.random.normal(3, 2, shape=4)],
    "nd_randint": lambda: [nd.random.randint(0, 100, shape=8), nd.random.randint(-5, 5, shape=80)],
    "np_uniform": lambda: [np.random.uniform(size=n) for n in ((3,), (3,), (1000,))],
    "np_normal": lambda: (
        [np.random.normal(size=n) for n in ((5,), (5,), (200,))] + [np.random.normal(3, 2, (4,))]
    ),
    "np_randint": lambda: [np.random.randint(0, 100, (8,)), np.random.randint(0, 7, (100,))],
    "nd_dense_init": dense_weights,
    "np_dense_init": dense_weights,
    "dropout": dropped,
    "unseeded": lambda: [nd.random.uniform(shape=4)],
}


@pytest.mark.parametrize("name", ROWS)
def test_numbers_are_those_of_mxnet(name):
    is_np = ROWS[name]["mode"] == "np"
    with np_shape(is_np), np_array(is_np):
        mx.random.seed(ROWS[name]["seed"])
        drawn = [array.asnumpy() for array in DRAWS[name]()]
    keys = sorted(
        (key for key in RECORDED.files if key.startswith(name + "/")), key=lambda k: int(k.split("/")[1])
    )
    assert len(drawn) == len(keys)
    for array, key in zip(drawn, keys):
        expected = RECORDED[key]
        assert array.dtype == expected.dtype
        if "normal" in name:
            numpy.testing.assert_allclose(array, expected, rtol=1e-6, atol=1e-6)
        else:
            numpy.testing.assert_array_equal(array, expected)


@pytest.mark.parametrize("dtype", ["float64", "float16"])
def test_dropout_of_other_floats_draws_doubles(dtype):
    mx.random.seed(3)
    with autograd.train_mode():
        kept = nd.Dropout(nd.ones((200, 3), dtype=dtype), p=0.3).asnumpy() > 0
    after = nd.random.uniform(shape=2).asnumpy()
    # As MXNet 1.9.1 printed them.
    assert "".join(map(str, kept.reshape(-1)[:20].astype(int))) == "11111101111111111101"
    numpy.testing.assert_array_equal(after, numpy.float32([0.27794567, 0.7144679]))
    mx.random.seed(3)
    numpy.testing.assert_array_equal(
        kept, nd.random.uniform(shape=(200, 3), dtype="float64").asnumpy() <= 0.7
    )
