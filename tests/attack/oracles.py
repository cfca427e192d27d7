"""What must hold after any program: no foreign memory, no growth, errors that are Headrace's."""

import ctypes
import sys

from child import CANARY, Finding, check_error

TOO_LARGE = 1 << 36  # bytes of an array that cannot have values
REPEATS = 100
GROWTH = 16  # bytes for each call


def arrays_of(result):
    """The arrays in a result that may be a list, or lists of lists."""
    from headrace.ndarray import NDArray

    if isinstance(result, NDArray):
        yield result
    elif isinstance(result, (list, tuple)):
        for one in result[:100]:
            yield from arrays_of(one)


def bits(one):
    """The bits of an array; None: it is no array, or has an error instead."""
    for array in arrays_of(one):
        try:
            return array.asnumpy().tobytes()
        except Exception as error:
            check_error(error)
    return None


def poison(nd):
    """Fills the memory that the next arrays will get with the canary."""
    kept = [
        nd.full((size,), CANARY[0], dtype="uint8") for size in (1, 64, 65, 200, 500, 2000, 8000, 60000) * 3
    ]
    for one in kept:
        one.wait_to_read()


def check_canary(result):
    for array in arrays_of(result):
        if CANARY in (bits(array) or b""):
            raise Finding("foreign memory", f"{array.shape} of {array.dtype} shows what was there before")


def check_size(arrays, result):
    """A value that was computed from an array which has none is foreign memory as well."""
    for one in arrays_of(list(arrays)):
        if one.size * one._numpy_dtype.itemsize > TOO_LARGE:
            for array in arrays_of(result):
                if 0 < array.size < 100 and bits(array) is not None:
                    raise Finding(
                        "foreign memory", f"values that were computed from an array of shape {one.shape}"
                    )


class _Mallinfo(ctypes.Structure):
    _fields_ = [(f"field{i}", ctypes.c_size_t) for i in range(10)]


_mallinfo = ctypes.CDLL(None).mallinfo2
_mallinfo.restype = _Mallinfo


def _used():
    """Bytes that malloc and Python have given."""
    info = _mallinfo()
    return info.field7 + info.field4 + 64 * sys.getallocatedblocks()  # in use; in mappings of their own


def check_growth(call, names):
    """Repeats of one call need no more memory, whether it succeeds or raises."""
    code = compile(call, "<program>", "exec")

    def repeat(times):
        for _ in range(times):
            try:
                exec(code, names)
                bits(names.pop("result", None))
            except Exception:
                pass
            names["untouchable"].clear()
        drain(names["mx"])
        return _used()

    # A pool may grow a little and by chance; a leak grows each time, however often.
    repeat(REPEATS)
    for times in (REPEATS, 10 * REPEATS, 100 * REPEATS):
        steps = [repeat(times) for _ in range(4)]
        grown = [(after - before) / times for before, after in zip(steps, steps[1:])]
        if min(grown) < GROWTH:
            return
    raise Finding("growth", f"{[round(one) for one in grown]} bytes for each call")


def drain(mx):
    """Raises away the errors of arrays that nobody has read."""
    while True:
        try:
            return mx.waitall()
        except Exception as error:
            check_error(error)
