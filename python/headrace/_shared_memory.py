"""Segments of anonymous shared memory in which batches travel from a worker process to its parent.

A segment is a memfd: it has no name, so nothing is left behind when a process dies, and no size limit of
/dev/shm applies. The worker makes it and fills it; its file descriptor goes to the parent once; from then on
both keep it mapped and it is used again as soon as the parent holds no array in it any more.
"""

import mmap
import os

import numpy

_ALIGNMENT = 64


def _round_up(size, unit):
    return -(-size // unit) * unit


class Segment:
    """One mapped segment. `numpy_bytes` is its memory as a uint8 array."""

    def __init__(self, descriptor, size):
        self._map = mmap.mmap(descriptor, size)
        self.size = size
        self.numpy_bytes = numpy.frombuffer(self._map, numpy.uint8)

    @staticmethod
    def create(size):
        """A new segment of at least `size` bytes and a file descriptor of it, which the caller closes."""
        size = _round_up(size, mmap.PAGESIZE)
        descriptor = os.memfd_create("headrace-batch", os.MFD_CLOEXEC)
        try:
            os.ftruncate(descriptor, size)
            return Segment(descriptor, size), descriptor
        except BaseException:
            os.close(descriptor)
            raise

    def write(self, buffers):
        """Copies the bytes-like `buffers` one after another; gives where each lies: [(offset, size), ...]."""
        spans = layout(buffers)
        for (offset, size), buffer in zip(spans, buffers):
            self.numpy_bytes[offset : offset + size] = numpy.frombuffer(buffer, numpy.uint8)
        return spans


def layout(buffers):
    """Where `Segment.write` puts each of `buffers`: [(offset, size), ...]."""
    spans, end = [], 0
    for buffer in buffers:
        spans.append((end, buffer.nbytes))
        end = _round_up(end + buffer.nbytes, _ALIGNMENT)
    return spans


class Lease:
    """Keeps a segment from being used again. Arrays made by `bytes()` hold the lease; `release` is called
    when the last of them is gone, in whatever thread that happens."""

    def __init__(self, segment, release):
        self._segment = segment
        self._release = release
        self.__array_interface__ = segment.numpy_bytes.__array_interface__

    def bytes(self):
        """The memory of the segment as a uint8 array whose owner is this lease."""
        return numpy.asarray(self)

    def __del__(self):
        self._release()
