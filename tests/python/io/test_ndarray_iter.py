"""NDArrayIter: which samples come in which batch."""

import numpy
import pytest

import headrace as mx
from headrace import nd

X = numpy.arange(14).reshape(7, 2)
Y = numpy.arange(7)


def passes(data_iter, count=3):
    """For each pass the first column of the data, and the padding, of each batch."""
    found = []
    for _ in range(count):
        batches = list(data_iter)
        for batch in batches:
            numpy.testing.assert_array_equal(batch.data[0].asnumpy()[:, 0] / 2, batch.label[0].asnumpy())
        found.append([(batch.label[0].asnumpy().astype(int).tolist(), batch.pad) for batch in batches])
        data_iter.reset()
    return found


def test_pad():
    one = [([0, 1, 2], 0), ([3, 4, 5], 0), ([6, 0, 1], 2)]
    assert passes(mx.io.NDArrayIter(X, Y, 3)) == [one] * 3


def test_pad_goes_round_several_times():
    batch = next(mx.io.NDArrayIter(X, None, 30))
    assert batch.pad == 23 and batch.label == []
    assert batch.data[0].asnumpy()[:, 0].tolist() == [2 * (i % 7) for i in range(30)]


def test_discard():
    one = [([0, 1, 2], 0), ([3, 4, 5], 0)]
    assert passes(mx.io.NDArrayIter(X, Y, 3, last_batch_handle="discard")) == [one] * 3
    with pytest.raises(StopIteration):
        next(mx.io.NDArrayIter(X, Y, 30, last_batch_handle="discard"))


def test_too_few_samples_never_roll_over():
    with pytest.raises(ValueError, match="never fill a batch of 8"):
        mx.io.NDArrayIter(nd.arange(3), batch_size=8, last_batch_handle="roll_over")


def test_roll_over():
    data_iter = mx.io.NDArrayIter(X, Y, 3, last_batch_handle="roll_over")
    assert passes(data_iter) == [
        [([0, 1, 2], 0), ([3, 4, 5], 0)],
        [([6, 0, 1], 1), ([2, 3, 4], 0)],
        [([5, 6, 0], 2), ([1, 2, 3], 0), ([4, 5, 6], 0)],
    ]
    next(data_iter)
    data_iter.hard_reset()
    assert passes(data_iter, 1) == [[([0, 1, 2], 0), ([3, 4, 5], 0)]]


def test_shuffle_follows_numpy():
    numpy.random.seed(3)
    assert passes(mx.io.NDArrayIter(X, Y, 3, shuffle=True)) == [
        [([4, 6, 5], 0), ([3, 1, 0], 0), ([2, 4, 6], 2)],
        [([5, 6, 2], 0), ([0, 3, 4], 0), ([1, 5, 6], 2)],
        [([3, 6, 4], 0), ([0, 2, 5], 0), ([1, 3, 6], 2)],
    ]
    numpy.random.seed(3)
    assert passes(mx.io.NDArrayIter(X, Y, 3, True, "roll_over")) == [
        [([4, 6, 5], 0), ([3, 1, 0], 0)],
        [([2, 5, 6], 1), ([2, 0, 3], 0)],
        [([4, 1, 3], 2), ([6, 4, 0], 0), ([2, 5, 1], 0)],
    ]


def test_end_of_a_pass():
    data_iter = mx.io.NDArrayIter(X, Y, 4)
    assert len(list(data_iter)) == 2
    with pytest.raises(StopIteration):
        next(data_iter)
    data_iter.reset()
    assert data_iter.iter_next()
    assert data_iter.getdata()[0].shape == (4, 2) and data_iter.getlabel()[0].shape == (4,)
    assert data_iter.getpad() == 0 and data_iter.getindex() is None


def test_descriptions():
    data_iter = mx.io.NDArrayIter({"b": X, "a": mx.nd.array(X, dtype="int32")}, {"l": Y}, 3, layout="NC")
    assert data_iter.provide_data == [("a", (3, 2)), ("b", (3, 2))]
    assert [one.dtype for one in data_iter.provide_data] == [numpy.int32, numpy.float32]
    assert data_iter.provide_data[0].layout == "NC"
    assert data_iter.provide_label == [("l", (3,))]
    assert next(data_iter).data[0].dtype == numpy.int32
    data_iter = mx.io.NDArrayIter([X, X], batch_size=10)
    assert [one.name for one in data_iter.provide_data] == ["_0_data", "_1_data"]
    assert data_iter.provide_label == []
    assert mx.io.NDArrayIter(X, Y, data_name="x", label_name="y").provide_label == [("y", (1,))]


@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize("last_batch", ["pad", "discard", "roll_over"])
def test_first_data_says_how_many_samples_there_are(last_batch, shuffle):
    data, label = numpy.arange(5), numpy.arange(9)
    batches = mx.io.NDArrayIter(data, {"y": label}, 2, shuffle, last_batch)
    for _ in range(3):
        for batch in batches:
            assert batch.data[0].asnumpy().tolist() == batch.label[0].asnumpy().tolist()
        batches.reset()


def test_errors():
    for nothing in ([], None, {}):
        with pytest.raises(AssertionError, match="no data"):
            mx.io.NDArrayIter(nothing, Y)
    with pytest.raises(TypeError, match="Input must be NDArray"):
        mx.io.NDArrayIter("x")
    with pytest.raises(TypeError, match="Invalid type '<class 'int'>' for a"):
        mx.io.NDArrayIter({"a": 3})
    for kind in (ValueError, mx.MXNetError):
        with pytest.raises(kind, match="softmax_label has 3 samples, data has 7"):
            mx.io.NDArrayIter(X, Y[:3])


def test_the_arrays_are_those_that_batches_come_from():
    data_iter = mx.io.NDArrayIter({"data": X}, {"label": Y}, batch_size=7)
    assert data_iter.num_source == len(data_iter.data_list) == 2
    data_iter.data_list[1][:] = 5
    assert next(data_iter).label[0].asnumpy().tolist() == [5] * 7


def test_numbers_in_lists_are_arrays():
    batches = list(mx.io.NDArrayIter({"a": [1, 2, 3, 4]}, {"b": [0, 1, 0, 1]}, 2))
    assert [batch.data[0].asnumpy().tolist() for batch in batches] == [[1, 2], [3, 4]]
    assert batches[1].label[0].dtype == numpy.float32
    with pytest.raises(TypeError, match="Invalid type '<class 'str'>' for a"):
        mx.io.NDArrayIter({"a": "text"}, batch_size=1)
