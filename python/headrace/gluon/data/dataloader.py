"""The DataLoader: batches of a dataset, made in this thread, in threads or in worker processes."""

import threading
import weakref
from collections import deque

import numpy

from ..._arrays import NDArray
from ...context import cpu_pinned
from ._batches import batch_reader
from ._host import as_in_context, map_arrays, to_array
from ._pool_rounds import (  # noqa: F401 (client libraries)
    ForkingPickler,
    _as_in_context,
    _MultiWorkerIter,
    refuse_to_end,
)
from .batchify import default_batchify_fn, host_batchify
from .dataset import SimpleDataset
from .sampler import BatchSampler, RandomSampler, SequentialSampler

__all__ = ["DataLoader", "DataLoaderV1", "default_batchify_fn", "default_mp_batchify_fn"]

default_mp_batchify_fn = default_batchify_fn  # a DataLoader knows by itself when processes batch

# Threads may share a loader, and processes are forked by one thread at a time: else those of different pools
# keep ends of each other's connections open. A fork holds it, so a worker must be able to take it again.
_starting = threading.RLock()


class DataLoader:
    """An iterable of the batches of `dataset`, in the order of its sampler whatever the number of workers.

    `dataset`: anything with `__getitem__` and `__len__`. `batch_size` with `shuffle` or `sampler`, and
    `last_batch` ('keep', 'discard', 'rollover'), say which items form a batch; or `batch_sampler` gives lists
    of item numbers. `batchify_fn` makes a batch of a list of items. `num_workers` > 0 reads batches ahead,
    `prefetch` of them at a time (2 * num_workers by default), in forked processes, or in threads with
    `thread_pool`. `pin_memory` copies batches to `cpu_pinned(pin_device_id)`. `auto_reload` starts reading
    the next round when one ends.

    Workers start with the first iteration and stay; what is done to the dataset after that they do not see.
    Several threads may iterate at once, each its own iterator.

    ValueError: contradictory arguments. While iterating: what the dataset raises, with the worker's traceback
    as its cause; RuntimeError when a worker process dies, or of a StopIteration, which is no end of the
    epoch; multiprocessing.TimeoutError when a batch takes longer than `timeout` seconds.

    Examples
    --------
    >>> data = gluon.data.ArrayDataset(nd.arange(10).reshape((5, 2)), nd.arange(5))
    >>> for x, y in gluon.data.DataLoader(data, batch_size=2):
    ...     print(x.shape, y)
    (2, 2)
    [0. 1.]
    <NDArray 2 @cpu(0)>
    (2, 2)
    [2. 3.]
    <NDArray 2 @cpu(0)>
    (1, 2)
    [4.]
    <NDArray 1 @cpu(0)>
    """

    def __init__(
        self,
        dataset,
        batch_size=None,
        shuffle=False,
        sampler=None,
        last_batch=None,
        batch_sampler=None,
        batchify_fn=None,
        num_workers=0,
        pin_memory=False,
        pin_device_id=0,
        prefetch=None,
        thread_pool=False,
        timeout=120,
        auto_reload=False,
    ):
        assert timeout > 0, f"timeout must be positive, given {timeout}"
        self._dataset = dataset
        self._batch_sampler = _choose_batches(
            dataset, batch_size, shuffle, sampler, last_batch, batch_sampler
        )
        self._batchify_fn = batchify_fn or default_batchify_fn
        self._num_workers = max(num_workers, 0)
        self._prefetch = max(2 * self._num_workers if prefetch is None else int(prefetch), 1)
        self._pin_memory = pin_memory
        self._pinned = cpu_pinned(pin_device_id) if pin_memory else None
        self._thread_pool = thread_pool
        self._timeout = timeout
        self._auto_reload = auto_reload
        self._worker_pool = None
        self._closing = None
        self._next_round = None

    def __len__(self):
        return len(self._batch_sampler)

    def __iter__(self):
        if self._num_workers == 0:
            return self._read_here()
        with _starting:
            prepared, self._next_round = self._next_round, None
        return prepared or self._start_round()

    def refresh(self):
        """Workers start on the batches of the next round at once; without workers nothing happens."""
        self._next_round = self._start_round() if self._num_workers else None

    def clean(self):
        """Forgets the batches of the next round that workers have begun."""
        self._next_round = None

    def _read_here(self):
        fetch = _Fetch(self._dataset, self._batchify_fn)
        for rows in self._batch_sampler:
            try:
                batch = fetch(rows)
            except StopIteration as error:
                refuse_to_end(error)
            yield self._finish(batch)

    def _start_round(self):
        with _starting:
            self._ensure_pool()
        return _Round(self)

    def _ensure_pool(self):
        if self._worker_pool is not None and self._worker_pool.usable():
            return
        if self._thread_pool:
            from ._thread_pool import ThreadPool

            self._worker_pool = ThreadPool(self._num_workers, _Fetch(self._dataset, self._batchify_fn))
        else:
            from ._process_pool import ProcessPool

            batchify_fn = host_batchify if self._batchify_fn is default_batchify_fn else self._batchify_fn
            self._worker_pool = ProcessPool(self._num_workers, _Fetch(self._dataset, batchify_fn))
        if self._closing:
            self._closing.detach()
        self._closing = weakref.finalize(self, self._worker_pool.close)

    def _finish(self, batch):
        """What the program gets of a fetched batch: arrays of its mode, pinned when it asked for that."""
        if self._batchify_fn is default_batchify_fn:
            batch = map_arrays(to_array, numpy.ndarray, batch)
        if self._pinned is not None:
            batch = as_in_context(batch, self._pinned)
        return batch


class DataLoaderV1(DataLoader):
    """DataLoader with the arguments that it had first.

    Examples
    --------
    >>> loader = mx.gluon.data.dataloader.DataLoaderV1(gluon.data.SimpleDataset([1, 2, 3]), batch_size=2)
    >>> len(loader)
    2
    """

    def __init__(self, dataset, batch_size=None, shuffle=False, sampler=None, last_batch=None,
                 batch_sampler=None, batchify_fn=None, num_workers=0, pin_memory=False,
                 pin_device_id=0):  # fmt: skip
        super().__init__(dataset, batch_size, shuffle, sampler, last_batch, batch_sampler, batchify_fn,
                         num_workers, pin_memory, pin_device_id)  # fmt: skip


class _Fetch:
    """Makes the batch of given item numbers: in one go where the dataset offers that, else item by item."""

    def __init__(self, dataset, batchify_fn):
        if isinstance(dataset, (NDArray, numpy.ndarray)):
            dataset = SimpleDataset(dataset)
        self._dataset = dataset
        self._batchify_fn = batchify_fn
        self._read = batch_reader(dataset) if batchify_fn in (default_batchify_fn, host_batchify) else None

    def __call__(self, rows):
        if self._read is not None:
            numbers = numpy.asarray(rows)
            if numbers.ndim == 1 and numbers.dtype.kind in "iu":
                columns = self._read(numbers)
                return list(columns) if isinstance(columns, tuple) else columns
        return self._batchify_fn([self._dataset[row] for row in rows])


class _Round:
    """One pass over the batches of a loader with workers; keeps `prefetch` batches ordered."""

    def __init__(self, loader):
        self._requests = deque()
        self._loader = loader
        self._worker_pool = loader._worker_pool
        self._rows = iter(loader._batch_sampler)
        self._order_more()

    def __iter__(self):
        return self

    def __next__(self):
        if not self._requests:
            raise StopIteration
        loader = self._loader
        try:
            batch = self._worker_pool.result(self._requests.popleft(), loader._timeout)
            self._order_more()
        except StopIteration as error:
            self._discard()
            refuse_to_end(error)
        except BaseException:
            self._discard()
            raise
        if not self._requests and loader._auto_reload:
            loader._next_round = loader._start_round()
        return loader._finish(batch)

    def __del__(self):
        self._discard()

    def _order_more(self):
        while len(self._requests) < self._loader._prefetch:
            rows = next(self._rows, None)
            if rows is None:
                return
            self._requests.append(self._worker_pool.submit(rows))

    def _discard(self):
        for request in self._requests:
            self._worker_pool.discard(request)
        self._requests.clear()


def _choose_batches(dataset, batch_size, shuffle, sampler, last_batch, batch_sampler):
    if batch_sampler is not None:
        if batch_size is not None or shuffle or sampler is not None or last_batch is not None:
            raise ValueError(
                "batch_size, shuffle, sampler and last_batch must not be specified if batch_sampler is."
            )
        return batch_sampler
    if batch_size is None:
        raise ValueError("batch_size must be specified unless batch_sampler is specified")
    if sampler is None:
        sampler = RandomSampler(len(dataset)) if shuffle else SequentialSampler(len(dataset))
    elif shuffle:
        raise ValueError("shuffle must not be specified if sampler is specified")
    return BatchSampler(sampler, batch_size, last_batch or "keep")
