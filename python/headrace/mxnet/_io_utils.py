"""What iterators of one's own take from mxnet.io.utils."""

from collections import OrderedDict

import numpy as np

from ..io.ndarray_iter import named_arrays
from ..ndarray import NDArray, array
from ..ndarray.sparse import CSRNDArray
from ..ndarray.sparse import array as sparse_array

__all__ = ["CSRNDArray", "NDArray", "OrderedDict", "array", "h5py", "np", "sparse_array"]

try:
    import h5py
except ImportError:
    h5py = None


def _init_data(data, allow_empty, default_name):
    """[(name, array)] of an array, a list of arrays or a dictionary, sorted by name.

    AssertionError: nothing is given, and `allow_empty` is not set. TypeError: something is no array.
    """
    return named_arrays(data, default_name, allow_empty)


def _has_instance(data, dtype):
    """Whether one of the arrays in pairs (name, array) is of a class."""
    return any(isinstance(value, dtype) for _, value in data)


def _getdata_by_idx(data, idx):
    """The rows `idx`, a NumPy array of numbers, of the arrays in pairs (name, array)."""
    taken = []
    for name, value in data:
        if isinstance(value, CSRNDArray):
            taken.append((name, sparse_array(value.asscipy()[idx], value.context)))
        else:
            taken.append((name, array(value.asnumpy()[idx], value.context)))
    return taken


def _slice_along_batch_axis(data, s, batch_axis):
    """The rows of a slice along an axis."""
    return data.slice_axis(axis=batch_axis, begin=s.start, end=s.stop)
