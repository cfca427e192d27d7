"""What every data iterator shares: descriptions, batches, the protocol."""

import ast
import collections

import numpy

from ..base import ArrayValueError, MXNetError

__all__ = ["DataBatch", "DataDesc", "DataIter"]


def from_text(name, *values):
    """Values of options, of which programs may give each as a text, as in MXNet: '2', '(3, 8, 8)', 'True'.

    MXNetError: a text that is none of these.
    """
    return [_parsed(name, value) if isinstance(value, str) else value for value in values]


def _parsed(name, text):
    if text.strip().lower() in ("true", "false"):
        return text.strip().lower() == "true"
    try:
        return ast.literal_eval(text.strip())
    except (SyntaxError, ValueError):
        raise MXNetError(f"{name}: expected a number, a shape or a truth, got the text {text!r}") from None


def check_part(part_index, num_parts):
    """MXNetError: there is no such part."""
    if not 0 <= part_index < num_parts:
        raise MXNetError(f"part_index must be from 0 to num_parts - 1, got {part_index} of {num_parts}")


def check_batch_size(data_iter, batch_size):
    """ArrayValueError: a pass in such batches has no end."""
    if batch_size < 1:
        raise ArrayValueError(f"{type(data_iter).__name__}: batch_size must be at least 1, got {batch_size}")


class DataDesc(collections.namedtuple("DataDesc", ["name", "shape"])):
    """Name and shape of one input; `dtype` and `layout` beside them, which do not count in comparisons.

    Examples
    --------
    >>> mx.io.DataDesc("data", (32, 3, 8, 8)).layout
    'NCHW'
    """

    def __new__(cls, name, shape, dtype=numpy.float32, layout="NCHW"):
        made = super().__new__(cls, name, shape)
        made.dtype = dtype
        made.layout = layout
        return made

    def __getnewargs__(self):
        return self.name, self.shape, self.dtype, self.layout

    def __repr__(self):
        return f"DataDesc[{self.name},{self.shape},{self.dtype},{self.layout}]"

    @staticmethod
    def get_batch_axis(layout):
        """The axis of N in `layout`; 0 when there is no layout, -1 when it has no N."""
        return 0 if layout is None else layout.find("N")

    @staticmethod
    def get_list(shapes, types):
        """Descriptions from pairs (name, shape) and pairs (name, dtype) or None."""
        types = dict(types or ())
        return [DataDesc(name, shape, types.get(name, numpy.float32)) for name, shape in shapes]


class DataBatch:
    """A batch: lists of arrays for data and labels.

    `pad`: how many samples at the end are there only to fill the batch; `index`: numbers of the samples;
    `bucket_key`, `provide_data`, `provide_label`: what a BucketingModule needs. AssertionError: data or
    labels are no lists.

    Examples
    --------
    >>> batch = mx.io.DataBatch(data=[nd.ones((2, 3))], label=[nd.ones((2,))])
    >>> batch.data[0].shape, batch.pad
    ((2, 3), None)
    """

    def __init__(self, data, label=None, pad=None, index=None, bucket_key=None, provide_data=None,
                 provide_label=None):  # fmt: skip
        assert data is None or isinstance(data, (list, tuple)), "Data must be list of NDArrays"
        assert label is None or isinstance(label, (list, tuple)), "Label must be list of NDArrays"
        self.data = data
        self.label = label
        self.pad = pad
        self.index = index
        self.bucket_key = bucket_key
        self.provide_data = provide_data
        self.provide_label = provide_label

    def __str__(self):
        data, label = (
            None if arrays is None else [array.shape for array in arrays]
            for arrays in (self.data, self.label)
        )
        return f"{type(self).__name__}: data shapes: {data} label shapes: {label}"


class DataIter:
    """Base of data iterators.

    A subclass defines `provide_data` and `provide_label` (lists of DataDesc), `reset`, and either `next` or
    `iter_next` with `getdata`, `getlabel`, `getpad`, `getindex`.

    Examples
    --------
    >>> class Ones(mx.io.DataIter):
    ...     def __init__(self, count):
    ...         super().__init__(batch_size=2)
    ...         self.left = count
    ...     def next(self):
    ...         if not self.left:
    ...             raise StopIteration
    ...         self.left -= 1
    ...         return mx.io.DataBatch([nd.ones((2, 3))], [])
    >>> len(list(Ones(3)))
    3
    """

    def __init__(self, batch_size=0):
        self.batch_size = batch_size

    def __iter__(self):
        return self

    def __next__(self):
        return self.next()

    def reset(self):
        """Goes back to the first batch."""

    def next(self):
        """The next DataBatch. StopIteration: there is none until `reset`."""
        if not self.iter_next():
            raise StopIteration
        return DataBatch(self.getdata(), self.getlabel(), self.getpad(), self.getindex())

    def iter_next(self):
        """Moves to the next batch; whether there is one."""

    def getdata(self):
        """The data of the present batch."""

    def getlabel(self):
        """The labels of the present batch."""

    def getindex(self):
        """The numbers of the samples in the present batch, or None."""

    def getpad(self):
        """How many samples fill the present batch up."""
