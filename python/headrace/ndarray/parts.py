"""nd functions that cut arrays into parts."""

from .. import _core

__all__ = ["check_equal_parts", "split_v2"]

_split = _core.function("_split_v2", False)


def check_equal_parts(ary, sections, axis, name):
    """ValueError unless the extent of the axis is a multiple of ``sections``."""
    if -ary.ndim <= axis < ary.ndim and sections > 0 and ary.shape[axis] % sections:
        raise ValueError(
            f"{name}: an axis of extent {ary.shape[axis]} cannot be cut into {sections} equal parts; give a "
            "divisor or indices"
        )


def split_v2(ary, indices_or_sections, axis=0, squeeze_axis=False):
    """Views of parts of the array along one axis; a list when there are several.

    An integer gives that many equal parts; a sequence says where the parts after the first begin.

    Raises
    ------
    ValueError
        When the axis does not divide into equal parts.
    """
    if hasattr(indices_or_sections, "__index__"):
        check_equal_parts(ary, indices_or_sections, axis, "split_v2")
        return _split(ary, axis=axis, squeeze_axis=squeeze_axis, sections=indices_or_sections)
    return _split(ary, indices=(0, *indices_or_sections), axis=axis, squeeze_axis=squeeze_axis)
