"""NDArrayIter: batches of arrays in memory."""

import numpy

from .. import _arrays as arrays
from ..base import ArrayValueError
from ..ndarray import NDArray, sparse, take
from .base import DataBatch, DataDesc, DataIter, check_batch_size

__all__ = ["NDArrayIter"]


def named_arrays(data, default_name, allow_empty):
    """[(name, array)] of an array, a list of arrays or a dictionary, sorted by name.

    AssertionError: nothing is given. TypeError: something is no array.
    """
    if data is None or (isinstance(data, (list, tuple, dict)) and not data):
        assert allow_empty, f"NDArrayIter: no {default_name} is given"
        return []
    if isinstance(data, (NDArray, numpy.ndarray)) or _is_matrix(data):
        data = [data]
    if isinstance(data, (list, tuple)):
        single = len(data) == 1
        data = {default_name if single else f"_{i}_{default_name}": value for i, value in enumerate(data)}
    if not isinstance(data, dict):
        raise TypeError("Input must be NDArray, numpy.ndarray, a list of them or dict with them as values")
    return [(name, _array(name, value)) for name, value in sorted(data.items())]


def _is_matrix(value):
    return hasattr(value, "tocsr")  # of SciPy


def _array(name, value):
    if isinstance(value, NDArray):
        return value
    if _is_matrix(value):
        return sparse.csr_matrix(value, dtype="float32")
    try:
        made = arrays.array(value, dtype="float32")
    except (TypeError, ValueError):
        made = None
    if made is None or made.ndim == 0:
        raise TypeError(f"Invalid type '{type(value)}' for {name}, should be NDArray or numpy.ndarray")
    return made


class NDArrayIter(DataIter):
    """Batches of `batch_size` samples along the axis of arrays that `layout` calls N, by default the first.

    `data`, `label`: an array, a list or a dictionary of arrays; NumPy arrays, and lists of numbers, become
    float32, and matrices of SciPy CSRNDArrays. `shuffle` draws a new order at each `reset` from NumPy's
    generator. An incomplete last batch is filled from the beginning ('pad'), dropped ('discard'), or waits
    for the next pass ('roll_over'). Batches are copies. There are as many samples as the first array of data
    has; what others have beyond them is not read. Arrays that have no such axis (labels of one axis beside
    data of layout 'TNC') have their samples along the first.

    AssertionError: no data. TypeError: no arrays. ValueError: an array has fewer samples than the first,
    batch_size is less than 1, or more than the samples that roll over. NotImplementedError: CSRNDArrays, and
    'discard' is not what happens to the last batch.

    Examples
    --------
    >>> batches = mx.io.NDArrayIter(nd.arange(10).reshape((5, 2)), nd.arange(5), batch_size=2)
    >>> for batch in batches:
    ...     print(batch.data[0].shape, batch.label[0], batch.pad)
    (2, 2)
    [0. 1.]
    <NDArray 2 @cpu(0)> 0
    (2, 2)
    [2. 3.]
    <NDArray 2 @cpu(0)> 0
    (2, 2)
    [4. 0.]
    <NDArray 2 @cpu(0)> 1
    """

    def __init__(self, data, label=None, batch_size=1, shuffle=False, last_batch_handle="pad",
                 data_name="data", label_name="softmax_label", layout="NCHW"):  # fmt: skip
        check_batch_size(self, batch_size)
        super().__init__(batch_size)
        self.data = named_arrays(data, data_name, allow_empty=False)
        self.label = named_arrays(label, label_name, allow_empty=True)
        self.layout = layout
        self.num_data = self._samples(self.data[0][1])
        for name, array in (*self.data, *self.label):
            if self._samples(array) < self.num_data:
                raise ArrayValueError(
                    f"NDArrayIter: {name} has {self._samples(array)} samples, {self.data[0][0]} has "
                    f"{self.num_data}; give at least as many"
                )
        if last_batch_handle == "roll_over" and self.num_data < batch_size:
            raise ArrayValueError(
                f"NDArrayIter: {self.num_data} samples that roll over never fill a batch of {batch_size}; "
                "make batch_size smaller, or let last_batch_handle be 'pad'"
            )
        is_sparse = any(array.stype == "csr" for _, array in (*self.data, *self.label))
        if is_sparse and last_batch_handle != "discard":
            raise NotImplementedError(
                "`NDArrayIter` only supports ``CSRNDArray`` with `last_batch_handle` set to `discard`."
            )
        self.data_list = [array for _, array in (*self.data, *self.label)]
        self.num_source = len(self.data_list)
        self.shuffle = shuffle
        self.last_batch_handle = last_batch_handle
        self.idx = numpy.arange(self.num_data)
        self._order = self.idx.copy()  # which sample stands where, after all the shuffling so far
        self._waiting = self.idx[:0]
        self.cursor = -batch_size
        self.reset()

    @property
    def provide_data(self):
        """Descriptions of the data of a batch."""
        return self._describe(self.data)

    @property
    def provide_label(self):
        """Descriptions of the labels of a batch."""
        return self._describe(self.label)

    def _describe(self, source):
        return [DataDesc(name, self._batch_shape(array), array.dtype, self.layout) for name, array in source]

    def _axis(self, array):
        axis = self.layout.find("N")
        return axis if 0 <= axis < array.ndim else 0

    def _samples(self, array):
        return array.shape[self._axis(array)]

    def _batch_shape(self, array):
        axis = self._axis(array)
        return (*array.shape[:axis], self.batch_size, *array.shape[axis + 1 :])

    def _shuffle(self):
        if self.shuffle:
            numpy.random.shuffle(self.idx)
            self._order = self._order[self.idx]

    def hard_reset(self):
        """Goes back to the first batch; samples that wait for the next pass are forgotten."""
        self._shuffle()
        self.cursor = -self.batch_size
        self._waiting = self._waiting[:0]

    def reset(self):
        """Starts a new pass, with the samples that wait first."""
        last_is_incomplete = self.num_data - self.batch_size < self.cursor < self.num_data
        if self.last_batch_handle == "roll_over" and last_is_incomplete:
            self._waiting = self._order[self.cursor :]
            self._shuffle()
            self.cursor -= self.num_data + self.batch_size
        else:
            self.hard_reset()

    def iter_next(self):
        """Moves on by one batch; whether samples are left."""
        self.cursor += self.batch_size
        return self.cursor < self.num_data

    def next(self):
        """The next DataBatch. StopIteration: no batch is left in this pass."""
        if not self.iter_next():
            raise StopIteration
        end = self.cursor + self.batch_size
        if end > self.num_data and self.last_batch_handle != "pad":
            raise StopIteration
        return DataBatch(self.getdata(), self.getlabel(), self.getpad())

    def _rows(self):
        """The samples of the present batch, a slice where they lie in order."""
        begin, end = self.cursor, self.cursor + self.batch_size
        if begin < 0:
            return numpy.concatenate([self._waiting, self._order[:end]])
        if end <= self.num_data or self.last_batch_handle != "pad":
            return self._order[begin:end] if self.shuffle else slice(begin, min(end, self.num_data))
        return self._order[numpy.arange(begin, end) % self.num_data]

    def _take(self, source):
        rows = self._rows()
        return [self._taken(array, rows) for _, array in source]

    def _taken(self, array, rows):
        if array.stype == "csr":
            return array[rows] if isinstance(rows, slice) else take(array, arrays.array(rows, dtype="int64"))
        axis = self._axis(array)
        part = array[(slice(None),) * axis + (rows,)] if axis else array[rows]
        return part.copy() if isinstance(rows, slice) else part

    def getdata(self):
        """The data of the present batch."""
        return self._take(self.data)

    def getlabel(self):
        """The labels of the present batch."""
        return self._take(self.label)

    def getpad(self):
        """How many samples of the present batch fill it up or come from the pass before."""
        if self.last_batch_handle == "pad":
            return max(0, self.cursor + self.batch_size - self.num_data)
        if self.last_batch_handle == "roll_over" and -self.batch_size < self.cursor < 0:
            return -self.cursor
        return 0
