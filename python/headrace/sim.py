"""Simulated GPUs: any machine has as many as a program asks for.

They have memory of their own, streams that run behind the host, and links between them; their kernels run on
the cores of the host, so results are exact. ``HEADRACE_SIM_GPUS=4 python program.py`` is the same as a call
of `configure` at the top of the program. docs/devices.md tells what is modelled.

>>> import headrace as mx
>>> mx.sim.configure(gpus=2)
>>> x = mx.nd.ones((2, 2), ctx=mx.gpu(1))
"""

import gc
import numbers
import operator

from ._core import sim as _sim
from .base import ArrayTypeError, ArrayValueError
from .context import Context
from .plan import parse_bytes

__all__ = [
    "advance",
    "configure",
    "fail_copy",
    "lose",
    "now",
    "options",
    "repair",
    "report",
    "set_memory",
    "stall",
]

_CLOCKS = ("real", "virtual")
_MOST_COPIES = 2**31 - 1


def _whole(what, value, most):
    try:
        number = operator.index(value)
    except TypeError:
        raise ArrayTypeError(f"sim.{what} must be a whole number, got {value!r}") from None
    if not 0 <= number <= most:
        raise ArrayValueError(f"sim.{what} must be from 0 to {most}, got {number}")
    return number


def _seconds(function, value):
    if not isinstance(value, numbers.Real):
        raise ArrayTypeError(f"sim.{function}: seconds must be a number, got {value!r}")
    return float(value)


def configure(gpus=None, topology=None, clock=None, memory=None):
    """Changes the simulated machine; what is None stays as it is. Waits for all work first.

    Parameters
    ----------
    gpus : how many; 0: as many as the topology has, none without a topology.
    topology : what links them: a preset ("pcie4", "p3", "ethernet:8x10") or a file, see docs/planner.md;
        "" is one PCIe switch for all.
    clock : "real": copies take the time that their links need; "virtual": a discrete-event clock says what
        the modelled machine would take, and nothing waits for it.
    memory : bytes of each GPU, or a text such as "16GB"; 0 is 16 GiB.

    MXNetError that is also a ValueError: impossible numbers, malformed topologies, or fewer GPUs than hold
    arrays; also a TypeError: what is no number; also an OSError: a topology that is neither a preset nor a
    file.

    Examples
    --------
    >>> mx.sim.configure(gpus=2)
    >>> nd.ones((2,), ctx=mx.gpu(1)).context, mx.context.num_gpus()
    (gpu(1), 2)
    >>> mx.sim.configure(gpus=0)
    """
    now = _sim.options()
    clock = now["clock"] if clock is None else clock
    if clock not in _CLOCKS:
        raise ArrayValueError(f"sim.configure: clock must be one of {', '.join(_CLOCKS)}, got {clock!r}")
    if topology is None:
        topology = now["topology"]
        gpus = now["gpus"] if gpus is None else gpus
    elif gpus is None:
        gpus = 0 if topology else now["gpus"]
    memory = now["memory"] if memory is None else parse_bytes(memory, "sim.configure: memory")
    gpus = _whole("configure: gpus", gpus, _sim.MOST_GPUS)
    gc.collect()  # networks are often parts of cycles, and may hold the last arrays of a GPU
    _sim.configure(gpus, str(topology), clock == "virtual", memory)


def options():
    """A dict of what `configure` takes, as it is now: gpus, topology, clock and memory, in bytes.

    Examples
    --------
    >>> mx.sim.configure(gpus=2, memory="4GB")
    >>> mx.sim.options()["gpus"], mx.sim.options()["memory"]
    (2, 4000000000)
    >>> mx.sim.configure(gpus=0, memory=0)
    """
    return _sim.options()


def now():
    """Seconds that the program has taken so far on the modelled machine: up to what it has waited for and has
    asked for since. MXNetError: the clock is the real one.

    Examples
    --------
    >>> mx.sim.configure(gpus=1, clock="virtual")
    >>> start = mx.sim.now()
    >>> nd.ones((1000, 1000), ctx=mx.gpu(0)).wait_to_read()
    >>> 0 < mx.sim.now() - start < 1
    True
    >>> mx.sim.configure(gpus=0, clock="real")
    """
    return _sim.now()


def advance(seconds):
    """The program itself works for so many seconds of virtual time: reads files, prepares data.

    TypeError: no number. MXNetError: the clock is the real one.

    Examples
    --------
    >>> mx.sim.configure(gpus=1, clock="virtual")
    >>> start = mx.sim.now()
    >>> mx.sim.advance(0.5)
    >>> round(mx.sim.now() - start, 3)
    0.5
    >>> mx.sim.configure(gpus=0, clock="real")
    """
    _sim.advance(_seconds("advance", seconds))


def report():
    """What ran how long, on which streams and links, what overlapped, and the critical path: a text.
    MXNetError: the clock is the real one.

    Examples
    --------
    >>> mx.sim.configure(gpus=1, clock="virtual")
    >>> nd.ones((1000, 1000), ctx=mx.gpu(0)).wait_to_read()
    >>> "gpu(0)" in mx.sim.report()
    True
    >>> mx.sim.configure(gpus=0, clock="real")
    """
    return _sim.report()


def _number(function, gpu):
    if isinstance(gpu, Context):
        if gpu.device_type != "gpu":
            raise ArrayValueError(f"sim.{function}: {gpu} is no simulated GPU")
        gpu = gpu.device_id
    return _whole(f"{function}: gpu", gpu, _sim.MOST_GPUS - 1)


def fail_copy(gpu, after=0):
    """The copy after the next `after` ones to or from `gpu`, a Context or a number, fails: reading what it
    would have written raises MXNetError.

    Examples
    --------
    >>> mx.sim.configure(gpus=1)
    >>> mx.sim.fail_copy(mx.gpu(0))
    >>> nd.array([1, 2]).as_in_context(mx.gpu(0)).asnumpy()
    Traceback (most recent call last):
        ...
    headrace.base.MXNetError: copy of 8 bytes from cpu(0) to gpu(0) failed: a fault that was injected
    >>> mx.sim.configure(gpus=0)
    """
    _sim.fail_copy(_number("fail_copy", gpu), _whole("fail_copy: after", after, _MOST_COPIES))


def stall(gpu, seconds):
    """The next operation of `gpu` begins that much later: by the clock that counts, so with the virtual
    one the program does not wait.

    Examples
    --------
    >>> mx.sim.configure(gpus=1, clock="virtual")
    >>> start = mx.sim.now()
    >>> mx.sim.stall(mx.gpu(0), 2)
    >>> nd.ones((2,), ctx=mx.gpu(0)).wait_to_read()
    >>> round(mx.sim.now() - start)
    2
    >>> mx.sim.configure(gpus=0, clock="real")
    """
    _sim.stall(_number("stall", gpu), _seconds("stall", seconds))


def lose(gpu):
    """`gpu` disappears: all that is, or comes, there raises MXNetError; other devices go on.

    Examples
    --------
    >>> mx.sim.configure(gpus=2)
    >>> x = nd.ones((2,), ctx=mx.gpu(0))
    >>> mx.sim.lose(mx.gpu(0))
    >>> x.asnumpy()
    Traceback (most recent call last):
        ...
    headrace.base.MXNetError: gpu(0): the device is lost; ...
    >>> nd.ones((2,), ctx=mx.gpu(1)).asnumpy()  # others go on
    array([1., 1.], dtype=float32)
    >>> del x
    >>> mx.sim.repair()
    >>> mx.sim.configure(gpus=0)
    """
    _sim.lose(_number("lose", gpu))


def set_memory(gpu, memory):
    """`gpu` has this much memory from now on, in bytes or as text ("1GB"); 0 is none at all.

    Examples
    --------
    >>> mx.sim.configure(gpus=1)
    >>> mx.sim.set_memory(mx.gpu(0), "1GB")
    >>> mx.context.gpu_memory_info(0)[1]
    1000000000
    >>> mx.sim.configure(gpus=0)
    """
    _sim.set_memory(_number("set_memory", gpu), parse_bytes(memory, "sim.set_memory: memory"))


def repair():
    """Brings lost GPUs back, without the arrays they held; faults that have not happened are forgotten.

    Waits for all work first. What reads or writes an array that a lost GPU held raises MXNetError from then
    on; make such arrays anew: ``net.initialize(force_reinit=True, ctx=...)``, then ``net.load_parameters``.

    Examples
    --------
    >>> mx.sim.configure(gpus=1)
    >>> mx.sim.lose(mx.gpu(0))
    >>> mx.sim.repair()
    >>> nd.ones((2,), ctx=mx.gpu(0)).asnumpy()
    array([1., 1.], dtype=float32)
    >>> mx.sim.configure(gpus=0)
    """
    _sim.repair()
