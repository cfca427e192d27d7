"""Functions that cut symbols into parts or count their elements, for both front ends."""

from . import calls

__all__ = ["cut", "histogram_of", "split_v2"]


def cut(symbol, indices_or_sections, axis, squeeze_axis=False, np=False, op="_split_v2"):
    """A symbol with one output for each part. ValueError: the number of parts is not positive."""
    if hasattr(indices_or_sections, "__index__"):
        if indices_or_sections <= 0:
            raise ValueError(f"split: the number of parts must be positive, got {indices_or_sections}")
        indices, sections = [], int(indices_or_sections)
    else:
        indices, sections = [0, *indices_or_sections], 0
    return calls.function(op, op.removeprefix("_npi_"), np)(
        symbol, indices=indices, axis=axis, squeeze_axis=squeeze_axis, sections=sections
    )


def split_v2(ary, indices_or_sections, axis=0, squeeze_axis=False):
    """Parts along one axis: that many equal ones, or parts that begin at 0 and at each of the indices."""
    return cut(ary, indices_or_sections, axis, squeeze_axis)


def histogram_of(a, bins, range, np=False):
    """A symbol of two outputs: how many elements fall into each bin, and the bins' edges.

    `bins` is a number of equal bins between the ends of `range`, or a symbol of edges. ValueError: `range`
    is missing.
    """
    function = calls.function("_histogram", "_histogram", np)
    if calls.is_symbol(bins):
        return function(a, bins)
    if range is None:
        raise ValueError("histogram: null range is not supported in symbol mode; give the ends of the bins")
    return function(a, bin_cnt=bins, range=tuple(range))
