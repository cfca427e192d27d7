"""Samplers: the order in which the items of a dataset are read."""

from itertools import islice

import numpy

__all__ = ["Sampler", "SequentialSampler", "RandomSampler", "FilterSampler", "BatchSampler"]


class Sampler:
    """An iterable of item numbers, or of lists of them. Subclasses define `__iter__` and `__len__`.

    Examples
    --------
    >>> class Backwards(gluon.data.Sampler):
    ...     def __init__(self, length):
    ...         self.length = length
    ...     def __iter__(self):
    ...         return iter(range(self.length - 1, -1, -1))
    ...     def __len__(self):
    ...         return self.length
    >>> data = gluon.data.SimpleDataset([10, 20, 30])
    >>> next(iter(gluon.data.DataLoader(data, batch_size=3, sampler=Backwards(3))))
    [30 20 10]
    <NDArray 3 @cpu(0)>
    """

    def __len__(self):
        raise NotImplementedError(f"{type(self).__name__} must define __len__")

    def __iter__(self):
        raise NotImplementedError(f"{type(self).__name__} must define __iter__")


class SequentialSampler(Sampler):
    """`start`, `start + 1`, ... : `length` numbers.

    Examples
    --------
    >>> list(gluon.data.SequentialSampler(4))
    [0, 1, 2, 3]
    """

    def __init__(self, length, start=0):
        self._length = length
        self._start = start

    def __iter__(self):
        return iter(range(self._start, self._start + self._length))

    def __len__(self):
        return self._length


class RandomSampler(Sampler):
    """The numbers 0 to `length - 1` in a new random order each time, drawn from NumPy's global generator.

    `numpy.random.seed` makes it repeatable.

    Examples
    --------
    >>> sorted(gluon.data.RandomSampler(4))
    [0, 1, 2, 3]
    """

    def __init__(self, length):
        self._length = length

    def __iter__(self):
        order = numpy.arange(self._length)
        numpy.random.shuffle(order)
        return iter(order.tolist())

    def __len__(self):
        return self._length


class FilterSampler(Sampler):
    """The numbers of the items of `dataset` for which `fn(item)` is true. Calls `fn` on every item now.

    Examples
    --------
    >>> list(gluon.data.FilterSampler(lambda x: x > 2, gluon.data.SimpleDataset([1, 3, 2, 5])))
    [1, 3]
    """

    def __init__(self, fn, dataset):
        self._indices = [i for i in range(len(dataset)) if fn(dataset[i])]

    def __iter__(self):
        return iter(self._indices)

    def __len__(self):
        return len(self._indices)


class BatchSampler(Sampler):
    """Lists of `batch_size` numbers of `sampler`.

    `last_batch` says what becomes of a last batch that is not full: 'keep' gives it as it is, 'discard' drops
    it, 'rollover' puts it in front of the next round. ValueError: another word, or `batch_size` below 1.

    Examples
    --------
    >>> list(gluon.data.BatchSampler(gluon.data.SequentialSampler(5), 2, last_batch="keep"))
    [[0, 1], [2, 3], [4]]
    """

    def __init__(self, sampler, batch_size, last_batch="keep"):
        if batch_size < 1:
            raise ValueError(f"BatchSampler: batch_size must be at least 1, got {batch_size}")
        self._sampler = sampler
        self._batch_size = batch_size
        self._last_batch = last_batch
        self._left_over = []

    def __iter__(self):
        self._check()
        numbers = iter(self._sampler)
        batch, self._left_over = self._left_over, []
        batch.extend(islice(numbers, self._batch_size - len(batch)))
        while len(batch) == self._batch_size:
            yield batch
            batch = list(islice(numbers, self._batch_size))
        if batch and self._last_batch == "keep":
            yield batch
        elif self._last_batch == "rollover":
            self._left_over = batch

    def __len__(self):
        self._check()
        if self._last_batch == "keep":
            return -(-len(self._sampler) // self._batch_size)
        if self._last_batch == "discard":
            return len(self._sampler) // self._batch_size
        return (len(self._left_over) + len(self._sampler)) // self._batch_size

    def _check(self):
        if self._last_batch not in ("keep", "discard", "rollover"):
            raise ValueError(
                f"last_batch must be one of 'keep', 'discard', or 'rollover', but got {self._last_batch}"
            )
