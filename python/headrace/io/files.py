"""Iterators over files: CSV tables, idx images."""

import pathlib

import numpy

from .. import _arrays as arrays
from .._file import open_file
from ..base import MXNetError
from .base import DataBatch, DataDesc, DataIter, check_batch_size, check_part, from_text
from .idx import read_idx

__all__ = ["CSVIter", "MNISTIter", "MXDataIter"]


class MXDataIter(DataIter):
    """Base of the iterators over files, whose `iter_next` makes the present batch: `_batch`.

    Examples
    --------
    >>> issubclass(mx.io.CSVIter, mx.io.MXDataIter)
    True
    """

    _batch = None

    def next(self):
        """The next DataBatch. StopIteration: there is none until `reset`."""
        if not self.iter_next():
            raise StopIteration
        return self._batch

    def getdata(self):
        """The data of the present batch."""
        return self._batch.data[0]

    def getlabel(self):
        """The labels of the present batch."""
        return self._batch.label[0]

    def getindex(self):
        """Numbers of what is in the present batch."""
        return self._batch.index

    def getpad(self):
        """How many entries fill the present batch up."""
        return self._batch.pad


class RowsIter(MXDataIter):
    """Base of iterators over rows of two NumPy arrays, or of what has `take`."""

    def __init__(self, data, label, batch_size, dtype=None, data_name="data", label_name="softmax_label"):
        check_batch_size(self, batch_size)
        super().__init__(batch_size)
        self._dtype = numpy.dtype(dtype or "float32")
        self._data, self._label = data, label
        self.provide_data = [DataDesc(data_name, (batch_size, *data.shape[1:]), self._dtype.type)]
        self.provide_label = [DataDesc(label_name, (batch_size, *label.shape[1:]), self._dtype.type)]
        self._begin = 0

    def _rows(self, begin):
        """(numbers of the rows of the batch that begins at `begin`, how many of them fill it up)."""
        return numpy.arange(begin, begin + self.batch_size), 0

    def _is_over(self, begin):
        return begin + self.batch_size > len(self._data)

    def reset(self):
        """Goes back to the first batch."""
        self._begin = 0

    def iter_next(self):
        """Moves to the next batch; whether there is one."""
        if self._is_over(self._begin):
            return False
        rows, pad = self._rows(self._begin)
        self._begin += self.batch_size
        data, label = self._taken(self._data, rows), self._taken(self._label, rows)
        self._batch = DataBatch([data], [label], pad, rows.astype(numpy.uint64))
        return True

    def _taken(self, source, rows):
        if isinstance(source, numpy.ndarray):
            return arrays.array(source[rows], dtype=self._dtype)
        return source.take(rows).astype(self._dtype, copy=False)


class RoundIter(RowsIter):
    """Fills the last batch from the beginning, and starts the next pass after what was taken."""

    _round_batch = True  # False: the last batch keeps rows of the batch before

    def reset(self):
        """Goes back to the first row that the pass before did not take to fill its last batch up."""
        size = max(1, len(self._data))
        self._begin = max(0, self._begin - size) % size if self._round_batch else 0

    def _is_over(self, begin):
        return begin >= len(self._data)

    def _rows(self, begin):
        rows = numpy.arange(begin, begin + self.batch_size)
        beyond = rows >= len(self._data)
        if self._round_batch:
            rows %= len(self._data)
        else:
            rows[beyond] -= self.batch_size
        return rows.clip(0), int(beyond.sum())


def _text_of(path):
    with open_file(path, "r", encoding="utf-8-sig") as file:
        return file.read()


def _whole(text):
    try:
        return int(text)
    except ValueError:
        return int(float(text))


def _read_table(path, shape, dtype):
    """The numbers of a CSV file, or of all files in a folder, (rows, *shape); float64, or int64 for a `dtype`
    of integers, which loses no digits. Empty lines and a comma behind the last number of a row mean nothing.
    """
    path = pathlib.Path(path)
    try:
        files = sorted(one for one in path.iterdir() if one.is_file()) if path.is_dir() else [path]
        texts = [line for file in files for line in _text_of(file).splitlines() if line.strip()]
    except (OSError, UnicodeDecodeError) as error:
        raise MXNetError(f"CSVIter: {path} cannot be read: {error}") from None
    size = int(numpy.prod(shape))
    is_whole = numpy.dtype(dtype or "float32").kind in "iu"
    table = numpy.empty((len(texts), size), dtype=numpy.int64 if is_whole else numpy.float64)
    for number, text in enumerate(texts):
        values = text.rstrip().removesuffix(",").split(",")
        if len(values) != size:
            raise MXNetError(
                f"CSVIter: {path}: the data size in CSV do not match size of shape: specified "
                f"shape={tuple(shape)}, row {number} has {len(values)} values"
            )
        try:
            table[number] = [_whole(one) for one in values] if is_whole else values
        except (OverflowError, ValueError) as error:
            raise MXNetError(f"CSVIter: {path}: row {number}: {error}") from None
    return table.reshape((len(texts), *shape))


class CSVIter(RoundIter):
    r"""Rows of a CSV file (or of all files in a folder), each reshaped to `data_shape`.

    Labels come from `label_csv`, or are 0. With `round_batch` the last batch is filled from the beginning,
    and the next pass starts after what was taken; without, it keeps rows of the batch before. MXNetError: a
    file is missing, or a row does not have as many numbers as the shape.

    Examples
    --------
    >>> import os, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = os.path.join(folder.name, "data.csv")
    >>> with open(path, "w") as file:
    ...     written = file.write("1,2\n3,4\n5,6\n")
    >>> batches = mx.io.CSVIter(data_csv=path, data_shape=(2,), batch_size=2, round_batch=False)
    >>> next(batches).data[0]
    [[1. 2.]
     [3. 4.]]
    <NDArray 2x2 @cpu(0)>
    """

    def __init__(self, data_csv, data_shape, label_csv=None, label_shape=(1,), batch_size=1, round_batch=True,
                 dtype=None, **kwargs):  # fmt: skip
        data_shape, label_shape, batch_size, round_batch = from_text(
            "CSVIter", data_shape, label_shape, batch_size, round_batch
        )
        data_shape, label_shape = (
            (shape,) if isinstance(shape, int) else tuple(shape) for shape in (data_shape, label_shape)
        )
        data = _read_table(data_csv, data_shape, dtype)
        if label_csv in (None, "NULL"):
            label = numpy.zeros((len(data), *label_shape))
        else:
            label = _read_table(label_csv, label_shape, dtype)
        if len(label) != len(data):
            raise MXNetError(f"CSVIter: {data_csv} has {len(data)} rows, {label_csv} has {len(label)}")
        label = label.reshape(len(label)) if label_shape == (1,) else label
        names = {key: kwargs[key] for key in ("data_name", "label_name") if key in kwargs}
        super().__init__(data, label, batch_size, dtype, **names)
        self._round_batch = round_batch


def _shuffled(count, seed):
    """The order in which MXNet's MNISTIter shows `count` images."""
    generator = numpy.random.RandomState(seed)
    order = numpy.arange(count)
    for last in range(1, count):
        step = 0xFFFFFFFF // (last + 1)
        drawn = int(generator.randint(0, 1 << 32, dtype=numpy.uint32)) // step
        while drawn > last:
            drawn = int(generator.randint(0, 1 << 32, dtype=numpy.uint32)) // step
        order[[last, drawn]] = order[[drawn, last]]
    return order


class MNISTIter(RowsIter):
    """Images and labels of two idx files, plain or compressed; grey levels divided by 256.

    Batches are (batch_size, 1, height, width), or (batch_size, height * width) if `flat`; an incomplete last
    batch is dropped. `shuffle` draws one order from `seed`. `part_index` of `num_parts`: a share of the
    images. MXNetError: a file is missing or is no such file, or there is no such part.

    Examples
    --------
    >>> train = mx.io.MNISTIter(image="images-idx3-ubyte", label="labels-idx1-ubyte")  # doctest: +SKIP
    """

    def __init__(self, image="./train-images-idx3-ubyte", label="./train-labels-idx1-ubyte", batch_size=128,
                 shuffle=True, flat=False, seed=0, silent=False, num_parts=1, part_index=0, dtype=None,
                 **kwargs):  # fmt: skip
        batch_size, shuffle, flat, seed, num_parts, part_index = from_text(
            "MNISTIter", batch_size, shuffle, flat, seed, num_parts, part_index
        )
        try:
            images, labels = read_idx(image, axes=3), read_idx(label, axes=1)
        except (OSError, ValueError) as error:
            raise MXNetError(f"MNISTIter: {error}") from None
        if len(images) != len(labels):
            raise MXNetError(f"MNISTIter: {image} has {len(images)} images, {label} has {len(labels)} labels")
        check_part(part_index, num_parts)
        begin, end = (len(images) * part // num_parts for part in (part_index, part_index + 1))
        images, labels = images[begin:end], labels[begin:end]
        if shuffle:
            order = _shuffled(len(images), seed)
            images, labels = images[order], labels[order]
        images = images.reshape(len(images), -1) if flat else images[:, numpy.newaxis]
        names = {key: kwargs[key] for key in ("data_name", "label_name") if key in kwargs}
        super().__init__(images.astype(numpy.float32) / 256, labels, batch_size, dtype, **names)
