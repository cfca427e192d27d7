"""np functions that cut arrays into parts or put borders around them."""

import numpy as _numpy

from .. import _core
from ..ndarray.parts import check_equal_parts

__all__ = ["split", "array_split", "hsplit", "vsplit", "dsplit", "pad", "append"]

_split = _core.function("_split_v2", True)
_pad = _core.function("_np_pad", True)
_concatenate = _core.function("_npi_concatenate", True)


def _as_list(parts):
    return list(parts) if isinstance(parts, (list, tuple)) else [parts]


def split(ary, indices_or_sections, axis=0):
    """Views of parts of the array along one axis, as a list.

    An integer gives that many equal parts; a sequence says where the parts after the first begin.

    Raises
    ------
    ValueError
        When the axis does not divide into equal parts.
    """
    if hasattr(indices_or_sections, "__index__"):
        sections = _positive(indices_or_sections, "split")
        check_equal_parts(ary, sections, axis, "split")
        return _as_list(_split(ary, axis=axis, sections=sections))
    return _as_list(_split(ary, indices=(0, *indices_or_sections), axis=axis))


def array_split(ary, indices_or_sections, axis=0):
    """Like split; an integer need not divide the axis, the first parts are longer by one then."""
    if hasattr(indices_or_sections, "__index__"):
        return _as_list(_split(ary, sections=_positive(indices_or_sections, "array_split"), axis=axis))
    return split(ary, indices_or_sections, axis)


def _positive(sections, name):
    if sections <= 0:
        raise ValueError(f"{name}: the number of parts must be positive, got {sections}")
    return sections


def _split_along(name, ary, indices_or_sections, axis, least):
    if ary.ndim < least:
        raise ValueError(f"{name}: an array of at least {least} axes is needed, got shape {ary.shape}")
    return split(ary, indices_or_sections, axis)


def hsplit(ary, indices_or_sections):
    """Views of parts along the second axis, of a vector along its only one."""
    return _split_along("hsplit", ary, indices_or_sections, 1 if ary.ndim > 1 else 0, 1)


def vsplit(ary, indices_or_sections):
    """Views of parts along the first axis, of an array of at least two axes."""
    return _split_along("vsplit", ary, indices_or_sections, 0, 2)


def dsplit(ary, indices_or_sections):
    """Views of parts along the third axis."""
    return _split_along("dsplit", ary, indices_or_sections, 2, 3)


def pad(x, pad_width, mode="constant", **kwargs):
    """The array with a border around it.

    ``pad_width`` is ((before, after), ...) for each axis, (before, after) for all, or one number.
    Modes: 'constant'
    (with ``constant_values``, one number), 'edge', 'reflect', 'symmetric', 'wrap', 'maximum', 'minimum' and
    'mean'.

    Raises
    ------
    ValueError
        For an unknown mode or argument, or widths that do not fit the array.
    """
    allowed = {
        "constant": {"constant_values"},
        "reflect": {"reflect_type"},
        "symmetric": {"reflect_type"},
    }.get(mode, set())
    unknown = set(kwargs) - allowed
    if unknown:
        raise ValueError(f"pad: unsupported keyword arguments for mode '{mode}': {sorted(unknown)}")
    widths = _numpy.broadcast_to(_numpy.asarray(pad_width, dtype=_numpy.int64), (x.ndim, 2))
    return _pad(x, pad_width=tuple(widths.ravel().tolist()), mode=mode, **kwargs)


def append(arr, values, axis=None):
    """``values`` joined to the end of ``arr`` along an axis, both flattened with axis=None."""
    return _concatenate([arr, values], axis=axis)
