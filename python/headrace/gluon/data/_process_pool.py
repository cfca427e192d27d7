"""Worker processes that make batches, as seen from the parent.

The pool belongs to the process; several threads may use it. There is no helper thread: orders are sent inside
`submit`, and results received inside `result` by one of the threads that wait for theirs, for all of them;
orders for which there was no room are sent then.
"""

import itertools
import multiprocessing
import os
import pickle
import select
import signal
import threading
import time
import warnings
import zlib
from collections import deque
from multiprocessing import reduction

import numpy

from ..._semantics import is_np_array
from ..._shared_memory import Lease, Segment
from ._worker import Worker

_EXIT_SECONDS = 1
# What a connection takes without its other end being read, with room to spare, and what an order costs there
# beside its own bytes.
_CONNECTION_BYTES = 128 * 1024
_ORDER_BYTES = 1024
_LONGEST_POLL_SECONDS = 1  # another thread may close the pool just before a poll begins


class WorkerTraceback(Exception):
    """The traceback of an error in a worker process; the cause of the error that the parent raises."""

    def __str__(self):
        return "\n" + self.args[0]


class _Member:
    """The parent's side of one worker process."""

    def __init__(self, number, fetch, seed):
        context = multiprocessing.get_context("fork")
        self.number = number
        self.connection, theirs = context.Pipe()
        self.process = context.Process(
            target=_work,
            args=(theirs, self.connection, fetch, seed),
            name=f"DataLoader worker {number}",
            daemon=True,
        )
        with warnings.catch_warnings():
            # Python 3.12 and later warn of threads at a fork; the engine stops its own around one.
            warnings.filterwarnings("ignore", message=".*fork.*", category=DeprecationWarning)
            self.process.start()
        theirs.close()
        self.alive = True
        self.waiting = deque()  # orders that are not sent yet, pickled
        self.sent = deque()  # what orders that it has not answered take of the connection
        self.segments = {}
        self.free = deque()

    def descriptors(self):
        return self.connection.fileno(), self.process.sentinel

    def orders(self):
        return len(self.waiting) + len(self.sent)

    def send(self):
        """Sends the orders that never block: what the connection holds, or one, of any size, to a worker that
        has nothing else to do. A worker that sends a batch reads nothing until that is received here, so both
        would wait for each other. OSError: it has died.
        """
        while self.waiting:
            cost = len(self.waiting[0]) + _ORDER_BYTES
            if self.sent and sum(self.sent) + cost > _CONNECTION_BYTES:
                return
            self.sent.append(cost)
            free = self.free.popleft() if self.free else None
            self.connection.send((self.waiting.popleft(), free))

    def take_in(self, body, number, spans, new_size, stale):
        """The pickled batch of a message and the buffers that belong to it, which keep their segment in use.

        `number` is that of the segment, or None when nothing was put into shared memory.
        """
        if number is None:
            return body, ()
        if new_size is not None:
            descriptor = reduction.recv_handle(self.connection)
            try:
                self.segments[number] = Segment(descriptor, new_size)
            finally:
                os.close(descriptor)
            self.segments.pop(stale, None)
        memory = Lease(self.segments[number], lambda: self.free.append(number)).bytes()
        return body, [memory[offset : offset + size] for offset, size in spans]

    def describe(self):
        return f"{self.process.name} (pid {self.process.pid})"

    def describe_death(self):
        self.process.join(_EXIT_SECONDS)
        code = self.process.exitcode
        if code is None:
            how = "closed its connection"
        elif code < 0:
            how = f"was killed by signal {-code} ({signal.Signals(-code).name})"
        else:
            how = f"exited with code {code}"
        advice = (
            " Signal 9 is what the system sends when memory is short: use fewer workers or smaller batches."
            if code == -signal.SIGKILL
            else " Run with num_workers=0 to see what the dataset does."
        )
        return f"{self.describe()} {how} while batches were wanted.{advice}"


def _work(connection, parents_end, fetch, seed):
    parents_end.close()
    Worker(connection, fetch, seed).run()


class ProcessPool:
    """`num_workers` forked processes that call `fetch(rows)`.

    What `fetch` returns may be any picklable structure; the arrays in it come through shared memory,
    everything else is pickled.
    """

    def __init__(self, num_workers, fetch):
        self._owner = os.getpid()
        self._changed = threading.Condition()  # its lock is held while anything of the pool is used
        self._is_receiving = False  # whether a thread waits for the workers, which it does without the lock
        self._requests = itertools.count()
        self._where = {}  # request -> member that works on it
        self._results = {}  # request -> (kind, content) received but not asked for yet; see `result`
        self._members = []
        self._poll = select.poll()
        self._by_descriptor = {}
        seed = _seed_from_numpy()
        for number in range(num_workers):
            member = _Member(number, fetch, seed)
            self._members.append(member)
            for descriptor in member.descriptors():
                self._by_descriptor[descriptor] = member
                self._poll.register(descriptor, select.POLLIN)

    def usable(self):
        """Whether all workers run and are of this process."""
        return all(member.alive for member in self._members) and self._running()

    def _running(self):
        return bool(self._members) and self._owner == os.getpid()

    def submit(self, rows):
        """Orders the batch of `rows` from the worker with the fewest orders. Gives the request."""
        with self._changed:
            self._check_running()
            request = next(self._requests)
            member = min(self._members, key=lambda m: (not m.alive, m.orders()))
            self._where[request] = member
            member.waiting.append(bytes(reduction.ForkingPickler.dumps((request, rows, is_np_array()))))
            self._send(member)
            return request

    def result(self, request, timeout):
        """The batch of `request`.

        Raises what `fetch` raised, with the worker's traceback as its cause; RuntimeError when the worker
        died that had this order; `multiprocessing.TimeoutError` after `timeout` seconds. The last two end the
        pool.
        """
        with self._changed:
            self._check_running()
            try:
                self._receive_until(request, timeout)
            except BaseException:  # an interrupt may leave half a message unread
                self.close()
                raise
            kind, content = self._results.pop(request)
            del self._where[request]
        if kind == "error":
            _raise_from_worker(*content)
        if kind == "death":
            self.close()
            raise RuntimeError(content)
        body, buffers = content
        return pickle.loads(body, buffers=buffers)

    def discard(self, request):
        """Nobody will ask for the result of `request`."""
        if self._owner != os.getpid():
            return
        with self._changed:
            if self._where.pop(request, None):
                self._results.pop(request, None)

    def close(self):
        """Ends the workers. Batches that were handed out stay valid."""
        if self._owner != os.getpid():
            return
        with self._changed:
            members, self._members = self._members, []
            for member in members:
                member.connection.close()
            deadline = time.monotonic() + _EXIT_SECONDS
            for member in members:
                member.process.join(max(deadline - time.monotonic(), 0))
                if member.process.is_alive():
                    member.process.kill()
                    member.process.join()
            self._changed.notify_all()

    def _receive_until(self, request, timeout):
        deadline = time.monotonic() + timeout
        while request not in self._results:
            left = deadline - time.monotonic()
            ready = self._wait(max(left, 0))
            self._check_running()
            if not ready and left <= 0:
                raise multiprocessing.TimeoutError(
                    f"No batch from {self._where[request].describe()} within {timeout} seconds. "
                    "If reading one may take longer, give a larger timeout; if the dataset waits for "
                    "something, run with num_workers=0 to see what."
                )
            for member in {self._by_descriptor[descriptor] for descriptor, _ in ready}:
                self._receive(member)

    def _wait(self, seconds):
        """Lets other threads use the pool until workers have sent something; the descriptors of these.

        None of them: the time is over, or another thread receives.
        """
        if self._is_receiving:
            self._changed.wait(seconds)
            return ()
        self._is_receiving = True
        self._changed.release()
        try:
            return self._poll.poll(min(seconds, _LONGEST_POLL_SECONDS) * 1000)
        finally:
            self._changed.acquire()
            self._is_receiving = False
            self._changed.notify_all()

    def _receive(self, member):
        """Takes in the next message of `member`."""
        try:
            if not member.connection.poll():
                raise EOFError
            message = member.connection.recv_bytes()
        except (EOFError, OSError):
            self._bury(member)
            return
        request, kind, content, unused_segment = pickle.loads(message)
        if kind == "batch":
            content = member.take_in(*content)
        if unused_segment is not None:
            member.free.append(unused_segment)
        member.sent.popleft()
        if request in self._where:
            self._results[request] = (kind, content)
        self._send(member)

    def _send(self, member):
        try:
            member.send()
        except OSError:
            self._bury(member)

    def _bury(self, member):
        """Turns the outstanding orders of a worker that died into an error that says so.

        It is raised when the first of these batches is asked for, after all batches before it.
        """
        if member.alive:
            member.alive = False
            for descriptor in member.descriptors():
                self._poll.unregister(descriptor)
        message = member.describe_death()
        for request, where in list(self._where.items()):
            if where is member:
                self._results.setdefault(request, ("death", message))

    def _check_running(self):
        if not self._running():
            raise RuntimeError("DataLoader: its worker processes have ended; start a new iteration")


def _raise_from_worker(body, summary, text):
    error = (
        pickle.loads(body) if body is not None else RuntimeError(f"DataLoader: error in a worker: {summary}")
    )
    raise error from WorkerTraceback(text)


def _seed_from_numpy():
    """A number that follows from the state of NumPy's global generator, which is left as it is."""
    return zlib.crc32(pickle.dumps(numpy.random.get_state()))
