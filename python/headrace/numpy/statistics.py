"""np functions of order and frequency that are put together from operators."""

import numpy as _numpy

from .. import _core
from ..ndarray.ndarray import NDArray
from .multiarray import array, ndarray
from .multiarray import front_end as _np

__all__ = [
    "average",
    "median",
    "quantile",
    "percentile",
    "ptp",
    "nonzero",
    "flatnonzero",
    "argwhere",
    "histogram",
]

_INTERPOLATIONS = ("linear", "lower", "higher", "midpoint", "nearest")

_histogram = _core.function("_histogram", True)
_nonzero = _core.function("_npx_nonzero", True)


def normalized_axes(axis, ndim, name):
    """Axes as ascending non-negative integers; all of them for None."""
    if axis is None:
        return list(range(ndim))
    axes = [axis] if isinstance(axis, int) else list(axis)
    for a in axes:
        if not -ndim <= a < ndim:
            raise ValueError(f"{name}: axis {a} is out of range for an array of {ndim} dimension(s)")
    axes = sorted(a % ndim for a in axes)
    if len(set(axes)) != len(axes):
        raise ValueError(f"{name}: an axis is named twice in {axis}")
    return axes


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
    """
    np = _np()
    if weights is None:
        mean = np.mean(a, axis=axis)
        total = np.full(mean.shape, a.size / max(mean.size, 1), dtype=mean.dtype)
    else:
        if weights.shape != a.shape:
            if axis is None:
                raise TypeError("average: weights of another shape than the array need an axis")
            if weights.ndim != 1 or not isinstance(axis, int):
                raise TypeError("average: weights of another shape must be one-dimensional, for one axis")
            (along,) = normalized_axes(axis, a.ndim, "average")
            if weights.shape[0] != a.shape[along]:
                raise ValueError(
                    f"average: {weights.shape[0]} weights do not fit axis {axis} of shape {a.shape}"
                )
            weights = weights.reshape((1,) * along + (-1,) + (1,) * (a.ndim - along - 1))
        total = np.sum(np.broadcast_to(weights, a.shape), axis=axis)
        mean = np.sum(a * weights, axis=axis) / total
    if out is not None:
        out[()] = mean
        mean = out
    return (mean, total) if returned else mean


def _sorted_rows(a, axes):
    """The array with ``axes`` merged into a last one, sorted along it."""
    np = _np()
    kept = [d for d in range(a.ndim) if d not in axes]
    moved = np.transpose(a, tuple(kept + axes)) if a.ndim else a
    return np.sort(moved.reshape(tuple(a.shape[d] for d in kept) + (-1,)), axis=-1)


def _positions(places, interpolation):
    """Lower place, upper place and share of the upper one, for real-valued places in a sorted row."""
    lower, upper = _numpy.floor(places), _numpy.ceil(places)
    if interpolation == "lower":
        upper = lower
    elif interpolation == "higher":
        lower = upper
    elif interpolation == "nearest":
        lower = upper = _numpy.rint(places)
    share = {"midpoint": 0.5}.get(interpolation, places - lower)
    return lower, upper, _numpy.broadcast_to(share, places.shape)


def _between(low, high, share):
    """The values at a share of the way; between an infinity and another number that infinity."""
    np = _np()
    step = high - low
    return np.where(np.isfinite(step), low + step * share, low + high)


def quantile(a, q, axis=None, out=None, overwrite_input=None, interpolation="linear", keepdims=False):
    """The q-th quantiles of the elements of ``a`` along ``axis``, q in [0, 1].

    The result has the shape of ``q`` followed by the remaining dimensions. ``interpolation`` says what is
    taken between two elements: 'linear', 'lower', 'higher', 'midpoint' or 'nearest'. The quantiles of
    elements with a nan among them are nan; `nanquantile` ignores it. Waits for ``q``.

    Raises
    ------
    ValueError
        For a q outside [0, 1], an unknown interpolation, or an array without elements.
    """
    np = _np()
    if interpolation not in _INTERPOLATIONS:
        raise ValueError(f"quantile: interpolation must be one of {_INTERPOLATIONS}, got {interpolation!r}")
    wanted = _numpy.asarray(q.asnumpy() if isinstance(q, NDArray) else q, dtype="float64")
    if not ((wanted >= 0) & (wanted <= 1)).all():
        raise ValueError(f"quantile: q must lie in [0, 1], got {q}")
    if a.dtype.kind != "f":
        a = a.astype("float32")
    axes = normalized_axes(axis, a.ndim, "quantile")
    rows = _sorted_rows(a, axes)
    length = rows.shape[-1]
    if length == 0:
        raise ValueError(f"quantile: there are no elements along axis {axis} of an array of shape {a.shape}")
    lower, upper, share = _positions(wanted.reshape(-1) * (length - 1), interpolation)
    low = np.take(rows, array(lower, dtype="int64"), axis=-1)
    result = low
    if interpolation in ("linear", "midpoint"):
        high = np.take(rows, array(upper, dtype="int64"), axis=-1)
        result = _between(low, high, array(share, dtype=a.dtype))
    last = rows[..., -1:]
    result = np.where(np.isnan(last), last, result)  # nan is sorted to the end
    kept = tuple(1 if d in axes else n for d, n in enumerate(a.shape) if keepdims or d not in axes)
    if result.ndim > 1:
        result = np.moveaxis(result, -1, 0)
    result = result.reshape(wanted.shape + kept)
    if out is not None:
        out[()] = result
        return out
    return result


def percentile(a, q, axis=None, out=None, overwrite_input=None, interpolation="linear", keepdims=False):
    """The q-th percentiles of the elements of ``a``, q in [0, 100]; see `quantile`.

    Raises
    ------
    ValueError
        For a q outside [0, 100] or what `quantile` refuses.
    """
    wanted = _numpy.asarray(q.asnumpy() if isinstance(q, NDArray) else q, dtype="float64")
    if not ((wanted >= 0) & (wanted <= 100)).all():
        raise ValueError(f"percentile: q must lie in [0, 100], got {q}")
    return quantile(a, wanted / 100, axis, out, overwrite_input, interpolation, keepdims)


def median(a, axis=None, out=None, overwrite_input=None, keepdims=False):
    """The middle of the sorted elements along ``axis``, the mean of two where their number is even.

    nan where one of them is nan; `nanmedian` ignores it.

    Raises
    ------
    ValueError
        For an array without elements or an axis out of range.
    """
    interpolation = "midpoint" if _is_even(a, axis) else "lower"
    return quantile(a, 0.5, axis, out, overwrite_input, interpolation, keepdims)


def _is_even(a, axis):
    count = 1
    for d in normalized_axes(axis, a.ndim, "median"):
        count *= a.shape[d]
    return count % 2 == 0


def ptp(a, axis=None, out=None, keepdims=False):
    """Largest less smallest element along ``axis``.

    Raises
    ------
    ValueError
        When there is nothing to compare.
    """
    np = _np()
    result = np.max(a, axis=axis, keepdims=keepdims) - np.min(a, axis=axis, keepdims=keepdims)
    if out is not None:
        out[()] = result
        return out
    return result


def nonzero(a):
    """Coordinates of the elements that are not 0: one int64 array for each dimension. Waits for the array."""
    found = _nonzero(a.reshape((-1,)) if a.ndim == 0 else a)
    return tuple(found[:, d] for d in range(found.shape[1]))


def flatnonzero(a):
    """Positions in the flattened array of the elements that are not 0, as int64. Waits for the array."""
    return nonzero(a.reshape((-1,)))[0]


def argwhere(a):
    """Coordinates of the elements that are not 0: int64 (count, dimensions). Waits for the array."""
    return _nonzero(a)


def histogram(a, bins=10, range=None, normed=None, weights=None, density=None):
    """A list: how many elements fall into each bin (int64), and the bin edges. Waits for the arrays.

    Parameters
    ----------
    bins : int or ndarray
        Number of equal bins, or their ascending edges.
    range : (float, float), optional
        Ends of the equal bins; None: smallest and largest element.

    Raises
    ------
    NotImplementedError
        For ``normed``, ``weights`` and ``density``, which MXNet does not have either.
    ValueError
        For edges that fall, or a number of bins that is not positive.
    """
    if normed or weights is not None or density:
        raise NotImplementedError("histogram: normed, weights and density are not there; divide the counts")
    if isinstance(bins, ndarray):
        return list(_histogram(a, bins))
    ends = None if range is None else [float(end) for end in range]
    return list(_histogram(a, bin_cnt=bins, range=ends))
