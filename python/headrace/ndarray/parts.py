"""nd functions that cut arrays into parts."""

from .. import _core

__all__ = ["split_v2"]

_split = _core.function("_split_v2", False)


def split_v2(ary, indices_or_sections, axis=0, squeeze_axis=False):
    """Views of parts of the array along one axis; a list when there are several.

    An integer gives that many equal parts; a sequence says where the parts after the first begin.

    Raises
    ------
    ValueError
        When the axis does not divide into equal parts.
    """
    if hasattr(indices_or_sections, "__index__"):
        return _split(ary, axis=axis, squeeze_axis=squeeze_axis, sections=indices_or_sections)
    return _split(ary, indices=(0, *indices_or_sections), axis=axis, squeeze_axis=squeeze_axis)
