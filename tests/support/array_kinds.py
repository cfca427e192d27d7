"""Arrays of both kinds in each dtype, beside what NumPy has: for tests of arrays themselves."""

import numpy
import pytest

from headrace import nd, np

DTYPES = ["float16", "float32", "float64", "uint8", "int8", "int32", "int64", "bool"]
MODULES = pytest.mark.parametrize("module", [nd, np], ids=["nd", "np"])


def host(dtype="float32"):
    return numpy.arange(6).reshape(2, 3).astype(dtype)


def same(array, expected):
    assert array.shape == expected.shape
    assert numpy.dtype(array.dtype) == expected.dtype
    numpy.testing.assert_array_equal(array.asnumpy(), expected)
