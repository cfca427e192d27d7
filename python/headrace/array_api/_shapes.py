"""Shapes, parts and places."""

import numpy as _numpy

from .. import numpy as _np
from ..numpy import broadcast_to, moveaxis, take_along_axis
from ._creation import asarray
from ._elementwise import common

__all__ = [
    "broadcast_arrays",
    "broadcast_to",
    "concat",
    "expand_dims",
    "flip",
    "moveaxis",
    "permute_dims",
    "repeat",
    "reshape",
    "roll",
    "squeeze",
    "stack",
    "take",
    "take_along_axis",
    "tile",
    "unstack",
]


def broadcast_arrays(*arrays):
    """A list of the arrays, each in the shape that all have in common. ValueError: there is none."""
    return list(_np.broadcast_arrays(*arrays))


def concat(arrays, /, *, axis=0):
    """Arrays one after the other along an axis, in the dtype that they have in common.

    None: their elements, in one dimension.

    Examples
    --------
    >>> from headrace import array_api as xp
    >>> xp.concat([xp.asarray([[1, 2]]), xp.asarray([[3, 4]])], axis=1)
    array([[1, 2, 3, 4]], dtype=int64)
    """
    if axis is None:
        arrays, axis = [array.reshape((-1,)) for array in arrays], 0
    return _np.concatenate(common(*arrays), axis=axis)


def stack(arrays, /, *, axis=0):
    """Arrays of one shape along a new axis, in the dtype that they have in common."""
    return _np.stack(common(*arrays), axis=axis)


def unstack(x, /, *, axis=0):
    """A tuple of the parts of an array along an axis, which goes.

    Examples
    --------
    >>> from headrace import array_api as xp
    >>> xp.unstack(xp.asarray([[1, 2], [3, 4]]), axis=1)
    (array([1, 3], dtype=int64), array([2, 4], dtype=int64))
    """
    return tuple(_np.moveaxis(x, axis, 0))


def expand_dims(x, /, *, axis=0):
    """The array with a new axis of one element at a place."""
    return _np.expand_dims(x, axis)


def squeeze(x, /, axis):
    """Without axes of one element. ValueError: one has more."""
    return _np.squeeze(x, axis)


def flip(x, /, *, axis=None):
    """The elements in reverse order along axes; None: along all."""
    return _np.flip(x, axis)


def permute_dims(x, /, axes):
    """The axes in another order: axis i of the result is axis ``axes[i]`` of ``x``.

    Examples
    --------
    >>> from headrace import array_api as xp
    >>> xp.permute_dims(xp.ones((2, 3, 4)), (2, 0, 1)).shape
    (4, 2, 3)
    """
    return _np.transpose(x, axes)


def reshape(x, /, shape, *, copy=None):
    """Another shape; ``copy=True`` shares no memory.

    Examples
    --------
    >>> from headrace import array_api as xp
    >>> xp.reshape(xp.arange(6), (2, -1))
    array([[0, 1, 2],
           [3, 4, 5]], dtype=int64)
    """
    result = x.reshape(shape)
    return result.copy() if copy else result


def roll(x, /, shift, *, axis=None):
    """Elements moved along axes; those that leave come in at the other end."""
    return _np.roll(x, shift, axis)


def repeat(x, repeats, /, *, axis=None):
    """Each element several times: the same number for all, or one for each place along the axis.

    Examples
    --------
    >>> from headrace import array_api as xp
    >>> xp.repeat(xp.asarray([1, 2]), 2), xp.repeat(xp.asarray([1, 2]), xp.asarray([3, 1]))
    (array([1, 1, 2, 2], dtype=int64), array([1, 1, 1, 2], dtype=int64))
    """
    if not isinstance(repeats, _np.ndarray):
        return _np.repeat(x, repeats, axis)
    if axis is None:
        x, axis = x.reshape((-1,)), 0
    places = _numpy.repeat(_numpy.arange(x.shape[axis]), repeats.asnumpy())
    return _np.take(x, asarray(places, device=x.ctx), axis=axis)


def tile(x, repetitions, /):
    """The whole array several times along each axis.

    Examples
    --------
    >>> from headrace import array_api as xp
    >>> xp.tile(xp.asarray([1, 2]), (2, 2))
    array([[1, 2, 1, 2],
           [1, 2, 1, 2]], dtype=int64)
    """
    return _np.tile(x, repetitions)


def take(x, indices, /, *, axis=None):
    """The elements at places along an axis; None: along the first."""
    return _np.take(x, indices, axis=0 if axis is None else axis)
