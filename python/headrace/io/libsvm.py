"""LibSVMIter: batches of csr arrays from text files."""

import pathlib

import numpy

from .. import _core
from .._file import open_file
from ..base import MXNetError
from ..ndarray import array
from .base import check_part, from_text
from .files import RoundIter

__all__ = ["LibSVMIter"]


def _lines(path, num_parts, part_index):
    """The lines of a file, or of all files in a folder, that begin in part `part_index` of its bytes."""
    check_part(part_index, num_parts)
    path = pathlib.Path(path)
    try:
        files = sorted(one for one in path.iterdir() if one.is_file()) if path.is_dir() else [path]
        text = b"".join(_ended(_bytes_of(file)) for file in files)
    except OSError as error:
        raise MXNetError(f"LibSVMIter: {path} cannot be read: {error}") from None
    share = -(-len(text) // num_parts)
    begin, end = (min(len(text), share * part) for part in (part_index, part_index + 1))
    place = 0
    for line in text.splitlines(keepends=True):
        if begin < place <= end or (place == 0 and begin == 0):
            yield line.decode(errors="replace")
        place += len(line)


def _bytes_of(path):
    with open_file(path) as file:
        return file.read()


def _ended(text):
    return text if text.endswith(b"\n") else text + b"\n"


class MatrixRows:
    """Rows of a matrix of mostly zeros, as NumPy arrays: `values` in `columns`, row r from begin[r] on."""

    def __init__(self, values, columns, begin, width):
        self.values = numpy.asarray(values, "float32")
        self.columns = numpy.asarray(columns, "int64")
        self.begin = numpy.asarray(begin, "int64")
        self.shape = (len(self.begin) - 1, width)

    def __len__(self):
        return self.shape[0]

    def take(self, rows):
        """A CSRNDArray of the rows with these numbers."""
        counts = (self.begin[1:] - self.begin[:-1])[rows]
        begin = numpy.concatenate([[0], numpy.cumsum(counts)])
        places = numpy.arange(begin[-1]) + numpy.repeat(self.begin[rows] - begin[:-1], counts)
        parts = (
            array(self.values[places]),
            *(_core.array(one, "int64", False) for one in (self.columns[places], begin)),
        )
        return _core.csr(*parts, (len(rows), self.shape[1]))


def _read(path, width, num_parts, part_index):
    """(MatrixRows, the first number of each line)."""
    values, columns, begin, labels = [], [], [0], []
    for number, line in enumerate(_lines(path, num_parts, part_index)):
        words = line.partition("#")[0].split()
        if not words:
            continue
        try:
            labels.append(float(words[0].partition(":")[0]))
            for word in words[1:]:
                column, _, value = word.partition(":")
                if column == "qid":
                    continue
                columns.append(int(column))
                values.append(float(value or 1))
        except ValueError as error:
            raise MXNetError(f"LibSVMIter: {path}: row {number}: {error}") from None
        if any(not 0 <= column < width for column in columns[begin[-1] :]):
            raise MXNetError(
                f"LibSVMIter: {path}: row {number}: indices count from 0 and must be below {width}, got "
                f"{columns[begin[-1] :]}"
            )
        begin.append(len(columns))
    return MatrixRows(values, columns, begin, width), numpy.asarray(labels, "float32")


def _width(what, shape):
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    if len(shape) != 1:
        raise MXNetError(f"LibSVMIter: dimension of {what} is expected to be 1, got {shape}")
    return shape[0]


class LibSVMIter(RoundIter):
    r"""Rows `label column:value ...` of a text file (or of all files in a folder), as csr matrices.

    Columns count from 0 up to `data_shape`, of one dimension. Labels are the first numbers of the lines, or
    the rows of the file `label_libsvm`, csr matrices of `label_shape` columns. The last batch is filled from
    the beginning, and the next pass starts after what was taken. `part_index` of `num_parts`: a share of the
    file. MXNetError: a file is missing, a column is out of range, or shapes and files do not go together.

    Examples
    --------
    >>> import os, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = os.path.join(folder.name, "data.libsvm")
    >>> with open(path, "w") as file:
    ...     written = file.write("1 0:5 2:7\n0 1:3\n")
    >>> batch = next(mx.io.LibSVMIter(data_libsvm=path, data_shape=(3,), batch_size=2))
    >>> batch.data[0].asnumpy()
    array([[5., 0., 7.],
           [0., 3., 0.]], dtype=float32)
    """

    def __init__(self, data_libsvm, data_shape, label_libsvm=None, label_shape=(1,), batch_size=1,
                 num_parts=1, part_index=0, round_batch=True, dtype=None, data_name="data",
                 label_name="softmax_label", **kwargs):  # fmt: skip
        data_shape, label_shape, batch_size, num_parts, part_index, round_batch = from_text(
            "LibSVMIter", data_shape, label_shape, batch_size, num_parts, part_index, round_batch
        )
        width = _width("data_shape", data_shape)
        label_width = _width("label_shape", label_shape)
        has_label_file = label_libsvm not in (None, "NULL")
        if has_label_file != (label_width > 1):
            raise MXNetError(
                "LibSVMIter: label_shape is expected to be (1,) without label_libsvm, and another with it, "
                f"got ({label_width},)"
            )
        if not round_batch:
            raise MXNetError("LibSVMIter: round_batch=False is not supported for sparse data")
        data, label = _read(data_libsvm, width, num_parts, part_index)
        if has_label_file:
            label, _ = _read(label_libsvm, label_width, num_parts, part_index)
            if len(label) < len(data):
                raise MXNetError(
                    f"LibSVMIter: {data_libsvm} has {len(data)} rows, {label_libsvm} has {len(label)}"
                )
        super().__init__(data, label, batch_size, dtype, data_name, label_name)
