"""Where NumPy arrays of the data pipeline become arrays of the engine, and back.

Everything between a dataset and a finished batch is NumPy, but for arrays on accelerators, which stay there;
the functions here are the only doors.
"""

import numpy

from ... import _core
from ..._arrays import NDArray, NpArray
from ..._semantics import is_np_array
from ...context import current_context


def to_array(host, *others):
    """`host` as an array of the current mode (`np` after `npx.set_np()`, else `nd`), with its dtype.

    The array takes over the memory of `host`, which nobody else may write to from now on; of read-only
    memory, and of memory of `others`, NumPy arrays that stay with somebody else, it has a copy.
    KeyError: the dtype of `host` has no counterpart, as for text, dictionaries or items of unequal shapes.
    """
    if host.dtype.kind not in "biuf":
        raise KeyError(
            f"batchify: items of dtype {host.dtype} cannot become an array; expected numbers of equal shape. "
            "Give the DataLoader a batchify_fn that handles such items."
        )
    host = numpy.asarray(host, dtype=host.dtype.newbyteorder("="), order="C")
    if not is_np_array():
        host = numpy.atleast_1d(host)
    if not host.flags["WRITEABLE"] or any(numpy.may_share_memory(host, other) for other in others):
        host = host.copy()
    return _core.borrow(host, is_np_array()).as_in_context(current_context())


def to_host(data):
    """The values of `data`, an NDArray or anything that NumPy reads, as a NumPy array. Waits for writes."""
    return data.asnumpy() if isinstance(data, NDArray) else numpy.asarray(data)


def to_view(array):
    """The values of an NDArray as a NumPy array that may share its memory: only to be read, and soon."""
    array.wait_to_read()
    host = _host_view(array)
    return array.asnumpy() if host is None else host


def map_arrays(fn, kind, batch):
    """`batch`, a nesting of lists and tuples, with `fn` applied to what in it is of type `kind`."""
    if isinstance(batch, kind):
        return fn(batch)
    if isinstance(batch, (list, tuple)):
        return [map_arrays(fn, kind, element) for element in batch]
    return batch


def as_in_context(batch, ctx):
    """`batch`, a nesting of lists and tuples, with its arrays on `ctx`."""
    return map_arrays(lambda array: array.as_in_context(ctx), NDArray, batch)


def column_reader(data):
    """A function from row numbers (1-D integer NumPy array) to those rows of `data` as one array: an NDArray
    on the device of `data` where that is an accelerator, else a NumPy array.

    It sees what is written to `data` later on. None when `data` is neither an NDArray nor a NumPy array of
    numbers with at least one axis, or when NumPy cannot look into its memory.
    """
    if isinstance(data, numpy.ndarray):
        return _rows_of(data) if data.ndim and data.dtype.kind in "biuf" else None
    if not isinstance(data, NDArray) or data.ndim == 0:
        return None
    is_flat = data.ndim == 1 and not isinstance(data, NpArray)  # a legacy array has no zero-dimensional items
    if _is_on_accelerator(data):
        return _device_rows_of(data.reshape(-1, 1) if is_flat else data)
    host = _host_view(data)
    if host is None:
        return None
    read_rows = _rows_of(host.reshape(-1, 1) if is_flat else host)

    def read(rows):
        data.wait_to_read()
        return read_rows(rows)

    return read


def _is_on_accelerator(array):
    return array.context.device_type == "gpu"


def _host_view(array):
    """The memory of an NDArray as a NumPy array. None: NumPy lacks its dtype, or it is on an accelerator."""
    if _is_on_accelerator(array):
        return None
    try:
        return numpy.asarray(memoryview(array))
    except TypeError:
        return None


def _rows_of(host):
    return lambda rows: host.take(rows, axis=0)


def _device_rows_of(data):
    def read(rows):
        if len(rows) and not -len(data) <= rows.min() <= rows.max() < len(data):
            raise IndexError(f"index out of bounds: rows {rows.min()} to {rows.max()} of {len(data)}")
        numbers = _core.borrow(rows.astype("int64") % max(len(data), 1), isinstance(data, NpArray))
        return data.take(numbers.as_in_context(data.context), axis=0, mode="clip")

    return read
