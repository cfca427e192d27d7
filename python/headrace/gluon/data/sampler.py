"""Samplers: the order in which the items of a dataset are read."""

import numbers
from itertools import islice

import numpy

__all__ = ["Sampler", "SequentialSampler", "RandomSampler", "SplitSampler", "FilterSampler", "BatchSampler"]


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


class SplitSampler(Sampler):
    """Part `part_index` of the numbers 0 to `length - 1`, which `num_parts` workers share: neighbours, in a
    new random order each time, drawn from NumPy's global generator, or in their own without `shuffle`.

    Each number belongs to one part, so parts differ in length by one at most, and some are empty where there
    are fewer numbers than parts: `Trainer.join` is for workers with less data than others. With `even_size`
    all parts are as long as the longest: shorter ones have the next number, too. ValueError: there is no such
    part.

    Examples
    --------
    >>> list(gluon.data.SplitSampler(5, num_parts=2, part_index=1, shuffle=False))  # rank 1 of 2
    [3, 4]
    >>> list(gluon.data.SplitSampler(5, num_parts=2, part_index=1, even_size=True, shuffle=False))
    [3, 4, 0]
    """

    def __init__(self, length, num_parts=1, part_index=0, even_size=False, shuffle=True):
        if not 0 <= part_index < num_parts:
            raise ValueError(
                f"SplitSampler: part_index must be from 0 to num_parts - 1, got {part_index} of {num_parts}"
            )
        least, more = divmod(length, num_parts)  # the first `more` parts have one number more than `least`
        begin = part_index * least + min(part_index, more)
        count = least + (more > 0 if even_size else part_index < more)
        self._numbers = numpy.arange(begin, begin + count) % max(length, 1)
        self._shuffle = shuffle

    def __iter__(self):
        order = self._numbers.copy()
        if self._shuffle:
            numpy.random.shuffle(order)
        return iter(order.tolist())

    def __len__(self):
        return len(self._numbers)


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
        if not isinstance(batch_size, numbers.Real):
            raise TypeError(f"BatchSampler: batch_size must be a number, got {batch_size!r}")
        if batch_size < 1:
            raise ValueError(f"BatchSampler: batch_size must be at least 1, got {batch_size}")
        self._sampler = sampler
        self._batch_size = int(batch_size)  # which programs give as 2.0, too
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
