"""Order, search and sets."""

from typing import NamedTuple

import numpy as _numpy

from .. import numpy as _np
from ..base import ArrayValueError
from ._creation import asarray

__all__ = [
    "argsort",
    "nonzero",
    "searchsorted",
    "sort",
    "unique_all",
    "unique_counts",
    "unique_inverse",
    "unique_values",
]


def sort(x, /, *, axis=-1, descending=False, stable=True):
    """The elements in order along an axis."""
    ascending = _np.sort(x, axis=axis)
    return _np.flip(ascending, axis) if descending else ascending


def argsort(x, /, *, axis=-1, descending=False, stable=True):
    """Where the elements in order are; equal ones keep theirs. Descending order is computed by NumPy."""
    if not descending:
        return _np.argsort(x, axis=axis)
    backwards = _numpy.flip(x.asnumpy(), axis)
    places = x.shape[axis] - 1 - _numpy.flip(_numpy.argsort(backwards, axis=axis, kind="stable"), axis)
    return asarray(places, device=x.ctx)


def searchsorted(x1, x2, /, *, side="left", sorter=None):
    """Where elements would have to go into an ordered array."""
    return _np.searchsorted(x1, x2, side=side, sorter=sorter)


def nonzero(x, /):
    """Where elements are not zero: an array for each axis. ValueError: a scalar array has none."""
    if x.ndim == 0:
        raise ArrayValueError("nonzero: at least one axis is needed, got a scalar array")
    return tuple(_np.nonzero(x))


class UniqueAll(NamedTuple):
    """The different elements, where each is first, which one each element is, and how often each is there."""

    values: object
    indices: object
    inverse_indices: object
    counts: object


class UniqueCounts(NamedTuple):
    """The different elements, and how often each is there."""

    values: object
    counts: object


class UniqueInverse(NamedTuple):
    """The different elements, and which one each element is."""

    values: object
    inverse_indices: object


def unique_all(x, /):
    """Different elements; NaNs are all different. Computed by NumPy.

    Examples
    --------
    >>> from headrace import array_api as xp
    >>> found = xp.unique_all(xp.asarray([3, 1, 3]))
    >>> [part.tolist() for part in found]  # values, indices, inverse_indices, counts
    [[1, 3], [1, 0], [1, 0, 1], [1, 2]]
    """
    found = _numpy.unique(
        x.asnumpy(), return_index=True, return_inverse=True, return_counts=True, equal_nan=False
    )
    values, places, inverse, counts = (asarray(one, device=x.ctx) for one in found)
    return UniqueAll(values, places, inverse.reshape(x.shape), counts)


def unique_counts(x, /):
    """Different elements, and how often each is there.

    Examples
    --------
    >>> from headrace import array_api as xp
    >>> values, counts = xp.unique_counts(xp.asarray([3, 1, 3]))
    >>> values, counts
    (array([1, 3], dtype=int64), array([1, 2], dtype=int64))
    """
    found = unique_all(x)
    return UniqueCounts(found.values, found.counts)


def unique_inverse(x, /):
    """Different elements, and which one each element is.

    Examples
    --------
    >>> from headrace import array_api as xp
    >>> values, inverse = xp.unique_inverse(xp.asarray([3, 1, 3]))
    >>> xp.take(values, inverse)
    array([3, 1, 3], dtype=int64)
    """
    found = unique_all(x)
    return UniqueInverse(found.values, found.inverse_indices)


def unique_values(x, /):
    """Different elements, in ascending order; NaNs are all different.

    Examples
    --------
    >>> from headrace import array_api as xp
    >>> xp.unique_values(xp.asarray([3, 1, 3]))
    array([1, 3], dtype=int64)
    """
    return unique_all(x).values
