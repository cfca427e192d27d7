"""Exchanges between the workers of a job, `python -m headrace.launch -n 4 -s 2 ...`, or the processes that
mpirun or srun has started, `python -m headrace.launch --mpi -n 4 ...`: the ranks.

>>> from headrace import distributed, nd
>>> total = distributed.all_reduce(nd.ones((2,)))  # over all ranks; here there is one
>>> total.asnumpy().tolist(), distributed.rank(), distributed.size()
([1.0, 1.0], 0, 1)

The first call of any of these functions joins the other ranks and waits for them; the end of the process
leaves them. A process that nobody has started so is rank 0 of 1. What the workers of a job with servers give
each other passes the servers; these are the same functions with the same results.

Calls are collective: every rank makes all of them, in one order. Those that are given a `name` may be made in
any order, if those of one name are made in one. What ranks have to agree in (the call, shape, dtype,
reduction) and do not, or a rank that has ended, is an MXNetError on all ranks, now or where a result is read,
and so are all calls after it.

Exchanges of arrays return at once and overlap with computing. The result lies in new memory, in the context
of the array and of its class; no gradient flows through. Where the values of one rank could not be computed,
all ranks have that error.
"""

import pickle
import sys

from . import _core
from .base import ArrayTypeError
from .ndarray import NDArray

__all__ = [
    "all_gather",
    "all_gather_object",
    "all_reduce",
    "barrier",
    "broadcast",
    "broadcast_object",
    "init",
    "is_initialized",
    "join",
    "local_rank",
    "local_size",
    "rank",
    "reduce_scatter",
    "shutdown",
    "size",
]

_library = _core.distributed


def init():
    """Joins the other ranks.

    OSError: a launcher of MPI has started the process, but MPI is missing here. MXNetError: workers come and
    go in this job, which is elastic and has an asynchronous store; or it has no servers.

    Examples
    --------
    >>> mx.distributed.init()
    >>> mx.distributed.rank(), mx.distributed.size()  # of a program that no launcher has started
    (0, 1)
    """
    if not _library.is_initialized():
        _library.init()
        _tell_of_failures()


def _tell_of_failures():
    """An exception that ends the program makes the calls of other ranks fail, which wait for this one."""
    before = sys.excepthook

    def hook(kind, error, traceback):
        before(kind, error, traceback)
        sys.stderr.flush()
        _library.abandon(f"{kind.__name__}: {error}")

    sys.excepthook = hook


def is_initialized():
    """Whether this process has joined the others; still true after it has left them.

    Examples
    --------
    >>> mx.distributed.init()
    >>> mx.distributed.is_initialized()
    True
    """
    return _library.is_initialized()


def shutdown():
    """Leaves the other ranks, after the last exchange; waits until they leave, too, unless what they exchange
    passes servers.

    Examples
    --------
    >>> mx.distributed.init()
    >>> mx.distributed.shutdown()  # all_reduce and the like are errors from here on
    >>> mx.distributed.is_initialized()
    True
    """
    _library.shutdown()


def rank():
    """Number of this process among all of the job, from 0 to `size()` - 1.

    Examples
    --------
    >>> mx.distributed.rank()  # of a program that no launcher has started
    0
    """
    init()
    return _library.rank()


def size():
    """How many processes the job has.

    Examples
    --------
    >>> mx.distributed.size()  # of a program that no launcher has started
    1
    """
    init()
    return _library.size()


def local_rank():
    """Number of this process among those of its machine.

    Examples
    --------
    >>> mx.cpu(mx.distributed.local_rank())  # where a machine has several GPUs: mx.gpu
    cpu(0)
    """
    init()
    return _library.local_rank()


def local_size():
    """How many processes of the job its machine has.

    Examples
    --------
    >>> mx.distributed.local_size()  # of a program that no launcher has started
    1
    """
    init()
    return _library.local_size()


def barrier():
    """Waits until all ranks have come here.

    Examples
    --------
    >>> mx.distributed.barrier()  # no process comes from here before all have come
    >>> if mx.distributed.rank() == 0:
    ...     print("all have come")
    all have come
    """
    init()
    _library.barrier()


def join(take_part):
    """For ranks that have no more data while others go on: calls `take_part()`, which makes the calls that
    others make, with zeros, each time that another rank makes one that this one has not made. Returns when
    all ranks have come here, after the same calls.

    MXNetError: `take_part` has made no call, or a rank has ended and has not come here.

    Examples
    --------
    >>> for data in [nd.ones((2,))] * (1 + mx.distributed.rank()):  # one rank has more than another
    ...     total = mx.distributed.all_reduce(data)
    >>> mx.distributed.join(lambda: mx.distributed.all_reduce(nd.zeros((2,))))
    """
    init()
    while _library.others_go_on():
        take_part()


def all_reduce(array, reduction="sum", name=""):
    """The arrays of all ranks reduced to one; all have one shape and dtype.

    `reduction` is 'sum', 'mean' (of floats), 'max' or 'min', over the ranks of each machine in their order,
    then over the machines; of arrays of NVIDIA's GPUs NCCL sums, in its order. Floats of 16 bits are summed
    in 32. The bits are the same on all ranks and in every run. ValueError: another reduction. TypeError: no
    dense array.

    Examples
    --------
    >>> mx.distributed.all_reduce(nd.array([1, 2]), "mean")  # of a job of one process
    [1. 2.]
    <NDArray 2 @cpu(0)>
    """
    return _exchange("all_reduce", array, reduction, name)


def reduce_scatter(array, reduction="sum", name=""):
    """The part of `all_reduce(array, reduction)` that belongs to this rank: 1 / `size()` of the entries along
    the first axis. ValueError: they cannot be divided so.

    Examples
    --------
    >>> mx.distributed.reduce_scatter(nd.array([1, 2, 3, 4]))  # of 2 processes each would have 2 numbers
    [1. 2. 3. 4.]
    <NDArray 4 @cpu(0)>
    """
    return _exchange("reduce_scatter", array, reduction, name)


def all_gather(array, name=""):
    """The arrays of all ranks one after the other along the first axis, in which alone they may differ.

    Waits until all ranks have made the call. ValueError: a scalar.

    Examples
    --------
    >>> mx.distributed.all_gather(nd.array([1, 2]))  # of a job of one process
    [1. 2.]
    <NDArray 2 @cpu(0)>
    """
    return _exchange("all_gather", array, name)


def broadcast(array, root=0, name=""):
    """A copy of what rank `root` has; the others give an array of its shape and dtype.

    ValueError: there is no such rank.

    Examples
    --------
    >>> mx.distributed.broadcast(nd.array([1, 2]), root=0)
    [1. 2.]
    <NDArray 2 @cpu(0)>
    """
    return _exchange("broadcast", array, root, name)


def broadcast_object(value=None, root=0):
    """What rank `root` gives, any object that can be pickled, on every rank. Waits.

    Examples
    --------
    >>> settings = {"seed": 7} if mx.distributed.rank() == 0 else None
    >>> mx.distributed.broadcast_object(settings)
    {'seed': 7}
    """
    init()
    own = pickle.dumps(value) if _library.rank() == root else b""
    return pickle.loads(_library.broadcast_bytes(own, root))


def all_gather_object(value):
    """A list of what all ranks give, objects that can be pickled. Waits.

    Examples
    --------
    >>> mx.distributed.all_gather_object({"host": "a", "seen": 12})  # of a job of one process
    [{'host': 'a', 'seen': 12}]
    """
    init()
    return [pickle.loads(one) for one in _library.all_gather_bytes(pickle.dumps(value))]


def _exchange(operation, array, *arguments):
    if not isinstance(array, NDArray):
        raise ArrayTypeError(f"{operation}: expected an array, got {type(array).__name__}")
    init()
    return getattr(_library, operation)(array, *arguments)
