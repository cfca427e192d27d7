import pickle

import numpy
import pytest

from headrace import gluon, nd, np
from headrace.gluon.data import ArrayDataset, Dataset, SequentialSampler, SimpleDataset

TEN = SimpleDataset(list(range(10)))


def double(x):
    return 2 * x


def test_shard_gives_the_first_parts_one_more():
    assert [list(TEN.shard(3, i)) for i in range(3)] == [[0, 1, 2, 3], [4, 5, 6], [7, 8, 9]]


@pytest.mark.parametrize(("num_shards", "index"), [(3, 3), (0, 0), (3, -1)])
def test_shard_out_of_range(num_shards, index):
    with pytest.raises(AssertionError):
        TEN.shard(num_shards, index)


def test_take():
    assert list(TEN.take(3)) == [0, 1, 2]
    assert len(TEN.take(None)) == 10
    assert len(TEN.take(100)) == 10


def test_filter_looks_at_every_item_once():
    seen = []
    odd = TEN.filter(lambda x: seen.append(x) or x % 2)
    assert list(odd) == [1, 3, 5, 7, 9]
    assert len(odd) == 5
    assert len(seen) == 10


def test_sample():
    assert list(TEN.sample(SequentialSampler(3, 5))) == [5, 6, 7]
    with pytest.raises(TypeError, match="Invalid sampler type"):
        TEN.sample([1, 2])


def test_transform_is_lazy_unless_told():
    calls = []

    def fn(x):
        calls.append(x)
        return x + 1

    lazy = TEN.transform(fn)
    assert calls == []
    assert lazy[3] == 4
    assert calls == [3]
    eager = TEN.transform(fn, lazy=False)
    assert len(calls) == 11
    assert isinstance(eager, SimpleDataset)
    assert list(eager) == list(range(1, 11))
    assert len(calls) == 11


def test_transform_spreads_tuples_and_nothing_else():
    assert SimpleDataset([(1, 2)]).transform(lambda a, b: a + b)[0] == 3
    assert SimpleDataset([[1, 2]]).transform(lambda a: len(a))[0] == 2


def test_transform_first():
    assert SimpleDataset([(1, 2, 3)]).transform_first(double)[0] == (2, 2, 3)
    assert SimpleDataset([4]).transform_first(double)[0] == 8


def test_views_of_views():
    chain = TEN.filter(lambda x: x % 2).transform(double).take(4).shard(2, 1)
    assert list(chain) == [10, 14]


def test_items_outside():
    with pytest.raises(IndexError):
        TEN[10]
    with pytest.raises(IndexError):
        TEN.take(3)[5]
    assert TEN.take(3)[-1] == 2


def test_array_dataset_of_nd_arrays():
    dataset = ArrayDataset(nd.arange(12).reshape((4, 3)), nd.arange(4))
    image, label = dataset[1]
    assert isinstance(image, nd.NDArray)
    assert image.asnumpy().tolist() == [3, 4, 5]
    assert type(label) is numpy.float32
    images, labels = dataset[1:3]
    assert images.shape == (2, 3)
    assert labels.tolist() == [1, 2]
    assert dataset[-1][1] == 3
    with pytest.raises(IndexError):
        dataset[4]


def test_array_dataset_of_np_arrays(np_mode):
    image, label = ArrayDataset(np.ones((4, 3)), np.arange(4))[1]
    assert isinstance(image, np.ndarray)
    assert type(label) is numpy.float32


def test_array_dataset_of_one_array_has_bare_items():
    assert ArrayDataset([5, 6, 7])[1] == 6
    assert type(ArrayDataset(nd.arange(3))[0]) is numpy.float32


def test_array_dataset_of_nothing_or_of_different_lengths():
    with pytest.raises(AssertionError, match="Needs at least 1 arrays"):
        ArrayDataset()
    with pytest.raises(AssertionError, match="All arrays must have the same length"):
        ArrayDataset([1, 2], [1])


def test_dataset_is_abstract():
    with pytest.raises(NotImplementedError):
        Dataset()[0]
    with pytest.raises(NotImplementedError):
        len(Dataset())


def test_transformed_dataset_pickles():
    copy = pickle.loads(pickle.dumps(SimpleDataset([(1, 2)]).transform_first(double)))
    assert copy[0] == (2, 2)


class Made(gluon.data.dataset._DownloadedDataset):
    """A dataset of a program, with its own `_get_data`."""

    def _get_data(self):
        self._data, self._label = nd.array([[1, 2], [3, 4], [5, 6]]), numpy.array([0, 1, 0])


def test_a_program_says_where_its_data_come_from(tmp_path):
    made = Made(str(tmp_path / "made"), None)
    assert (tmp_path / "made").is_dir() and len(made) == 3
    assert made[1][0].asnumpy().tolist() == [3, 4] and made[1][1] == 1
    for data, label in gluon.data.DataLoader(Made(str(tmp_path), lambda x, y: (x + 1, y)), batch_size=3):
        assert data.asnumpy().tolist() == [[2, 3], [4, 5], [6, 7]] and label.asnumpy().tolist() == [0, 1, 0]


def test_a_subclass_of_mnist_has_data_of_its_own(tmp_path):
    class Noise(gluon.data.vision.MNIST):
        def _get_data(self):
            count = 4 if self._train else 2
            self._data = nd.zeros((count, 28, 28, 1), dtype="uint8")
            self._label = numpy.arange(count, dtype="int32")

    assert len(Noise(str(tmp_path))) == 4 and len(Noise(str(tmp_path), train=False)) == 2
    assert Noise(str(tmp_path))[3][1] == 3
