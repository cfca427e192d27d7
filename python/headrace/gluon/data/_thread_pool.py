"""Threads that make batches; the same interface as `ProcessPool`."""

import multiprocessing
import os
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeout

from ..._semantics import is_np_array, reset_np, set_np


class ThreadPool:
    """`num_workers` threads that call `fetch(rows)`."""

    def __init__(self, num_workers, fetch):
        self._owner = os.getpid()
        self._fetch = fetch
        self._threads = ThreadPoolExecutor(num_workers, thread_name_prefix="DataLoader worker")

    def usable(self):
        return self._owner == os.getpid()

    def submit(self, rows):
        return self._threads.submit(self._fetch_in_mode, rows, is_np_array())

    def result(self, request, timeout):
        try:
            return request.result(timeout)
        except FutureTimeout:
            if request.done():
                raise
            raise multiprocessing.TimeoutError(
                f"DataLoader: no batch from a worker thread within {timeout} seconds; give a larger timeout"
            ) from None

    def discard(self, request):
        request.cancel()

    def close(self):
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _fetch_in_mode(self, rows, np_mode):
        if is_np_array() != np_mode:  # the mode belongs to each thread
            (set_np if np_mode else reset_np)()
        return self._fetch(rows)
