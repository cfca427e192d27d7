"""np functions that cut arrays or symbols into parts or put borders around them."""

import numpy as _numpy

from .. import _core
from ..ndarray.parts import check_equal_parts, cut
from ._operands import listed, operand, shape_of

__all__ = ["append", "array_split", "dsplit", "hsplit", "pad", "split", "vsplit"]

_concatenate = _core.function("_npi_concatenate", True)
_hsplit = _core.function("_npi_hsplit", True)
_pad = _core.function("_np_pad", True)
_split = _core.function("_split_v2", True)


def split(ary, indices_or_sections, axis=0):
    """Parts along one axis: a list of views or symbols.

    An integer gives that many equal parts; a sequence says where the parts after the first begin.

    Raises
    ------
    ValueError
        When the axis does not divide into equal parts, where its extent is known.

    Examples
    --------
    >>> np.split(np.arange(6), 3)
    [array([0., 1.]), array([2., 3.]), array([4., 5.])]
    >>> np.split(np.arange(6), [1, 4])
    [array([0.]), array([1., 2., 3.]), array([4., 5.])]
    """
    check_equal_parts(ary, indices_or_sections, axis, "split")
    return array_split(ary, indices_or_sections, axis)


def array_split(ary, indices_or_sections, axis=0):
    """Like `split`; an integer need not divide the axis, the first parts are longer by one then.

    Examples
    --------
    >>> np.array_split(np.arange(5), 2)
    [array([0., 1., 2.]), array([3., 4.])]
    """
    return listed(cut(_split, ary, indices_or_sections, axis))


def _split_along(name, ary, indices_or_sections, axis, least):
    shape = shape_of(ary)
    if shape is not None and len(shape) < least:
        raise ValueError(f"{name}: an array of at least {least} axes is needed, got shape {shape}")
    return split(ary, indices_or_sections, axis)


def hsplit(ary, indices_or_sections):
    """Parts along the second axis, of a vector along its only one; see `split`.

    ValueError: the array has no axis, or the axis does not divide into equal parts.

    Examples
    --------
    >>> np.hsplit(np.array([[1, 2, 3, 4]]), 2)
    [array([[1., 2.]]), array([[3., 4.]])]
    """
    shape = shape_of(ary)
    if shape is not None:
        return _split_along("hsplit", ary, indices_or_sections, 1 if len(shape) > 1 else 0, 1)
    return listed(cut(_hsplit, ary, indices_or_sections, 1))


def vsplit(ary, indices_or_sections):
    """Parts along the first axis, of an array of at least two axes; see `split`.

    ValueError: there are fewer, or the axis does not divide into equal parts.

    Examples
    --------
    >>> np.vsplit(np.array([[1, 2], [3, 4]]), 2)
    [array([[1., 2.]]), array([[3., 4.]])]
    """
    return _split_along("vsplit", ary, indices_or_sections, 0, 2)


def dsplit(ary, indices_or_sections):
    """Parts along the third axis, of an array of at least three axes; see `split`.

    ValueError: there are fewer, or the axis does not divide into equal parts.

    Examples
    --------
    >>> [part.shape for part in np.dsplit(np.zeros((2, 2, 6)), [1, 3])]
    [(2, 2, 1), (2, 2, 2), (2, 2, 3)]
    """
    return _split_along("dsplit", ary, indices_or_sections, 2, 3)


def pad(x, pad_width, mode="constant", **kwargs):
    """The array with a border around it.

    ``pad_width`` is ((before, after), ...) for each axis or, of arrays, (before, after) for all, or one
    number. Modes: 'constant' (with ``constant_values``, one number), 'edge', 'reflect', 'symmetric', 'wrap',
    'maximum', 'minimum' and 'mean'.

    Raises
    ------
    ValueError
        For an unknown mode or argument, or widths that do not fit the array.

    Examples
    --------
    >>> np.pad(np.array([[1, 2]]), ((0, 1), (1, 1)))
    array([[0., 1., 2., 0.],
           [0., 0., 0., 0.]])
    >>> np.pad(np.array([1, 2, 3]), 2, mode="reflect")
    array([3., 2., 1., 2., 3., 2., 1.])
    """
    allowed = {
        "constant": {"constant_values"},
        "reflect": {"reflect_type"},
        "symmetric": {"reflect_type"},
    }.get(mode, set())
    unknown = set(kwargs) - allowed
    if unknown:
        raise ValueError(f"pad: unsupported keyword arguments for mode '{mode}': {sorted(unknown)}")
    x = operand(x)
    widths = _numpy.asarray(pad_width, dtype=_numpy.int64)
    shape = shape_of(x)
    if shape is not None:
        widths = _numpy.broadcast_to(widths, (len(shape), 2))
    elif widths.ndim != 2 or widths.shape[1] != 2:
        raise ValueError(
            f"pad: pad_width needs a pair (before, after) for each axis, got {pad_width}; the number of axes "
            "is not known while a graph is built"
        )
    return _pad(x, pad_width=tuple(widths.ravel().tolist()), mode=mode, **kwargs)


def append(arr, values, axis=None):
    """``values`` joined to the end of ``arr`` along an axis, both flattened with axis=None.

    Raises
    ------
    ValueError
        For other extents than that of the axis, or numbers of axes, that differ.
    MXNetError
        For dtypes that differ.

    Examples
    --------
    >>> np.append(np.array([[1, 2]]), np.array([[3, 4]]), axis=0)
    array([[1., 2.],
           [3., 4.]])
    >>> np.append(np.array([[1, 2]]), np.array([[3, 4]]))
    array([1., 2., 3., 4.])
    """
    return _concatenate([arr, operand(values, beside=arr)], axis=axis)
