"""Indexing by arrays and masks. Keys of integers, slices, None and Ellipsis: python/src/array_index.cc."""

import numpy as _numpy

from . import _core
from .base import ArrayIndexError, ArrayValueError, MXNetError
from .ndarray.ndarray import NDArray

_advanced = {np: _core.function("_advanced_index", np) for np in (False, True)}
_assign = {np: _core.function("_advanced_index_assign", np) for np in (False, True)}
_assign_number = _core.function("_npi_boolean_mask_assign_scalar", True)
_chosen = _core.function("_npi_boolean_mask", True)
_reshape = _core.function("_np_reshape", True)


def get(array, key):
    """``array[key]``: a copy of the selected elements, or a view where ``key`` is basic after all."""
    np = array._is_np
    if _is_fitting_mask(array, key):
        rows = _reshape(array, (key.size, *array.shape[key.ndim :]))
        return _chosen(rows, _reshape(key, -1).as_in_context(array.ctx))
    if isinstance(key, NDArray) and key._dtype_name != "bool" and array.ndim > 0:
        return _selected(array, [_item(key, np).as_in_context(array.ctx)], (0,))
    truth = _truth(key) if np else None
    if truth is not None:
        return (array[None] if truth else array[None][:0]).copy()
    parsed = _Key(array, key)
    if not parsed.arrays:
        return array[parsed.basic]
    return _selected(array[parsed.basic], parsed.arrays, tuple(parsed.axes))


def _selected(array, indices, axes):
    """What arrays of integers select along axes."""
    selected = _advanced[array._is_np](array, *indices, axes=axes)
    return selected if selected.ndim or array._is_np else selected.reshape((1,))


def assign(array, key, value):
    """``array[key] = value`` in place."""
    is_number = isinstance(value, (int, float)) and array._dtype_name.startswith("float")
    if is_number and _is_fitting_mask(array, key) and not _core.is_recording():  # nobody waits for the mask
        _assign_number(array, key.as_in_context(array.ctx), value=value, out=array)
        return
    truth = _truth(key) if array._is_np else None
    if truth is not None:
        key = None
        if not truth:
            return
    parsed = _Key(array, key)
    if not parsed.arrays:
        array[parsed.basic] = value
        return
    given = _without_leading_ones(_value(array, value), parsed.ndim, array._is_np).as_in_context(array.ctx)
    if _core.is_recording() and given._on_tape:
        raise MXNetError(
            "assignment: Inplace operations (+=, -=, x[:]=, etc) are not supported when recording with "
            "autograd, where the key holds arrays; assign outside of autograd.record(), or use where"
        )
    # The task reads these while it writes the array.
    given, *indices = (
        read.copy() if _core.may_share_memory(read, array) else read for read in (given, *parsed.arrays)
    )
    _assign[array._is_np](array[parsed.basic], given, *indices, axes=tuple(parsed.axes))


def _is_fitting_mask(array, key):
    """Whether the key is an array of truth values for the first axes."""
    return (
        isinstance(key, NDArray)
        and key._dtype_name == "bool"
        and array._is_np
        and 0 < key.ndim <= array.ndim
        and key.shape == array.shape[: key.ndim]
    )


def _truth(key):
    """The bool that a key of one truth value is; it selects all of the array or nothing. None: other keys."""
    if isinstance(key, tuple) and len(key) == 1:
        key = key[0]
    if isinstance(key, (bool, _numpy.bool_)):
        return bool(key)
    if isinstance(key, (NDArray, _numpy.ndarray)) and key.shape == () and key.dtype == bool:
        return bool(key.item())
    return None


class _Key:
    """A key taken apart: a basic key, then integer arrays that select along some axes of what it leaves.

    Without integer arrays the whole key is basic. A single truth value is an array along an axis of its own.
    """

    def __init__(self, array, key):
        items = [_item(item, array._is_np) for item in (key if isinstance(key, tuple) else (key,))]
        items = _without_ellipsis(items, array.ndim)
        basic, self.arrays, self.axes = [], [], []
        if any(isinstance(item, (NDArray, _Mask)) for item in items):
            axis = 0  # of the array
            for item in items:
                if item is None or isinstance(item, slice):
                    basic.append(item)
                elif isinstance(item, _Mask) and item.truth.ndim == 0:
                    self.arrays.append(_core.array(_numpy.zeros(int(item.truth)), "int64", array._is_np))
                    self.axes.append(len(basic))
                    basic.append(None)
                else:
                    for index in _index_arrays(item, array, axis):
                        self.arrays.append(index)
                        self.axes.append(len(basic))
                        basic.append(slice(None))
                axis += _consumed(item)
        self.arrays = [index.as_in_context(array.ctx) for index in self.arrays]
        self.basic = tuple(basic or items)

    @property
    def ndim(self):
        """Number of dimensions of what a key with integer arrays selects."""
        return len(self.basic) - len(self.arrays) + max(index.ndim for index in self.arrays)


class _Mask:
    """A host array of truth values that selects from as many axes as it has."""

    def __init__(self, truth):
        self.truth = truth

    def indices(self, shape, axis):
        """The selected positions: one NumPy array per axis, from `axis` of an array of `shape` on."""
        have, need = self.truth.shape, shape[axis : axis + self.truth.ndim]
        if have != need:
            raise ArrayIndexError(
                f"index: a mask of shape {have} does not fit an array of shape {shape} from axis {axis} on; "
                f"expected shape {need}"
            )
        return _numpy.nonzero(self.truth)


def _item(item, np):
    """One entry of a key as None, Ellipsis, a slice, a Python integer, an integer array or a mask."""
    if item is None or item is Ellipsis or isinstance(item, slice):
        return item
    if isinstance(item, (str, float)):
        raise ArrayValueError(
            f"arrays do not support indexing with key {item!r}; use integers, slices, None, Ellipsis or "
            "arrays of integers or truth values"
        )
    if isinstance(item, NDArray):
        if item._dtype_name != "bool":
            return item if item._dtype_name == "int64" else item.astype("int64")
        if not np:
            raise ArrayValueError(
                "a boolean NDArray is an index in np mode only; use nd.contrib.boolean_mask"
            )
        return _Mask(item.asnumpy())
    values = _host_values(item)
    if np and values.dtype == bool:
        return _Mask(values)
    if values.ndim == 0 and values.dtype.kind in "iub":
        return int(values)
    return _core.array(values.astype("int64"), "int64", np)


def _host_values(item):
    """An index that is no array of ours as a NumPy array of numbers or truth values."""
    try:
        if isinstance(item, (list, tuple)):
            item = [one.asnumpy().item() if isinstance(one, NDArray) else one for one in item]
        values = _numpy.asarray(item)
        if values.dtype.kind in "iubf":
            return values
    except (TypeError, ValueError):
        pass
    raise ArrayValueError(
        f"an index of type {type(item).__name__} is not supported; use integers, slices, None, Ellipsis, or "
        "arrays or lists of integers or truth values"
    )


def _consumed(item):
    """How many axes of an array an entry of a key uses up."""
    if isinstance(item, _Mask):
        return item.truth.ndim
    return 0 if item is None or item is Ellipsis else 1


def _without_ellipsis(items, ndim):
    """The entries with full slices for the axes that Ellipsis, or nothing, stands for."""
    used = sum(_consumed(item) for item in items)
    if used > ndim:
        raise ArrayIndexError(
            f"index: too many indices: {used} were given, but the array has {ndim} dimension(s)"
        )
    places = [place for place, item in enumerate(items) if item is Ellipsis]
    if len(places) > 1:
        raise ArrayIndexError("index: only one ellipsis ('...') is allowed in an index")
    place = places[0] if places else len(items)
    return items[:place] + [slice(None)] * (ndim - used) + items[place + 1 :]


def _index_arrays(item, array, axis):
    """The index arrays that an integer, an integer array or a mask amounts to."""
    if isinstance(item, NDArray):
        return [item]
    hosts = item.indices(array.shape, axis) if isinstance(item, _Mask) else [_numpy.asarray(item)]
    return [_core.array(host, "int64", array._is_np) for host in hosts]


def _value(array, value):
    """What is assigned, as an array of the destination's class and dtype."""
    if isinstance(value, NDArray):
        if value._is_np != array._is_np:
            raise TypeError(
                "assignment: cannot mix nd and np arrays; convert one with as_np_ndarray() or as_nd_ndarray()"
            )
        return value.astype(array._dtype_name, copy=False)
    try:
        host = _numpy.asarray(value)
    except ValueError:
        host = None
    if host is None or host.dtype.kind not in "iubf":
        raise TypeError(
            f"assignment: a value of type {type(value).__name__} cannot be assigned to an array of "
            f"{array._dtype_name}; use numbers, arrays or nested sequences of numbers"
        )
    return _core.array(value, array._dtype_name, array._is_np)


def _without_leading_ones(value, ndim, np):
    """`value` without axes of extent 1 that the `ndim` dimensions of a selection do not have."""
    ndim = ndim if np else max(ndim, 1)
    while value.ndim > ndim and value.shape[0] == 1:
        value = value[0]
    return value
