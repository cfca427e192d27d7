"""Samplers for special needs."""

from ...data.sampler import Sampler

__all__ = ["IntervalSampler"]


class IntervalSampler(Sampler):
    """The numbers 0, `interval`, `2 * interval`, ... below `length`.

    With `rollover` it goes on with 1, `1 + interval`, ... until each number came once.

    Examples
    --------
    >>> list(gluon.contrib.data.IntervalSampler(10, interval=3))
    [0, 3, 6, 9, 1, 4, 7, 2, 5, 8]
    >>> list(gluon.contrib.data.IntervalSampler(10, interval=3, rollover=False))
    [0, 3, 6, 9]
    """

    def __init__(self, length, interval, rollover=True):
        assert interval <= length, f"Interval {interval} must be smaller than or equal to length {length}"
        self._length = length
        self._interval = interval
        self._starts = range(interval if rollover else 1)

    def __iter__(self):
        for start in self._starts:
            yield from range(start, self._length, self._interval)

    def __len__(self):
        return sum(len(range(start, self._length, self._interval)) for start in self._starts)
