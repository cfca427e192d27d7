"""Datasets: anything with `__getitem__` and `__len__`, and the views that select from and transform them."""

import os

import numpy

from ..._arrays import NDArray
from ...recordio import MXIndexedRecordIO
from ._batches import batch_form, batch_reader
from ._host import column_reader
from .sampler import FilterSampler, Sampler

__all__ = ["Dataset", "SimpleDataset", "ArrayDataset", "RecordFileDataset"]


class Dataset:
    """Items with numbers 0 to `len(dataset) - 1`. Subclasses define `__getitem__` and `__len__`.

    Examples
    --------
    >>> class Squares(gluon.data.Dataset):
    ...     def __len__(self):
    ...         return 4
    ...     def __getitem__(self, index):
    ...         return index**2
    >>> data = Squares().transform(lambda x: -x)
    >>> [data[index] for index in range(len(data))]
    [0, -1, -4, -9]
    """

    def __getitem__(self, idx):
        raise NotImplementedError(f"{type(self).__name__} must define __getitem__")

    def __len__(self):
        raise NotImplementedError(f"{type(self).__name__} must define __len__")

    def filter(self, fn):
        """The items for which `fn(item)` is true. Calls `fn` on every item at once."""
        return _Selection(self, FilterSampler(fn, self))

    def shard(self, num_shards, index):
        """Part `index` of `num_shards` parts of neighbouring items; the first `len % num_shards` parts get
        one more.
        """
        assert index < num_shards, f"Shard index of out bound: {index} out of {num_shards}"
        assert num_shards > 0, f"Number of shards must be greater than 0: got {num_shards}"
        assert index >= 0, f"Index must be non-negative: got {index}"
        share, extra = divmod(len(self), num_shards)
        start = share * index + min(index, extra)
        return _Selection(self, range(start, start + share + (index < extra)))

    def take(self, count):
        """The first `count` items; all of them when `count` is None or too large."""
        size = len(self) if count is None else min(count, len(self))
        return _Selection(self, range(size))

    def sample(self, sampler):
        """The items that `sampler` names, in its order. TypeError: `sampler` is no Sampler."""
        if not isinstance(sampler, Sampler):
            raise TypeError(f"Invalid sampler type: {type(sampler)}. Expected gluon.data.Sampler instead.")
        return _Selection(self, sampler)

    def transform(self, fn, lazy=True):
        """A dataset of `fn(item)`, or `fn(*item)` when items are tuples.

        `lazy=False` computes all items now; else each is computed whenever it is read.
        """
        transformed = _LazyTransformDataset(self, fn)
        return transformed if lazy else SimpleDataset(list(transformed))

    def transform_first(self, fn, lazy=True):
        """As `transform`, with `fn` given only the first element of each item, the others staying as they
        are.
        """
        return self.transform(_OnFirst(fn), lazy)


class SimpleDataset(Dataset):
    """A list, array or other sequence as a dataset.

    Examples
    --------
    >>> data = gluon.data.SimpleDataset([1, 2, 3, 4])
    >>> list(data.filter(lambda x: x % 2 == 0))
    [2, 4]
    >>> data[3]
    4
    """

    def __init__(self, data):
        self._data = data

    def __len__(self):
        return len(self._data)

    def __getitem__(self, idx):
        return self._data[idx]

    def batch_reader(self):
        return column_reader(self._data)


class ArrayDataset(Dataset):
    """Items `(a[i], b[i], ...)` of arrays, lists or datasets of one length; `a[i]` when there is only one.

    One-dimensional NDArrays are kept as NumPy arrays, so labels are NumPy scalars.

    Examples
    --------
    >>> data = gluon.data.ArrayDataset([1, 2, 3], ["a", "b", "c"])
    >>> len(data), data[1]
    (3, (2, 'b'))
    """

    def __init__(self, *args):
        assert len(args) > 0, "Needs at least 1 arrays"
        self._length = len(args[0])
        for i, data in enumerate(args):
            assert len(data) == self._length, (
                f"All arrays must have the same length; array[0] has length {self._length} "
                f"while array[{i}] has {len(data)}."
            )
        self._data = [
            data.asnumpy() if isinstance(data, NDArray) and data.ndim == 1 else data for data in args
        ]

    def __getitem__(self, idx):
        if len(self._data) == 1:
            return self._data[0][idx]
        return tuple(data[idx] for data in self._data)

    def __len__(self):
        return self._length

    def batch_reader(self):
        columns = [column_reader(data) or batch_reader(data) for data in self._data]
        if None in columns:
            return None
        if len(columns) == 1:
            return columns[0]
        return lambda rows: tuple(read(rows) for read in columns)


class RecordFileDataset(Dataset):
    """The records of a RecordIO file as bytes, in the order of its index, the file of that name with `.idx`.

    MXNetError, FileNotFoundError: the files cannot be opened.

    Examples
    --------
    >>> import os, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = os.path.join(folder.name, "some")
    >>> file = mx.recordio.MXIndexedRecordIO(path + ".idx", path + ".rec", "w")
    >>> file.write_idx(0, b"first")
    >>> file.write_idx(1, b"second")
    >>> file.close()
    >>> gluon.data.RecordFileDataset(path + ".rec")[1]
    b'second'
    """

    def __init__(self, filename):
        self.idx_file = os.path.splitext(filename)[0] + ".idx"
        self.filename = filename
        self._record = MXIndexedRecordIO(self.idx_file, filename, "r")

    def __getitem__(self, idx):
        return self._record.read_idx(self._record.keys[idx])

    def __len__(self):
        return len(self._record.keys)


class _DownloadedDataset(Dataset):
    """Items `(data, label)`, or `transform(data, label)`, of what `_get_data` of a subclass, which programs
    may define, puts into `_data` and `_label`. `_root` is a folder, which is made, for files.
    """

    def __init__(self, root, transform):
        self._transform = transform
        self._data = self._label = None
        self._root = os.path.expanduser(root)
        os.makedirs(self._root, exist_ok=True)
        self._get_data()

    def _get_data(self):
        raise NotImplementedError(f"{type(self).__name__} must define _get_data()")

    def __getitem__(self, idx):
        data, label = self._data[idx], self._label[idx]
        return (data, label) if self._transform is None else self._transform(data, label)

    def __len__(self):
        return len(self._label)

    def batch_reader(self):
        data, labels = column_reader(self._data), column_reader(self._label)
        if data is None or labels is None:
            return None
        if self._transform is None:
            return lambda rows: (data(rows), labels(rows))
        apply = batch_form(self._transform)
        return (lambda rows: apply(data(rows), labels(rows))) if apply else None


class _Selection(Dataset):
    """The items of `dataset` whose numbers `rows` gives, in that order."""

    def __init__(self, dataset, rows):
        self._dataset = dataset
        self._rows = rows if isinstance(rows, range) else list(rows)

    def __len__(self):
        return len(self._rows)

    def __getitem__(self, idx):
        return self._dataset[self._rows[idx]]

    def batch_reader(self):
        read = batch_reader(self._dataset)
        numbers = numpy.asarray(self._rows, dtype=None if len(self._rows) else numpy.int64)
        if read is None or numbers.ndim != 1 or numbers.dtype.kind not in "iu":
            return None
        return lambda rows: read(numbers.take(rows))


class _LazyTransformDataset(Dataset):
    """`fn` applied to the items of `data` whenever they are read. Programs know it by this name."""

    def __init__(self, data, fn):
        self._data = data
        self._fn = fn

    def __len__(self):
        return len(self._data)

    def __getitem__(self, idx):
        item = self._data[idx]
        return self._fn(*item) if isinstance(item, tuple) else self._fn(item)

    def batch_reader(self):
        apply = batch_form(self._fn)
        read = batch_reader(self._data) if apply else None
        if read is None:
            return None

        def read_transformed(rows):
            columns = read(rows)
            return apply(*columns) if isinstance(columns, tuple) else apply(columns)

        return read_transformed


class _OnFirst:
    """Calls `fn` on its first argument and passes the others on. A class so that it pickles."""

    def __init__(self, fn):
        self._fn = fn

    def __call__(self, x, *others):
        y = self._fn(x)
        return (y, *others) if others else y

    def batch_form(self):
        apply = batch_form(self._fn)
        return (lambda x, *others: (apply(x), *others) if others else apply(x)) if apply else None
