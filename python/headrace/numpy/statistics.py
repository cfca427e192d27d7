"""np functions of order and frequency, of arrays or symbols."""

import numpy as _numpy

from .. import _core
from ..ndarray.ndarray import NDArray
from ..ndarray.parts import counted
from ._operands import is_symbol, listed
from .multiarray import array
from .multiarray import front_end as _np

__all__ = ["average", "histogram", "median", "percentile", "ptp", "quantile"]

_average = _core.function("_npi_average", True)
_histogram = _core.function("_histogram", True)
_percentile = _core.function("_npi_percentile", True)
_quantile = _core.function("_np_quantile", True)


def average(a, axis=None, weights=None, returned=False, out=None):
    """Weighted mean of the elements of ``a`` along ``axis``.

    Parameters
    ----------
    weights : ndarray, optional
        Of the shape of ``a``, or one-dimensional of the extent of ``axis``. None: all alike.
    returned : bool
        Also give the sum of the weights, in the shape of the result.

    Raises
    ------
    TypeError
        For weights of another shape than ``a`` without an axis.
    ValueError
        For weights that do not fit the axis.

    Examples
    --------
    >>> np.average(np.array([1, 2, 6]), weights=np.array([1, 1, 2]))
    array(3.75)
    """
    if weights is None:
        found = _average(a, axis=axis, returned=returned, weighted=False)
    else:
        found = _average(a, weights, axis=axis, returned=returned)
    if is_symbol(found[0] if returned else found):
        return found
    if out is not None:
        out[()] = found[0] if returned else found
        found = (out, found[1]) if returned else out
    return tuple(found) if returned else found


def _ranked(operator, a, q, most, axis, out, interpolation, keepdims):
    """What one of the operators `quantile` and `percentile` gives; numbers q lie in [0, most]."""
    number = None
    if not is_symbol(q):
        wanted = _numpy.asarray(q.asnumpy() if isinstance(q, NDArray) else q, dtype="float64")
        if not ((wanted >= 0) & (wanted <= most)).all():
            raise ValueError(f"{operator.op_name.rpartition('_')[2]}: q must lie in [0, {most}], got {q}")
        if wanted.ndim == 0:
            number = q if _numpy.isscalar(q) else float(wanted)
        elif not isinstance(q, NDArray):
            q = array(wanted, "float64", getattr(a, "ctx", None))
    operands = (a, q) if number is None else (a,)
    return operator(
        *operands, axis=axis, interpolation=interpolation, keepdims=keepdims, q_scalar=number, out=out
    )


def quantile(a, q, axis=None, out=None, overwrite_input=None, interpolation="linear", keepdims=False):
    """The q-th quantiles of the elements of ``a`` along ``axis``, q in [0, 1].

    The result has the shape of ``q`` followed by the remaining dimensions. ``interpolation`` says what is
    taken between two elements: 'linear', 'lower', 'higher', 'midpoint' or 'nearest'. The quantiles of
    elements with a nan among them are nan; `nanquantile` ignores it. Waits for ``q``. ``overwrite_input`` is
    accepted; nothing is overwritten.

    Raises
    ------
    ValueError
        For a q outside [0, 1], an unknown interpolation, or an array without elements.

    Examples
    --------
    >>> np.quantile(np.array([[1, 2, 3], [4, 6, 8]]), 0.25, axis=1)
    array([1.5, 5. ])
    >>> np.quantile(np.array([1, 2, 3]), 0.25, interpolation="lower")
    array(1.)
    """
    return _ranked(_quantile, a, q, 1, axis, out, interpolation, keepdims)


def percentile(a, q, axis=None, out=None, overwrite_input=None, interpolation="linear", keepdims=False):
    """The q-th percentiles of the elements of ``a``, q in [0, 100]; see `quantile`.

    Raises
    ------
    ValueError
        For a q outside [0, 100] or what `quantile` refuses.

    Examples
    --------
    >>> np.percentile(np.array([1, 2, 3, 4, 5]), np.array([0, 50, 90]))
    array([1. , 3. , 4.6])
    """
    return _ranked(_percentile, a, q, 100, axis, out, interpolation, keepdims)


def median(a, axis=None, out=None, overwrite_input=None, keepdims=False):
    """The middle of the sorted elements along ``axis``, the mean of two where their number is even.

    nan where one of them is nan; `nanmedian` ignores it.

    Raises
    ------
    ValueError
        For an array without elements or an axis out of range.

    Examples
    --------
    >>> np.median(np.array([[1, 7, 3], [4, 4, 5]]), axis=1)
    array([3., 4.])
    """
    return quantile(a, 0.5, axis, out, keepdims=keepdims)


def ptp(a, axis=None, out=None, keepdims=False):
    """Largest less smallest element along ``axis``.

    Raises
    ------
    ValueError
        When there is nothing to compare.

    Examples
    --------
    >>> np.ptp(np.array([[1, 7], [4, 5]]), axis=1)
    array([6., 1.])
    """
    np = _np()
    largest, smallest = (function(a, axis=axis, keepdims=keepdims) for function in (np.max, np.min))
    return np.subtract(largest, smallest, out=out)


def histogram(a, bins=10, range=None, normed=None, weights=None, density=None):
    """A list: how many elements fall into each bin (int64), and the bin edges; of a symbol a symbol of both.

    Parameters
    ----------
    bins : int, or an ndarray or symbol
        Number of equal bins, or their ascending edges.
    range : (float, float), optional
        Ends of the equal bins; None, of arrays, which are waited for: smallest and largest element.

    Raises
    ------
    NotImplementedError
        For ``normed``, ``weights`` and ``density``, which MXNet does not have either.
    ValueError
        For edges that fall, a number of bins that is not positive, or a symbol without a range.

    Examples
    --------
    >>> counts, edges = np.histogram(np.array([1, 2, 2, 5]), bins=4, range=(1, 5))
    >>> counts, edges
    (array([1, 2, 0, 1], dtype=int64), array([1., 2., 3., 4., 5.]))
    """
    if normed or weights is not None or density:
        raise NotImplementedError("histogram: normed, weights and density are not there; divide the counts")
    if isinstance(bins, str):
        raise NotImplementedError(
            f"histogram: bins must be a number or edges; numpy.histogram_bin_edges makes those of {bins!r}"
        )
    return listed(counted(_histogram, a, bins, range))
