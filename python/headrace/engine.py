"""Control over the engine: waiting for everything, grouping, counters."""

from contextlib import contextmanager

from . import _core

__all__ = ["waitall", "bulk", "set_bulk_size", "memory_stats", "worker_count"]

waitall = _core.wait_all
memory_stats = _core.memory_stats
worker_count = _core.worker_count

_bulk_size = 15


def set_bulk_size(size):
    """Accepted for MXNet programs; the engine chooses how many operations to hand over at once by itself.

    Returns the previous value.

    Examples
    --------
    >>> previous = mx.engine.set_bulk_size(10)
    >>> mx.engine.set_bulk_size(previous)
    10
    """
    global _bulk_size
    previous, _bulk_size = _bulk_size, size
    return previous


@contextmanager
def bulk(size):
    """A `with` block with another bulk size; see `set_bulk_size`.

    Examples
    --------
    >>> with mx.engine.bulk(10):
    ...     x = nd.ones((2,)) * 2 + 1
    >>> x
    [3. 3.]
    <NDArray 2 @cpu(0)>
    """
    previous = set_bulk_size(size)
    try:
        yield
    finally:
        set_bulk_size(previous)
