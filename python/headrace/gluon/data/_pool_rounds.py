"""Rounds over pools of Python's `multiprocessing`, for data loaders that client libraries derive from.

Headrace's own loaders order batches from `_process_pool` and `_thread_pool`.
"""

import multiprocessing
import pickle
from multiprocessing.reduction import ForkingPickler

from ...context import cpu_pinned
from ._host import as_in_context

__all__ = ["ForkingPickler", "_MultiWorkerIter", "_as_in_context"]

_as_in_context = as_in_context


def refuse_to_end(error):
    """RuntimeError of a StopIteration from what makes a batch, which would end an epoch early."""
    raise RuntimeError(
        "DataLoader: the dataset, a transform or batchify_fn raised StopIteration, which would end the epoch "
        "early; catch it there, or call next() with a default"
    ) from error


class _MultiWorkerIter:
    """The batches of `batch_sampler`, ordered ahead from a pool with `apply_async` and given in order.

    `worker_fn(rows, batchify_fn, dataset)` makes a batch in a worker: the batch itself for a round that knows
    its `dataset` (threads), a pickle of it otherwise. `prefetch` batches are ordered at once and one more
    with each that is taken; derived classes order them their own way in `_push_next`, which puts the pending
    result into `_data_buffer` at `_sent_idx` and counts that up. `pin_memory` copies the arrays to
    `cpu_pinned(pin_device_id)`.

    While iterating: what a worker raised, after the pool has been ended; multiprocessing.TimeoutError when
    a batch takes longer than `timeout` seconds.
    """

    def __init__(self, worker_pool, batchify_fn, batch_sampler, pin_memory=False, pin_device_id=0,
                 worker_fn=None, prefetch=0, dataset=None, data_loader=None, timeout=120):  # fmt: skip
        self._worker_pool = worker_pool
        self._worker_fn = worker_fn
        self._batchify_fn = batchify_fn
        self._batch_sampler = batch_sampler
        self._iter = iter(batch_sampler)
        self._dataset = dataset
        self._data_loader = data_loader
        self._pin_memory = pin_memory
        self._pin_device_id = pin_device_id
        self._timeout = timeout
        self._data_buffer = {}
        self._sent_idx = self._rcvd_idx = 0
        for _ in range(prefetch):
            self._push_next()

    def __len__(self):
        return len(self._batch_sampler)

    def __iter__(self):
        return self

    def __next__(self):
        self._push_next()
        if self._rcvd_idx == self._sent_idx:
            raise StopIteration
        batch = self._receive(self._data_buffer.pop(self._rcvd_idx))
        self._rcvd_idx += 1
        return as_in_context(batch, cpu_pinned(self._pin_device_id)) if self._pin_memory else batch

    def next(self):
        """The next batch."""
        return next(self)

    def _push_next(self):
        rows = next(self._iter, None)
        if rows is not None:
            order = (rows, self._batchify_fn, self._dataset)
            self._data_buffer[self._sent_idx] = self._worker_pool.apply_async(self._worker_fn, order)
            self._sent_idx += 1

    def _receive(self, pending):
        try:
            made = pending.get(self._timeout)
            return made if self._dataset is not None else pickle.loads(made)
        except multiprocessing.TimeoutError as error:
            raise multiprocessing.TimeoutError(
                f"No batch came from the workers within {self._timeout} seconds. If reading one may take "
                "longer, give a larger timeout."
            ) from error
        except StopIteration as error:
            self._worker_pool.terminate()
            refuse_to_end(error)
        except Exception:
            self._worker_pool.terminate()
            raise
