"""Devices. MXNet programs call them contexts."""

import re
import threading

from . import _core
from .base import MXNetError, _InnermostScope

__all__ = [
    "Context",
    "cpu",
    "gpu",
    "cpu_pinned",
    "cpu_shared",
    "current_context",
    "num_gpus",
    "gpu_memory_info",
]


class _ContextType(type):
    """The class of Context, for `Context.default_ctx`."""

    @property
    def default_ctx(cls):
        """The device of this thread, as `current_context()`; assigning sets it."""
        return current_context()

    @default_ctx.setter
    def default_ctx(cls, context):
        _set_current(context)

    @property
    def _default_ctx(cls):
        return _InnermostScope(cls, "default_ctx")


class Context(metaclass=_ContextType):
    """A place with memory and queues of work: ``Context('cpu', 0)``, ``Context('gpu', 1)``.

    Equal when type and id are equal; usable as a ``with`` block, inside which creation functions of this
    thread put their arrays there.

    Raises
    ------
    ValueError
        For an unknown device type.

    Examples
    --------
    >>> with mx.Context("cpu", 1):
    ...     x = nd.ones((2,))
    >>> x.context
    cpu(1)
    """

    devtype2str = {1: "cpu", 2: "gpu", 3: "cpu_pinned", 5: "cpu_shared"}
    devstr2type = {name: number for number, name in devtype2str.items()}
    _current = threading.local()

    __slots__ = ("device_typeid", "device_id")

    def __init__(self, device_type, device_id=0):
        if isinstance(device_type, Context):
            self.device_typeid, self.device_id = device_type.device_typeid, device_type.device_id
        else:
            if device_type not in self.devstr2type:
                raise ValueError(
                    f"unknown device type {device_type!r}; known are {', '.join(self.devstr2type)}"
                )
            self.device_typeid = self.devstr2type[device_type]
            self.device_id = int(device_id)

    @property
    def device_type(self):
        """'cpu', 'gpu', 'cpu_pinned' or 'cpu_shared'."""
        return self.devtype2str[self.device_typeid]

    def __hash__(self):
        return hash((self.device_typeid, self.device_id))

    def __eq__(self, other):
        return (
            isinstance(other, Context)
            and self.device_typeid == other.device_typeid
            and self.device_id == other.device_id
        )

    def __str__(self):
        return f"{self.device_type}({self.device_id})"

    __repr__ = __str__

    def __reduce__(self):  # names a function: the class may say that it is MXNet's, which is not everywhere
        return named_context, (str(self),)

    def __setstate__(self, state):  # of MXNet's pickles
        self.device_typeid, self.device_id = state["device_typeid"], state["device_id"]

    def __enter__(self):
        _outer_contexts().append(current_context())
        _set_current(self)
        return self

    def __exit__(self, *_):
        _set_current(_outer_contexts().pop())

    def empty_cache(self):
        """Gives memory that is kept for reuse on this device back to the system."""
        _core.trim_memory(self.device_typeid, self.device_id)


def _outer_contexts():
    """The contexts that this thread goes back to at the ends of its blocks, for threads share a Context."""
    return Context._current.__dict__.setdefault("outer", [])


def _set_current(context):
    Context._current.value = context
    _core.set_device(context.device_typeid, context.device_id)


def cpu(device_id=0):
    """A Context: the host's memory and cores. All ids are the same memory.

    Examples
    --------
    >>> nd.ones((2,), ctx=mx.cpu()).context
    cpu(0)
    """
    return Context("cpu", device_id)


def cpu_pinned(device_id=0):
    """Host memory from which a GPU copies fastest; plain host memory where there is no GPU.

    Examples
    --------
    >>> nd.ones((2,), ctx=mx.cpu_pinned()).context
    cpu_pinned(0)
    """
    return Context("cpu_pinned", device_id)


def cpu_shared(device_id=0):
    """A Context: host memory that several processes see.

    Examples
    --------
    >>> nd.ones((2,), ctx=mx.context.cpu_shared()).context
    cpu_shared(0)
    """
    return Context("cpu_shared", device_id)


def gpu(device_id=0):
    """A Context: the GPU with this number. MXNetError, when an array is made there: there is no such GPU.

    Examples
    --------
    >>> mx.sim.configure(gpus=2)
    >>> nd.ones((2,), ctx=mx.gpu(1)).context
    gpu(1)
    >>> mx.sim.configure(gpus=0)
    """
    return Context("gpu", device_id)


def num_gpus():
    """Number of GPUs that can be used, simulated ones (`headrace.sim`) among them.

    Examples
    --------
    >>> mx.sim.configure(gpus=2)
    >>> mx.context.num_gpus()
    2
    >>> mx.sim.configure(gpus=0)
    """
    return _core.device_count(2)


def gpu_memory_info(device_id=0):
    """(free, total) bytes of a GPU. What this process keeps for reuse is not free on a real one.

    Raises
    ------
    MXNetError
        When there is no such GPU.

    Examples
    --------
    >>> mx.sim.configure(gpus=1, memory="4GB")
    >>> free, total = mx.context.gpu_memory_info(0)
    >>> free <= total, total
    (True, 4000000000)
    >>> mx.sim.configure(gpus=0, memory=0)
    """
    if not 0 <= device_id < num_gpus():
        raise MXNetError(f"gpu_memory_info: there is no gpu({device_id}); {num_gpus()} GPUs can be used")
    return _core.memory_info(device_id)


def current_context():
    """The device of this thread: that of the innermost ``with context`` block, cpu(0) outside of all.

    Examples
    --------
    >>> with mx.cpu(1):
    ...     print(mx.current_context(), nd.ones((2,)).context)
    cpu(1) cpu(1)
    >>> mx.current_context()
    cpu(0)
    """
    current = getattr(Context._current, "value", None)
    return current if current is not None else _CPU0


_CPU0 = Context("cpu", 0)
_known = {(1, 0): _CPU0}


def context_of(type_and_id):
    """The Context of a (type number, id) pair."""
    found = _known.get(type_and_id)
    if found is None:
        found = _known[type_and_id] = Context(Context.devtype2str[type_and_id[0]], type_and_id[1])
    return found


def named_context(name):
    """The Context that a text names: "gpu", "gpu(1)" or, as PyTorch writes it, "cuda:1". ValueError: none."""
    found = re.fullmatch(r"(\w+?)(?:\((\d+)\)|:(\d+))?", name) if isinstance(name, str) else None
    if found is None:
        raise ValueError(f'expected a Context or a name like "cpu" or "gpu(1)", got {name!r}')
    kind, *numbers = found.groups()
    return Context("gpu" if kind == "cuda" else kind, int(numbers[0] or numbers[1] or 0))
