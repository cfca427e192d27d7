"""Threads that make batches; the same interface as `ProcessPool`."""

import multiprocessing
import os
import queue
import threading
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout

from ..._semantics import is_np_array, reset_np, set_np


class ThreadPool:
    """`num_workers` threads that call `fetch(rows)`. The end of the program does not wait for them."""

    def __init__(self, num_workers, fetch):
        self._owner = os.getpid()
        self._num_workers = num_workers
        self._orders = queue.SimpleQueue()  # (request, rows, whether in np mode), or None for a thread to end
        for number in range(num_workers):
            threading.Thread(
                target=_work,
                args=(self._orders, fetch),
                name=f"DataLoader worker thread {number}",
                daemon=True,
            ).start()

    def usable(self):
        return self._owner == os.getpid()

    def submit(self, rows):
        request = Future()
        self._orders.put((request, rows, is_np_array()))
        return request

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
        for _ in range(self._num_workers):
            self._orders.put(None)


def _work(orders, fetch):
    while (order := orders.get()) is not None:
        _serve(fetch, *order)
        del order


def _serve(fetch, request, rows, np_mode):
    if not request.set_running_or_notify_cancel():
        return
    try:
        if is_np_array() != np_mode:  # the mode belongs to each thread
            (set_np if np_mode else reset_np)()
        request.set_result(fetch(rows))
    except BaseException as error:
        request.set_exception(error)
        del request  # which the traceback of the error would keep
