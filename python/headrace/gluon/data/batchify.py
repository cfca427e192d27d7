"""Functions that make one batch out of a list of items."""

import numpy

from ... import ndarray as _nd
from ... import numpy as _np
from ..._arrays import NDArray, NpArray
from ._host import to_array, to_host, to_view

__all__ = ["default_batchify_fn", "Stack", "Pad", "Append", "Group", "AsList"]


def default_batchify_fn(data):
    """The items of the list `data` as one batch.

    NDArrays are stacked; tuples give a list with one batch per element; all else goes through `numpy.asarray`
    and keeps NumPy's dtype (Python floats become float64, integers int64). ValueError: shapes or tuple
    lengths differ between items. KeyError: items that are no numbers.

    Examples
    --------
    >>> from headrace.gluon.data.dataloader import default_batchify_fn
    >>> images, labels = default_batchify_fn([(nd.zeros((3, 4)), 1), (nd.ones((3, 4)), 0)])
    >>> images.shape, labels
    ((2, 3, 4),
    [1 0]
    <NDArray 2 @cpu(0)>)
    """
    return _collate(data, _stack_arrays, to_array)


def host_batchify(data):
    """As `default_batchify_fn`, with NumPy arrays for the result: what worker processes run."""
    return _collate(data, lambda arrays: numpy.stack([to_view(array) for array in arrays]), lambda host: host)


def _collate(items, stack, finish):
    first = items[0]
    if isinstance(first, NDArray):
        _check_shapes(items)
        return stack(items)
    if isinstance(first, tuple):
        lengths = {len(item) for item in items}
        if len(lengths) > 1:
            raise ValueError(f"batchify: items must be tuples of one length, got lengths {sorted(lengths)}")
        return [_collate(column, stack, finish) for column in zip(*items)]
    if isinstance(first, numpy.ndarray):
        _check_shapes(items)
    try:
        return finish(numpy.array(items))
    except ValueError as error:
        raise ValueError(f"batchify: items of one batch must have one shape ({error})") from None


def _check_shapes(arrays):
    shape = arrays[0].shape
    for array in arrays:
        if array.shape != shape:
            raise ValueError(
                f"batchify: items of one batch must have one shape, got {shape} and {array.shape}. "
                "Pad them: DataLoader(..., batchify_fn=gluon.data.batchify.Pad())"
            )


def _stack_arrays(arrays):
    return _np.stack(arrays) if isinstance(arrays[0], NpArray) else _nd.stack(*arrays)


class Stack:
    """Items of one shape, stacked along a new first axis.

    Examples
    --------
    >>> gluon.data.batchify.Stack()([[1, 2], [3, 4]])
    [[1 2]
     [3 4]]
    <NDArray 2x2 @cpu(0)>
    """

    def __call__(self, data):
        return default_batchify_fn(data)


class Pad:
    """Items of one rank, padded at the end of each axis to the largest size in the batch, then stacked.

    `val` is the padding value. `dtype` is that of the result (default: of the items). `ret_length=True` gives
    a pair: the batch, and the int32 sizes that the items had along the first axis.

    Examples
    --------
    >>> gluon.data.batchify.Pad(val=0)([[1, 2, 3], [4]])
    [[1 2 3]
     [4 0 0]]
    <NDArray 2x3 @cpu(0)>
    """

    def __init__(self, val=0, dtype=None, ret_length=False):
        self._val = val
        self._dtype = dtype
        self._ret_length = ret_length

    def __call__(self, data):
        arrays = [to_host(item) for item in data]
        ranks = {array.ndim for array in arrays}
        if len(ranks) > 1 or 0 in ranks:
            raise ValueError(
                f"Pad: items must all have the same number of axes, at least one; got {sorted(ranks)}"
            )
        size = [max(sizes) for sizes in zip(*(array.shape for array in arrays))]
        batch = numpy.full([len(arrays), *size], self._val, dtype=self._dtype or arrays[0].dtype)
        for row, array in zip(batch, arrays):
            row[tuple(slice(n) for n in array.shape)] = array
        if not self._ret_length:
            return to_array(batch)
        return to_array(batch), to_array(numpy.array([len(array) for array in arrays], dtype="int32"))


class Append:
    """A list with each item as an array of its own; `expand` gives each a first axis of size 1.

    Examples
    --------
    >>> [one.shape for one in gluon.data.batchify.Append()([nd.ones((2, 3)), nd.ones((1, 3))])]
    [(1, 2, 3), (1, 1, 3)]
    """

    def __init__(self, expand=True):
        self._expand = expand

    def __call__(self, data):
        hosts = [to_host(item) for item in data]
        return [to_array(host[numpy.newaxis] if self._expand else host, host) for host in hosts]


class AsList:
    """The items as they are, in a list.

    Examples
    --------
    >>> gluon.data.batchify.AsList()(["a", "bc"])
    ['a', 'bc']
    """

    def __call__(self, data):
        return list(data)


class Group:
    """One function per element of the item tuples: `Group(Stack(), Pad(val=0))`.

    Examples
    --------
    >>> fn = gluon.data.batchify.Group(gluon.data.batchify.Pad(), gluon.data.batchify.Stack())
    >>> data, labels = fn([([1, 2, 3], 0), ([4], 1)])
    >>> data.shape, labels.shape
    ((2, 3), (2,))
    """

    def __init__(self, fn, *args):
        self._fns = list(fn) if isinstance(fn, (list, tuple)) else [fn]
        self._fns.extend(args)

    def __call__(self, data):
        for item in data:
            if len(item) != len(self._fns):
                raise ValueError(
                    f"Group: expected items of {len(self._fns)} elements, got one of {len(item)}"
                )
        return tuple(fn(column) for fn, column in zip(self._fns, zip(*data)))
