"""nd functions that cut arrays or symbols into parts or count their elements."""

from .. import _core

__all__ = ["check_equal_parts", "counted", "cut", "histogram", "split_v2"]

_histogram = _core.function("_histogram", False)
_split = _core.function("_split_v2", False, True)


def _is_number(indices_or_sections):
    """Arrays of places have __index__, too."""
    return hasattr(indices_or_sections, "__index__") and getattr(indices_or_sections, "ndim", 0) == 0


def check_equal_parts(ary, indices_or_sections, axis, name):
    """ValueError where a number of sections does not divide the extent of the axis, if that is known."""
    if _core.is_symbol(ary) or not _is_number(indices_or_sections):
        return
    sections = int(indices_or_sections)
    if -ary.ndim <= axis < ary.ndim and sections > 0 and ary.shape[axis] % sections:
        raise ValueError(
            f"{name}: an axis of extent {ary.shape[axis]} cannot be cut into {sections} equal parts; give a "
            "divisor or indices"
        )


def cut(operator, ary, indices_or_sections, axis, squeeze_axis=False):
    """What an operator like `_split_v2` gives. ValueError: the number of parts is not positive."""
    if _is_number(indices_or_sections):
        if indices_or_sections <= 0:
            raise ValueError(f"split: the number of parts must be positive, got {indices_or_sections}")
        indices, sections = [], int(indices_or_sections)
    else:
        indices, sections = [0, *map(int, indices_or_sections)], 0
    return operator(ary, indices=indices, axis=axis, squeeze_axis=squeeze_axis, sections=sections)


def split_v2(ary, indices_or_sections, axis=0, squeeze_axis=False):
    """Parts along one axis: views of an array, a list of several; of a symbol one with an output for each.

    An integer gives that many equal parts; a sequence says where the parts after the first begin.

    Raises
    ------
    ValueError
        When the axis does not divide into equal parts, where its extent is known.

    Examples
    --------
    >>> [part.shape for part in nd.split_v2(nd.zeros((6, 2)), 3)]
    [(2, 2), (2, 2), (2, 2)]
    >>> [part.shape for part in nd.split_v2(nd.zeros((6, 2)), (1, 4))]
    [(1, 2), (3, 2), (2, 2)]
    """
    check_equal_parts(ary, indices_or_sections, axis, "split_v2")
    return cut(_split, ary, indices_or_sections, axis, squeeze_axis)


def counted(operator, a, bins, range):
    """What `_histogram` gives for a number of bins or their edges."""
    if not hasattr(bins, "__index__") or hasattr(bins, "shape") or _core.is_symbol(bins):
        return operator(a, bins)
    if range is None and _core.is_symbol(a):
        raise ValueError("histogram: null range is not supported in symbol mode; give the ends of the bins")
    return operator(a, bin_cnt=bins, range=None if range is None else tuple(range))


def histogram(a, bins=10, range=None):
    """How many elements fall into each bin (int64; float32 where the ends are found), and the bin edges; of a
    symbol a symbol of two outputs.

    Parameters
    ----------
    bins : int, or an NDArray or symbol
        Number of equal bins, or their ascending edges.
    range : (float, float), optional
        Ends of the equal bins; None, of arrays, which are waited for: smallest and largest element.

    Raises
    ------
    ValueError
        For edges that fall, a number of bins that is not positive, or a symbol without a range.

    Examples
    --------
    >>> counts, edges = nd.histogram(nd.array([1, 2, 2, 5]), bins=4, range=(1, 5))
    >>> counts.asnumpy(), edges.asnumpy()
    (array([1, 2, 0, 1]), array([1., 2., 3., 4., 5.], dtype=float32))
    """
    counts, edges = result = counted(_histogram, a, bins, range)
    finds_ends = range is None and not hasattr(bins, "shape") and not _core.is_symbol(bins)
    return [counts.astype("float32"), edges] if finds_ends else result
