"""Where NumPy arrays of the data pipeline become Headrace arrays, and back.

Everything between a dataset and a finished batch is NumPy; the two functions here are the only doors.
"""

import numpy

from ..._arrays import NDArray, NpArray, array


def to_array(host):
    """An array of the current mode (`np` after `npx.set_np()`, else `nd`) with the values and dtype of
    `host`.

    KeyError: the dtype of `host` has no counterpart, as for text, dictionaries or items of unequal shapes.
    """
    if host.dtype.kind not in "biuf":
        raise KeyError(
            f"batchify: items of dtype {host.dtype} cannot become an array; expected numbers of equal shape. "
            "Give the DataLoader a batchify_fn that handles such items."
        )
    return array(host, dtype=host.dtype)


def to_host(array):
    """The values of `array` (NDArray or anything NumPy reads) as a NumPy array. Waits for pending writes."""
    return array.asnumpy() if isinstance(array, NDArray) else numpy.asarray(array)


def column_reader(data):
    """A function from row numbers (1-D integer NumPy array) to those rows of `data` as one NumPy array.

    None when `data` is neither an NDArray nor a NumPy array of numbers with at least one axis.
    """
    if isinstance(data, NDArray):
        host = data.asnumpy()
        if host.ndim == 1 and not isinstance(data, NpArray):
            host = host.reshape(-1, 1)  # a legacy array has no zero-dimensional items
    elif isinstance(data, numpy.ndarray) and data.dtype.kind in "biuf":
        host = data
    else:
        return None
    if host.ndim == 0:
        return None
    return lambda rows: host.take(rows, axis=0)
