"""Numbers that are assigned through masks, for whose values nobody waits."""

import numpy
import pytest

from headrace import np


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_a_number_goes_where_a_mask_says(dtype):
    array = np.array(numpy.arange(24).reshape(2, 3, 4), dtype=dtype)
    expected = array.asnumpy()
    array[array > 11], expected[expected > 11] = -1, -1
    turned, turned_expected = array.transpose(2, 0, 1), expected.transpose(2, 0, 1)
    turned[turned > 5], turned_expected[turned_expected > 5] = 7.5, 7.5
    part, part_expected = array[:, 1:], expected[:, 1:]
    rows = numpy.array([[True, False], [False, True]])
    part[np.array(rows, dtype="bool")], part_expected[rows] = 9, 9
    assert (array.asnumpy() == expected).all()
    array[np.array([False, True], dtype="bool")], expected[1] = numpy.inf, numpy.inf
    assert (array.asnumpy() == expected).all()
    for shape in ((3,), (2, 4), (2, 3, 4, 1)):
        with pytest.raises(IndexError):
            array[np.ones(shape, dtype="bool")] = 0
    assert (array.asnumpy() == expected).all()
