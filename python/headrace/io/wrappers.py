"""Iterators over iterators: another length, work ahead."""

import concurrent.futures

from .base import DataBatch, DataDesc, DataIter

__all__ = ["PrefetchingIter", "ResizeIter"]


class _Current(DataIter):
    """An iterator whose present batch is a DataBatch in `current_batch`."""

    current_batch = None

    def getdata(self):
        return self.current_batch.data

    def getlabel(self):
        return self.current_batch.label

    def getindex(self):
        return self.current_batch.index

    def getpad(self):
        return self.current_batch.pad


class ResizeIter(_Current):
    """Passes of exactly `size` batches of `data_iter`, which starts again whenever it ends.

    `reset` resets `data_iter` too if `reset_internal`; otherwise the next pass goes on where this one
    stopped.

    Examples
    --------
    >>> batches = mx.io.NDArrayIter(nd.ones((4, 2)), batch_size=2)
    >>> len(list(mx.io.ResizeIter(batches, size=5)))
    5
    """

    def __init__(self, data_iter, size, reset_internal=True):
        super().__init__(data_iter.batch_size)
        self.data_iter = data_iter
        self.size = size
        self.reset_internal = reset_internal
        self.cur = 0
        self.provide_data = data_iter.provide_data
        self.provide_label = data_iter.provide_label
        if hasattr(data_iter, "default_bucket_key"):
            self.default_bucket_key = data_iter.default_bucket_key

    def reset(self):
        """Starts a new pass."""
        self.cur = 0
        if self.reset_internal:
            self.data_iter.reset()

    def iter_next(self):
        """Moves to the next batch; whether the pass has one."""
        if self.cur == self.size:
            return False
        try:
            self.current_batch = self.data_iter.next()
        except StopIteration:
            self.data_iter.reset()
            self.current_batch = self.data_iter.next()
        self.cur += 1
        return True


def _fetch(data_iter):
    try:
        return data_iter.next()
    except StopIteration:
        return None


class PrefetchingIter(_Current):
    """Batches of several iterators side by side, each fetched by a thread of its own one batch ahead.

    `rename_data`, `rename_label`: for each iterator a dictionary from its names to new ones. What an iterator
    raises is raised here. AssertionError: the iterators do not end, or pad, at the same place.

    Examples
    --------
    >>> batches = mx.io.PrefetchingIter(mx.io.NDArrayIter(nd.ones((4, 2)), batch_size=2))
    >>> len(list(batches))
    2
    """

    def __init__(self, iters, rename_data=None, rename_label=None):
        self.iters = list(iters) if isinstance(iters, (list, tuple)) else [iters]
        assert self.iters, "PrefetchingIter: no iterators are given"
        self.n_iter = len(self.iters)
        self.rename_data = rename_data
        self.rename_label = rename_label
        super().__init__(self.provide_data[0].shape[0])
        self._pool = concurrent.futures.ThreadPoolExecutor(self.n_iter, "prefetch")
        self._ask()

    def __del__(self):
        if hasattr(self, "_pool"):
            self._pool.shutdown(wait=False)

    def _ask(self):
        self._coming = [self._pool.submit(_fetch, data_iter) for data_iter in self.iters]

    @property
    def provide_data(self):
        """Descriptions of the data, renamed."""
        return self._renamed([data_iter.provide_data for data_iter in self.iters], self.rename_data)

    @property
    def provide_label(self):
        """Descriptions of the labels, renamed."""
        return self._renamed([data_iter.provide_label for data_iter in self.iters], self.rename_label)

    @staticmethod
    def _renamed(descriptions, names):
        made = []
        for of_iter, new_names in zip(descriptions, names or [{}] * len(descriptions)):
            for one in of_iter:
                if not isinstance(one, DataDesc):
                    one = DataDesc(*one)
                made.append(DataDesc(new_names.get(one.name, one.name), one.shape, one.dtype, one.layout))
        return made

    def reset(self):
        """Resets all iterators; a batch that was fetched ahead is dropped."""
        concurrent.futures.wait(self._coming)
        for data_iter in self.iters:
            data_iter.reset()
        self._ask()

    def iter_next(self):
        """Moves to the next batch; whether there is one."""
        batches = [coming.result() for coming in self._coming]
        if None in batches:
            assert not any(batches), "PrefetchingIter: the iterators have different numbers of batches"
            return False
        assert len({batch.pad for batch in batches}) == 1, "PrefetchingIter: the iterators pad differently"
        self.current_batch = DataBatch(
            [array for batch in batches for array in batch.data],
            [array for batch in batches for array in batch.label or ()],
            batches[0].pad,
            batches[0].index,
            provide_data=self.provide_data,
            provide_label=self.provide_label,
        )
        self._ask()
        return True

    def next(self):
        """The next DataBatch. StopIteration: there is none until `reset`."""
        if not self.iter_next():
            raise StopIteration
        return self.current_batch
