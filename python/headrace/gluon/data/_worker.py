"""What runs in one worker process of a DataLoader: read batches, put them in shared memory, report them.

A worker owns its end of one connection and its segments. It reads orders until the parent closes the
connection or is gone. Batches are made of NumPy arrays; the engine that the process inherited from its parent
is not touched unless code of the dataset itself calls array operations.
"""

import io
import os
import pickle
import random
import signal
import traceback
import zlib
from multiprocessing import reduction

import numpy

from ... import _generator, _semantics
from ..._arrays import NDArray
from ..._shared_memory import Segment, layout
from ...context import Context, cpu
from ._host import to_array

# Batches with less data than this are sent through the connection itself: one page of shared memory each
# would cost more than it saves, and a process may have only some 65,000 mappings.
_INLINE_BYTES = 32 * 1024
_PARENT_CHECK_SECONDS = 5
_MAX_TRACEBACK = 64 * 1024


class _BatchPickler(pickle.Pickler):
    """Pickles a batch; an NDArray travels as a NumPy array and becomes an NDArray again in the parent."""

    def reducer_override(self, obj):
        if isinstance(obj, NDArray):
            return to_array, (numpy.asarray(obj.asnumpy(), order="C"),)
        return NotImplemented


def _pickle(batch, buffer_callback=None):
    stream = io.BytesIO()
    _BatchPickler(stream, protocol=5, buffer_callback=buffer_callback).dump(batch)
    return stream.getvalue()


class Worker:
    """`fetch(rows)` makes a batch.

    The random generators of Python, of NumPy and of operators start anew for each batch, from `seed` and the
    number of the batch: so random transforms give the same whichever worker a batch falls to.
    """

    def __init__(self, connection, fetch, seed):
        self._connection = connection
        self._fetch = fetch
        self._seed = seed
        self._segments = {}
        self._next_segment = 0

    def run(self):
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides what an interrupt means
        Context.default_ctx = cpu()  # a forked process has no GPUs
        parent = os.getppid()
        try:
            while True:
                while not self._connection.poll(_PARENT_CHECK_SECONDS):
                    if os.getppid() != parent:
                        return
                order, free_segment = self._connection.recv()
                self._serve(*pickle.loads(order), free_segment)
        except (EOFError, ConnectionError):
            return

    def _serve(self, request, rows, np_mode, free_segment):
        """Makes the batch of one order. `free_segment`: the segment that may be overwritten, or None."""
        try:
            if _semantics.is_np_array() != np_mode:
                (_semantics.set_np if np_mode else _semantics.reset_np)()
            seed = zlib.crc32(b"%d %d" % (self._seed, request))
            random.seed(seed)
            numpy.random.seed(seed)
            _generator.seed(seed)
            batch = self._fetch(rows)
            buffers = []
            body = _pickle(batch, lambda buffer: buffers.append(buffer.raw()))
            spans = layout(buffers)
            if not spans or sum(spans[-1]) < _INLINE_BYTES:
                body = _pickle(batch) if buffers else body
                self._report(request, "batch", (body, None, (), None, None), free_segment)
            else:
                self._share(request, body, buffers, sum(spans[-1]), free_segment)
        except Exception as error:
            self._report(request, "error", _pickle_error(error), free_segment)

    def _share(self, request, body, buffers, size, number):
        """Puts `buffers` into segment `number`, or into a new one in its place when it is missing or too
        small.
        """
        segment, descriptor, new_size, stale = self._segments.get(number), None, None, None
        if segment is None or segment.size < size:
            self._segments.pop(number, None)
            segment, descriptor = Segment.create(size)
            new_size, stale, number = segment.size, number, self._next_segment
            self._next_segment += 1
            self._segments[number] = segment
        try:
            spans = segment.write(buffers)
            self._report(request, "batch", (body, number, spans, new_size, stale))
            if descriptor is not None:
                reduction.send_handle(self._connection, descriptor, os.getppid())
        finally:
            if descriptor is not None:
                os.close(descriptor)

    def _report(self, request, kind, content, unused_segment=None):
        self._connection.send_bytes(pickle.dumps((request, kind, content, unused_segment), protocol=5))


def _pickle_error(error):
    """The error, if it survives pickling, else None; its type and message; its traceback."""
    text = traceback.format_exc()
    if len(text) > _MAX_TRACEBACK:
        text = text[: _MAX_TRACEBACK // 2] + "\n  ...\n" + text[-_MAX_TRACEBACK // 2 :]
    try:
        body = pickle.dumps(error)
        if len(body) > _MAX_TRACEBACK or type(pickle.loads(body)) is not type(error):
            body = None
    except Exception:
        body = None
    return body, f"{type(error).__name__}: {error}"[:_MAX_TRACEBACK], text
