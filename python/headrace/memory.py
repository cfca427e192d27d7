"""How much memory the devices hold, and the largest arrays in it."""

import gc
from typing import NamedTuple

from . import _core
from .context import Context

__all__ = ["memory_report", "MemoryReport", "DeviceMemory", "LiveArray"]

_MIB = 1 << 20


class DeviceMemory(NamedTuple):
    """Bytes of one device: in use, the most that ever was in use, free but kept for the next arrays.

    Examples
    --------
    >>> sorted(mx.memory.DeviceMemory._fields)
    ['device', 'live', 'peak', 'pooled']
    """

    device: Context
    live: int
    peak: int
    pooled: int


class LiveArray(NamedTuple):
    """An array that the program can still reach.

    Examples
    --------
    >>> mx.memory.LiveArray._fields
    ('nbytes', 'shape', 'dtype', 'device')
    """

    nbytes: int
    shape: tuple
    dtype: str
    device: Context


class MemoryReport(NamedTuple):
    """What ``memory_report`` gives; ``print`` shows it as a table.

    Examples
    --------
    >>> x = nd.ones((1000, 1000))
    >>> report = mx.memory_report()
    >>> report.arrays[0].shape
    (1000, 1000)
    """

    devices: list
    arrays: list

    def __str__(self):
        lines = [f"{'device':<16}{'live (MiB)':>14}{'peak (MiB)':>14}{'pooled (MiB)':>14}"]
        lines += [
            f"{str(row.device):<16}" + "".join(f"{part / _MIB:>14.2f}" for part in row[1:])
            for row in self.devices
        ]
        if self.arrays:
            lines += ["", f"{'largest arrays':<16}{'size (MiB)':>14}  shape, dtype"]
            lines += [
                f"{str(row.device):<16}{row.nbytes / _MIB:>14.2f}  {row.shape}, {row.dtype}"
                for row in self.arrays
            ]
        return "\n".join(lines)


def memory_report(arrays=10):
    """Memory by device, and the largest arrays that the program's objects hold.

    Found are arrays in containers, modules, parameters and other objects, not those that only a local
    variable of a running function names; views of one array are listed each, sparse arrays are not. This
    takes milliseconds.

    Parameters
    ----------
    arrays : int
        How many arrays to list at most.

    Returns
    -------
    MemoryReport
        ``devices``, a list of ``DeviceMemory``; ``arrays``, a list of ``LiveArray``, the largest first.

    Examples
    --------
    >>> net = nn.Dense(256, in_units=1024, use_bias=False)
    >>> net.initialize()
    >>> report = mx.memory.memory_report(arrays=1000)
    >>> (256, 1024) in [one.shape for one in report.arrays]
    True
    """
    devices = [
        DeviceMemory(Context(Context.devtype2str[kind], number), *sizes)
        for kind, number, *sizes in _core.memory_report()
    ]
    return MemoryReport(devices, _largest_arrays(arrays))


def _largest_arrays(count):
    found = {}
    for holder in gc.get_objects():
        for held in gc.get_referents(holder):
            if isinstance(held, _core.Array) and held.stype == "default":
                found[id(held)] = held
    rows = [_row(array) for array in found.values()]
    return sorted(rows, key=lambda row: row.nbytes, reverse=True)[: max(count, 0)]


def _row(array):
    nbytes = array.size * array._numpy_dtype.itemsize
    return LiveArray(nbytes, tuple(array.shape), array._dtype_name, array.ctx)
