"""Axes as users name them."""

__all__ = ["normalized_axes"]


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
