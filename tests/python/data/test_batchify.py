import numpy
import pytest

from headrace import nd, np
from headrace.gluon.data import batchify
from headrace.gluon.data.dataloader import default_batchify_fn


def kind(mode):
    return np.ndarray if mode == "np" else nd.NDArray


def test_numbers_keep_the_dtype_of_numpy(mode):
    for items, dtype in (([1, 2], "int64"), ([1.5, 2.0], "float64"), ([numpy.float32(1)] * 2, "float32")):
        batch = default_batchify_fn(items)
        assert type(batch) is kind(mode)
        assert batch.dtype == numpy.dtype(dtype)
        assert batch.asnumpy().tolist() == items


def test_arrays_are_stacked(mode):
    make = np.array if mode == "np" else nd.array
    batch = default_batchify_fn([make([1, 2]), make([3, 4]), make([5, 6])])
    assert type(batch) is kind(mode)
    assert batch.asnumpy().tolist() == [[1, 2], [3, 4], [5, 6]]


def test_tuples_give_lists(mode):
    batch = default_batchify_fn([(1, (2, 3.5)), (4, (5, 6.5))])
    assert isinstance(batch, list)
    assert batch[0].asnumpy().tolist() == [1, 4]
    assert isinstance(batch[1], list)
    assert batch[1][1].asnumpy().tolist() == [3.5, 6.5]


def test_lists_are_data():
    assert default_batchify_fn([[1, 2], [3, 4]]).shape == (2, 2)


@pytest.mark.parametrize("items", [[{"a": 1}], ["a", "b"]])
def test_items_that_are_no_numbers(items):
    with pytest.raises(KeyError, match="cannot become an array"):
        default_batchify_fn(items)


@pytest.mark.parametrize(
    "items",
    [
        [nd.ones((2,)), nd.ones((3,))],
        [numpy.ones(2), numpy.ones(3)],
        [(1, 2), (3,)],
        [[1, 2], [3, 4, 5]],
    ],
)
def test_items_of_different_shapes(items):
    with pytest.raises((ValueError, KeyError), match="batchify"):
        default_batchify_fn(items)


def test_stack(mode):
    batch = batchify.Stack()([numpy.ones((2, 3)), numpy.zeros((2, 3))])
    assert type(batch) is kind(mode)
    assert batch.shape == (2, 2, 3)


def test_pad():
    batch = batchify.Pad(val=-1)([[1, 2, 3], numpy.array([4]), nd.array([5, 6], dtype="int64")])
    assert batch.asnumpy().tolist() == [[1, 2, 3], [4, -1, -1], [5, 6, -1]]
    assert batch.dtype == numpy.int64


def test_pad_in_two_axes_with_lengths():
    items = [numpy.ones((1, 3)), numpy.ones((2, 1))]
    batch, lengths = batchify.Pad(dtype="float32", ret_length=True)(items)
    assert batch.dtype == numpy.float32
    assert batch.asnumpy().tolist() == [[[1, 1, 1], [0, 0, 0]], [[1, 0, 0], [1, 0, 0]]]
    assert lengths.asnumpy().tolist() == [1, 2]
    assert lengths.dtype == numpy.int32


def test_pad_refuses_different_ranks():
    with pytest.raises(ValueError, match="same number of axes"):
        batchify.Pad()([numpy.ones(2), numpy.ones((2, 2))])


def test_append_group_and_as_list():
    items = [(numpy.ones(2), numpy.ones(3), "a"), (numpy.ones(2), numpy.ones(1), "b")]
    stacked, appended, names = batchify.Group(batchify.Stack(), batchify.Append(), batchify.AsList())(items)
    assert stacked.shape == (2, 2)
    assert [array.shape for array in appended] == [(1, 3), (1, 1)]
    assert names == ["a", "b"]
    assert [array.shape for array in batchify.Append(expand=False)(numpy.ones((2, 3)))] == [(3,), (3,)]
    with pytest.raises(ValueError, match="expected items of 3 elements, got one of 2"):
        batchify.Group([batchify.AsList()] * 3)([(1, 2)])
