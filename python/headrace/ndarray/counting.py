"""nd functions whose arguments the catalogue cannot express."""

from .. import _core
from .ndarray import NDArray

__all__ = ["histogram"]

_histogram = _core.function("_histogram", False)


def histogram(a, bins=10, range=None):
    """How many elements fall into each bin (int64), and the bin edges. Waits for the arrays.

    Parameters
    ----------
    bins : int or NDArray
        Number of equal bins, or their ascending edges.
    range : (float, float), optional
        Ends of the equal bins; None: smallest and largest element.

    Raises
    ------
    ValueError
        For edges that fall, or a number of bins that is not positive.
    """
    if isinstance(bins, NDArray):
        return _histogram(a, bins)
    ends = None if range is None else [float(end) for end in range]
    return _histogram(a, bin_cnt=bins, range=ends)
