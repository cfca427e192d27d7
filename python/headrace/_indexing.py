"""Indexing by arrays and masks. Integers, slices, None and Ellipsis alone are handled in
python/src/array_index.cc."""

import numpy as _numpy

from . import _core
from .base import ArrayIndexError, MXNetError
from .ndarray.ndarray import NDArray

_advanced = {np: _core.function("_advanced_index", np) for np in (False, True)}
_assign = {np: _core.function("_advanced_index_assign", np) for np in (False, True)}


def _is_mask(item, np):
    """Whether an index selects by truth values. Legacy arrays take booleans as integers."""
    if not np:
        return False
    if isinstance(item, NDArray):
        return item._dtype_name == "bool"
    if isinstance(item, _numpy.ndarray):
        return item.dtype == bool
    if isinstance(item, (bool, _numpy.bool_)):
        return True
    return isinstance(item, list) and len(item) > 0 and _numpy.asarray(item).dtype == bool


def _integers(item, np):
    """An index as an int64 array."""
    if isinstance(item, NDArray):
        if item._dtype_name == "bool" and not np:
            raise ArrayValue("a boolean NDArray is an index in np mode only; use nd.contrib.boolean_mask")
        return item if item._dtype_name == "int64" else item.astype("int64")
    try:
        host = _numpy.asarray(
            [i.asscalar() if isinstance(i, NDArray) else i for i in item]
            if isinstance(item, (list, tuple))
            else item
        )
        if host.size == 0:
            host = host.astype("int64")
        if host.dtype.kind not in "iubf":
            raise TypeError
    except (TypeError, ValueError):
        raise ArrayValue(
            f"an index of type {type(item).__name__} is not supported; use integers, slices, None, "
            "Ellipsis, or arrays "
            "or lists of integers or truth values"
        ) from None
    return _core.array(host.astype("int64"), "int64", np)


class ArrayValue(MXNetError, ValueError):
    """An index that means nothing."""


class _Key:
    """A key taken apart: one basic part, then integer arrays for some axes of what that part leaves."""

    def __init__(self, array, key):
        np = array._is_np
        items = list(key) if isinstance(key, tuple) else [key]
        items = self._expand_masks(items, np)
        items = self._expand_ellipsis(items, array.ndim)
        self.basic, self.arrays, self.axes = [], [], []
        axis = 0  # of the result of the basic part
        positions = []
        for place, item in enumerate(items):
            if item is None:
                self.basic.append(None)
                axis += 1
            elif isinstance(item, slice):
                self.basic.append(item)
                axis += 1
            else:
                self.basic.append(slice(None))
                self.arrays.append(_integers([item] if _is_integer(item) else item, np))
                if _is_integer(item):
                    self.arrays[-1] = self.arrays[-1].reshape(()) if np else self.arrays[-1]
                self.axes.append(axis)
                positions.append(place)
                axis += 1
        self.basic = tuple(self.basic)

    @staticmethod
    def _expand_masks(items, np):
        expanded = []
        for item in items:
            if _is_mask(item, np):
                host = item.asnumpy() if isinstance(item, NDArray) else _numpy.asarray(item)
                if host.ndim == 0:
                    raise ArrayValue(
                        "a single truth value is not supported as an index; use None or an empty slice"
                    )
                expanded.extend(_Mask(i, host.shape, axis) for axis, i in enumerate(_numpy.nonzero(host)))
            else:
                expanded.append(item)
        return expanded

    @staticmethod
    def _expand_ellipsis(items, ndim):
        used = sum(1 for item in items if item is not None and item is not Ellipsis)
        if used > ndim:
            raise ArrayIndexError(
                f"index: too many indices: {used} were given, but the array has {ndim} dimension(s)"
            )
        places = [i for i, item in enumerate(items) if item is Ellipsis]
        if len(places) > 1:
            raise ArrayIndexError("index: only one ellipsis ('...') is allowed in an index")
        fill = [slice(None)] * (ndim - used)
        if not places:
            return items + fill
        return items[: places[0]] + fill + items[places[0] + 1 :]

    def check_masks(self, array):
        """Raises when a mask does not fit the axes it selects from."""

    def source(self, array):
        return array[self.basic] if self.basic else array


class _Mask(_numpy.ndarray):
    """Indices along one axis that a mask selects; remembers the mask's extent there."""

    def __new__(cls, indices, shape, axis):
        made = _numpy.asarray(indices).view(cls)
        made.extent = shape[axis]
        return made

    def __array_finalize__(self, source):
        self.extent = getattr(source, "extent", None)


def _is_integer(item):
    return (
        not isinstance(item, (list, tuple, NDArray)) and hasattr(item, "__index__") and _numpy.ndim(item) == 0
    )


def _parse(array, key):
    if isinstance(key, (str, float)) or (
        isinstance(key, tuple) and any(isinstance(k, (str, float)) for k in key)
    ):
        raise ArrayValue(
            f"arrays do not support indexing with key {key!r}; use integers, slices, None, Ellipsis or "
            "arrays of integers or truth values"
        )
    for item in key if isinstance(key, tuple) else (key,):
        if _is_mask(item, array._is_np) and not isinstance(key, tuple):
            shape = item.shape if hasattr(item, "shape") else _numpy.shape(item)
            if tuple(shape) != array.shape[: len(shape)]:
                raise ArrayIndexError(
                    f"index: a mask of shape {tuple(shape)} does not fit an array of shape {array.shape}; "
                    "their leading "
                    "extents must agree"
                )
    return _Key(array, key)


def get(array, key):
    """``array[key]``: a copy of the selected elements."""
    parsed = _parse(array, key)
    source = parsed.source(array)
    return _advanced[array._is_np](source, *parsed.arrays, axes=tuple(parsed.axes))


def assign(array, key, value):
    """``array[key] = value`` in place."""
    np = array._is_np
    parsed = _parse(array, key)
    target = parsed.source(array)
    if isinstance(value, NDArray):
        if value._is_np != np:
            raise TypeError(
                "assignment: cannot mix nd and np arrays; convert one with as_np_ndarray() or as_nd_ndarray()"
            )
        given = value
    else:
        given = _core.array(value, array._dtype_name, np)
    if given._dtype_name != array._dtype_name:
        given = given.astype(array._dtype_name)
    _assign[np](target, given, *parsed.arrays, axes=tuple(parsed.axes))
