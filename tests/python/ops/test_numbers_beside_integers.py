"""Numbers that integers cannot hold beside arrays of integers: bounds, comparisons, weights, conditions."""

import numpy
import pytest

from headrace import nd, np

INTEGERS = ["int8", "uint8", "int32", "uint32", "int64"]


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("number", [float("inf"), float("-inf"), 2.0**70, -(2.0**70)])
def test_bounds_beyond_the_type_bound_nothing(dtype, number):
    values = numpy.array([1, 5, 100], dtype=dtype)
    found = np.minimum(np.array(values), number) if number > 0 else np.maximum(np.array(values), number)
    clipped = np.clip(np.array(values), min(number, 0), max(number, 7))
    assert found.asnumpy().tolist() == values.tolist()
    assert clipped.asnumpy().tolist() == numpy.clip(values.tolist(), min(number, 0), max(number, 7)).tolist()
    assert nd.clip(nd.array(values, dtype=dtype), 2, float("inf")).asnumpy().tolist() == [2, 5, 100]


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("number", [float("inf"), float("-inf"), float("nan"), 2**31, 2**40, -(2**40)])
@pytest.mark.parametrize("relation", ["less", "less_equal", "greater", "greater_equal", "equal", "not_equal"])
def test_comparisons_with_what_the_type_does_not_hold(dtype, number, relation):
    limits = numpy.iinfo(dtype)
    values = numpy.array([limits.min, 5, limits.max], dtype=dtype)
    found = getattr(np, relation)(np.array(values), number)
    assert found.asnumpy().tolist() == getattr(numpy, relation)(values.astype("float64"), number).tolist()


@pytest.mark.parametrize(
    "values, weights",
    [
        (numpy.array([200, 200], "uint8"), numpy.array([3, 1], "uint8")),
        (numpy.array([100_000, 100_000], "int32"), numpy.array([100_000, 300_000], "int32")),
        (numpy.array([1, 2], "float32"), numpy.array([128, 128], "uint8")),
        (numpy.array([1, 2], "int64"), numpy.array([0.25, 0.5], "float32")),
    ],
)
def test_averages_do_not_overflow(values, weights):
    found, total = np.average(np.array(values), weights=np.array(weights), returned=True)
    expected = numpy.average(values, weights=weights.astype("float64"))
    assert found.dtype == numpy.float32
    numpy.testing.assert_allclose([found.item(), total.item()], [expected, weights.astype(float).sum()], 1e-6)


def test_whole_numbers_keep_their_digits_where_fractions_are_conditions():
    large = 2**53 + 1
    x, y = nd.array([large, 1, 1], dtype="int64"), nd.array([1, 1, large], dtype="int64")
    assert nd.where(nd.array([1, 0.5, 0]), x, y).asnumpy().tolist() == [large, 1, large]


def test_norms_by_numbers_that_are_written_as_fractions():
    matrix = np.array([[1.0, 2], [3, 4]])
    for number in (1, 2, float("inf")):
        expected = numpy.linalg.norm(matrix.asnumpy(), number)
        numpy.testing.assert_allclose(np.linalg.norm(matrix, ord=float(number)).item(), expected, 1e-6)


@pytest.mark.parametrize("subscripts", ["ij->.i", "ij->i.", "ij->..j"])
def test_results_of_einsum_have_whole_ellipses(subscripts):
    with pytest.raises(ValueError, match="expected '...' in the result"):
        np.einsum(subscripts, np.ones((2, 2)))


@pytest.mark.parametrize("dtype", ["uint8", "int32", "int64"])
def test_euclidean_norm_of_integers_whose_squares_leave_the_type(dtype):
    values = numpy.array([120, 160] if dtype == "uint8" else [3 * 10**4, 4 * 10**4], dtype)
    found = nd.norm(nd.array(values, dtype=dtype))
    assert numpy.dtype(found.dtype) == dtype
    assert found.asnumpy().tolist() == [200 if dtype == "uint8" else 50000]
