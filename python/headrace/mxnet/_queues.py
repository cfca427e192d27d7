"""Queues and connections that carry arrays between processes, as programs of MXNet make them.

Headrace's own workers send batches in another way (`headrace/_shared_memory.py`).
"""

import multiprocessing
import multiprocessing.queues
import pickle
from multiprocessing.reduction import ForkingPickler

__all__ = ["ConnectionWrapper", "Queue", "SimpleQueue"]


class ConnectionWrapper:
    """A connection of `multiprocessing` that sends any object, arrays as their bytes. What it lacks is the
    connection's own.
    """

    def __init__(self, conn):
        self._conn = conn

    def send(self, obj):
        self._conn.send_bytes(ForkingPickler.dumps(obj, pickle.HIGHEST_PROTOCOL))

    def recv(self):
        return pickle.loads(self._conn.recv_bytes())

    def __getattr__(self, name):
        return (
            getattr(self.__dict__["_conn"], name)
            if "_conn" in self.__dict__
            else object.__getattribute__(self, name)
        )


class Queue(multiprocessing.queues.Queue):
    """A `multiprocessing.Queue` that can be derived from."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, ctx=multiprocessing.get_context(), **kwargs)


class SimpleQueue(multiprocessing.queues.SimpleQueue):
    """A `multiprocessing.SimpleQueue` that can be derived from."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, ctx=multiprocessing.get_context(), **kwargs)
