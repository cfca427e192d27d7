"""uint64 values of 2^63 and more, which no signed integer holds: what NumPy makes of them."""

import numpy
import pytest

from headrace import nd, np

X = numpy.array([[2**63, 1, 2**64 - 1], [0, 2**63 - 1, 2**63 + 5]], dtype="uint64")
Y = numpy.array([[3, 2**63, 2**64 - 2], [1, 2**63, 2**63 + 5]], dtype="uint64")

BINARY = [
    "greater",
    "greater_equal",
    "less",
    "less_equal",
    "equal",
    "not_equal",
    "logical_and",
    "maximum",
    "minimum",
    "fmod",
    "mod",
    "floor_divide",
    "add",
    "subtract",
    "multiply",
    "power",
    "bitwise_xor",
    "lcm",
]


@pytest.mark.parametrize("name", BINARY)
def test_of_two(name):
    result = getattr(np, name)(np.array(X, dtype="uint64"), np.array(Y, dtype="uint64")).asnumpy()
    with numpy.errstate(all="ignore"):
        expected = getattr(numpy, name)(X, Y)
    assert result.dtype == expected.dtype
    assert result.tolist() == expected.tolist()


@pytest.mark.parametrize("name", ["abs", "sign", "square", "bitwise_not", "isfinite", "floor", "logical_not"])
def test_of_one(name):
    result = getattr(np, name)(np.array(X, dtype="uint64")).asnumpy()
    assert result.tolist() == getattr(numpy, name)(X).tolist()


@pytest.mark.parametrize("axis", [None, 0, 1])
@pytest.mark.parametrize(
    "name", ["max", "min", "argmax", "argmin", "sum", "prod", "sort", "argsort", "mean", "cumsum"]
)
def test_along_an_axis(name, axis):
    if name in ("sort", "argsort") and axis is None:
        axis = -1
    result = getattr(np, name)(np.array(X, dtype="uint64"), axis=axis).asnumpy()
    expected = getattr(numpy, name)(X, axis=axis)
    if name == "mean":
        numpy.testing.assert_allclose(result, expected, rtol=1e-6)
    else:
        assert result.tolist() == expected.tolist()


def test_unique_values_are_sorted():
    assert np.unique(np.array(X, dtype="uint64")).asnumpy().tolist() == numpy.unique(X).tolist()


@pytest.mark.parametrize("number", [-1, 0, 3, 2**62])
def test_comparisons_with_numbers(number):
    x = np.array(X, dtype="uint64")
    python = [[int(value) for value in row] for row in X]
    for function in (
        lambda v: v > number,
        lambda v: v >= number,
        lambda v: v < number,
        lambda v: v == number,
    ):
        assert function(x).asnumpy().tolist() == [[function(value) for value in row] for row in python]


def test_negative_numbers_wrap():
    x = np.array(X, dtype="uint64")
    expected = [[(int(value) - 3) % 2**64 for value in row] for row in X]
    assert (x + -3).asnumpy().tolist() == (x - 3).asnumpy().tolist() == expected


def test_nd_and_casts():
    x = nd.array(X, dtype="uint64")
    assert nd.max(x).asnumpy().tolist() == [2**64 - 1]
    assert (x > nd.zeros((2, 3), dtype="uint64")).asnumpy().tolist() == (X > 0).astype(int).tolist()
    numpy.testing.assert_allclose(x.astype("float64").asnumpy(), X.astype("float64"))
    assert x.astype("int64").astype("uint64").asnumpy().tolist() == X.tolist()
    assert nd.topk(x, k=2, axis=1, ret_typ="value").asnumpy().tolist() == numpy.sort(X)[:, :0:-1].tolist()
