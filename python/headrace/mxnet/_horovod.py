"""`import horovod.mxnet as hvd` in programs written for MXNet: Horovod's calls on `headrace.distributed`.

Processes are started by mpirun, or by `python -m headrace.launch --mpi`. What belongs to Horovod's own engine
(process sets, its timeline) is not here.
"""

import numpy

from .. import distributed
from .. import optimizer as _optimizer
from ..base import ArrayTypeError, ArrayValueError
from ..distributed import local_rank, local_size, rank, size
from ..gluon import Trainer
from ..gluon.parameter import Parameter, ParameterDict

__all__ = [
    "Average",
    "Compression",
    "DistributedOptimizer",
    "DistributedTrainer",
    "Max",
    "Min",
    "Sum",
    "allgather",
    "allgather_object",
    "allreduce",
    "allreduce_",
    "broadcast",
    "broadcast_",
    "broadcast_object",
    "broadcast_parameters",
    "ccl_built",
    "cross_rank",
    "cross_size",
    "cuda_built",
    "ddl_built",
    "gloo_built",
    "gloo_enabled",
    "grouped_allreduce",
    "grouped_allreduce_",
    "init",
    "is_initialized",
    "local_rank",
    "local_size",
    "mpi_built",
    "mpi_enabled",
    "mpi_threads_supported",
    "nccl_built",
    "rank",
    "rocm_built",
    "shutdown",
    "size",
]

Average, Sum, Min, Max = "mean", "sum", "min", "max"  # what `op` of allreduce may be

is_initialized = distributed.is_initialized
shutdown = distributed.shutdown


def init(comm=None):
    """Joins the other ranks. ValueError: `comm` names some of them; all of them take part here."""
    if comm is not None and comm != list(range(distributed.size())):
        raise ArrayValueError(f"horovod init: expected all ranks of the job, got {comm!r}")
    distributed.init()


def cross_rank():
    """Number of this process's machine, where machines have as many processes each."""
    return rank() // local_size()


def cross_size():
    """How many machines the job has."""
    return -(-size() // local_size())


def mpi_threads_supported():
    """False: one thread of each process uses MPI."""
    return False


def mpi_built(verbose=False):
    return True


mpi_enabled = mpi_built


def gloo_built(verbose=False):
    """False: of Horovod's libraries MPI alone is here."""
    return False


gloo_enabled = nccl_built = ccl_built = cuda_built = ddl_built = rocm_built = gloo_built


class _NoCompression:
    """Gradients are sent as they are."""

    @staticmethod
    def compress(tensor):
        """(what is sent, what `decompress` needs to know)."""
        return tensor, None

    @staticmethod
    def decompress(tensor, ctx):
        return tensor


class _HalfPrecision:
    """Floats are sent as float16."""

    @staticmethod
    def compress(tensor):
        """(what is sent, the dtype that it had)."""
        is_float = tensor._dtype_name.startswith(("float", "bfloat"))
        return (tensor.astype("float16") if is_float else tensor), tensor._dtype_name

    @staticmethod
    def decompress(tensor, ctx):
        return tensor.astype(ctx, copy=False)


class Compression:
    """What trainers may do with gradients that are sent: `none`, or `fp16`."""

    none = _NoCompression
    fp16 = _HalfPrecision


def _operation(average, op):
    """The reduction that either of the two names. ValueError: both do, or it is none."""
    if average is not None and op is not None:
        raise ArrayValueError("allreduce: the op parameter supersedes average; give one of them")
    if op is None:
        return Average if average or average is None else Sum
    if op not in (Average, Sum, Min, Max):
        raise ArrayValueError(f"allreduce: op must be Average, Sum, Min or Max, got {op!r}")
    return op


def _times(array, factor):
    """In the array's dtype; of integers what the product is without its fraction, as Horovod has it."""
    if factor == 1.0:
        return array
    if numpy.issubdtype(array.dtype, numpy.integer):
        return (array.astype("float64") * factor).astype(array.dtype)
    return array * factor


def allreduce(
    tensor, average=None, name=None, priority=0, prescale_factor=1.0, postscale_factor=1.0, op=None
):
    """The mean of `tensor` over all ranks, or what `op` says: Average, Sum, Min or Max. `prescale_factor`
    multiplies what goes out, `postscale_factor` what comes; integers lose fractions. `priority` counts for
    nothing: what is ready first goes first.
    """
    op = _operation(average, op)
    given = _times(tensor, prescale_factor)
    result = distributed.all_reduce(given, "sum" if op == Average else op, name=name or "")
    return _times(result, postscale_factor / size() if op == Average else postscale_factor)


def allreduce_(
    tensor, average=None, name=None, priority=0, prescale_factor=1.0, postscale_factor=1.0, op=None
):
    """`allreduce`, written into `tensor`, which is returned."""
    tensor[:] = allreduce(tensor, average, name, priority, prescale_factor, postscale_factor, op)
    return tensor


def grouped_allreduce(
    tensors, average=None, name=None, priority=0, prescale_factor=1.0, postscale_factor=1.0, op=None
):
    """`allreduce` of each of several arrays."""
    names = [name and f"{name}.{place}" for place in range(len(tensors))]
    return [
        allreduce(tensor, average, one, priority, prescale_factor, postscale_factor, op)
        for tensor, one in zip(tensors, names)
    ]


def grouped_allreduce_(
    tensors, average=None, name=None, priority=0, prescale_factor=1.0, postscale_factor=1.0, op=None
):
    """`grouped_allreduce`, written into the arrays, which are returned."""
    reduced = grouped_allreduce(tensors, average, name, priority, prescale_factor, postscale_factor, op)
    for tensor, result in zip(tensors, reduced):
        tensor[:] = result
    return tensors


def allgather(tensor, name=None, priority=0):
    """The arrays of all ranks one after the other along the first axis, in which alone they may differ."""
    return distributed.all_gather(tensor, name=name or "")


def broadcast(tensor, root_rank, name=None, priority=0):
    """A copy of what rank `root_rank` has."""
    return distributed.broadcast(tensor, root_rank, name=name or "")


def broadcast_(tensor, root_rank, name=None, priority=0):
    """`broadcast`, written into `tensor`, which is returned."""
    tensor[:] = broadcast(tensor, root_rank, name, priority)
    return tensor


def broadcast_object(obj, root_rank=0, name=None):
    """What rank `root_rank` gives, any object that can be pickled."""
    return distributed.broadcast_object(obj, root_rank)


def allgather_object(obj, name=None):
    """A list of what all ranks give, objects that can be pickled."""
    return distributed.all_gather_object(obj)


def broadcast_parameters(params, root_rank=0, prefix=None):
    """Gives all ranks the parameters of rank `root_rank`: a ParameterDict, or a dict of arrays or Parameters.

    Parameters whose shape is not known yet are sent when they get their values, which they do in one order on
    all ranks. ValueError: something else.
    """
    if not isinstance(params, (dict, ParameterDict)):
        raise ArrayValueError(f"broadcast_parameters: invalid params of type {type(params).__name__}")
    for _, param in sorted(params.items()):
        if not isinstance(param, Parameter):
            broadcast_(param, root_rank)
        elif param._deferred_init:
            _send_when_initialized(param, root_rank)
        elif param._data is not None:
            _send(param, root_rank)


def _send(param, root_rank):
    sent = broadcast(param.list_data()[0], root_rank)
    for replica in param.list_data():
        replica[:] = sent.as_in_context(replica.ctx)


def _send_when_initialized(param, root_rank):
    initialize = param._init_impl

    def initialize_and_send(*arguments):
        initialize(*arguments)
        _send(param, root_rank)

    param._init_impl = initialize_and_send


class DistributedOptimizer(_optimizer.Optimizer):
    """`optimizer` with gradients that are the means over all ranks.

    `gradient_predivide_factor` f: gradients are divided by f before they are summed, and by size / f after
    it. `num_groups` counts for nothing: small arrays are sent together.
    """

    def __init__(self, optimizer, gradient_predivide_factor=1.0, num_groups=0):
        if not isinstance(optimizer, _optimizer.Optimizer):
            raise ArrayTypeError(
                f"DistributedOptimizer: expected an Optimizer, got {type(optimizer).__name__}"
            )
        vars(self).update(_optimizer=optimizer, _prescale=1.0 / gradient_predivide_factor)
        optimizer.rescale_grad *= gradient_predivide_factor / size()

    def __getattr__(self, item):
        if item == "_optimizer":  # of a copy that has nothing yet
            raise AttributeError(item)
        return getattr(self._optimizer, item)

    def __setattr__(self, item, value):  # what a Trainer sets, for example
        setattr(self._optimizer, item, value)

    def create_state_multi_precision(self, index, weight):
        return self._optimizer.create_state_multi_precision(index, weight)

    def update(self, index, weight, grad, state):
        self._reduce(index, grad)
        self._optimizer.update(index, weight, grad, state)

    def update_multi_precision(self, index, weight, grad, state):
        self._reduce(index, grad)
        self._optimizer.update_multi_precision(index, weight, grad, state)

    def set_learning_rate(self, lr):
        self._optimizer.set_learning_rate(lr)

    def set_lr_mult(self, args_lr_mult):
        self._optimizer.set_lr_mult(args_lr_mult)

    def set_wd_mult(self, args_wd_mult):
        self._optimizer.set_wd_mult(args_wd_mult)

    def _reduce(self, index, grad):
        if size() == 1:
            return
        pairs = zip(index, grad) if isinstance(index, (list, tuple)) else [(index, grad)]
        for one, array in pairs:
            allreduce_(array, name=f"gradient {one}", prescale_factor=self._prescale, op=Sum)


class DistributedTrainer(Trainer):
    """A Trainer whose steps take the means of the gradients over all ranks; there is no store.

    `compression` is one of Compression; `gradient_predivide_factor` and `num_groups` as of
    DistributedOptimizer; `prefix` tells the gradients of several trainers apart.
    """

    def __init__(self, params, optimizer, optimizer_params=None, compression=Compression.none,
                 gradient_predivide_factor=1.0, prefix=None, num_groups=0):  # fmt: skip
        if isinstance(optimizer, DistributedOptimizer):
            optimizer = optimizer._optimizer
            optimizer.rescale_grad *= size()
        super().__init__(params, optimizer, optimizer_params, kvstore=None)
        self._scale *= gradient_predivide_factor / size()
        self._prescale = 1.0 / gradient_predivide_factor
        self._compression = compression
        self._prefix = prefix or ""

    def _join(self, take_part):
        distributed.join(take_part)

    def _allreduce_grads(self):
        if size() == 1:
            return
        indices = self._lists[0][0]
        for place, index in enumerate(indices):
            grads = [lists[1][place] for lists in self._lists]
            name = f"{self._prefix}gradient {index}"
            sent, before = self._compression.compress(_sum(grads))
            total = allreduce(sent, name=name, prescale_factor=self._prescale, op=Sum)
            total = self._compression.decompress(total, before)
            for grad in grads:
                grad[:] = total.as_in_context(grad.ctx)


def _sum(grads):
    total = grads[0]
    for other in grads[1:]:
        total = total + other.as_in_context(total.ctx)
    return total
