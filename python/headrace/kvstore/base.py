"""The kinds of key-value stores: which there are, what they can do, and how one is made."""

import inspect

from .. import _core, distributed
from ..base import ArrayTypeError, ArrayValueError
from .abstract import KVStoreBase, TestStore
from .kvstore import KVStore
from .remote import RemoteKVStore
from .server import serve_if_asked
from .sharing import SharingKVStore

__all__ = ["KVStoreBase", "TestStore", "create", "is_capable", "kinds"]


def kinds():
    """{name: meaning} of all stores that `create` makes.

    Examples
    --------
    >>> kinds = mx.kvstore.kinds()
    >>> "local" in kinds, "dist_sync" in kinds
    (True, True)
    """
    registered = {
        name: (klass.__doc__ or "").strip().split("\n")[0] for name, klass in KVStoreBase.kv_registry.items()
    }
    return {**_core.kvstore.kinds(), **registered}


def create(name="local", strategy=None, topology=None, staleness=None):
    """A new store.

    Parameters
    ----------
    name : str, in any case
        'local': sums in host memory. 'device' and 'nccl': sums between the devices of the arrays, by NCCL
        where it connects them, else by a communication plan. Or the name of a registered class.
        'local_allreduce_cpu' and 'local_allreduce_device' are MXNet's names of the first two. 'dist_sync',
        'dist_async', and any other name with 'dist' in it: of all workers of a job, on servers; a server or
        scheduler that makes one serves, and ends when the job is over. 'mpi', and 'dist_sync' where mpirun or
        srun has started the process: sums between processes without servers; 'mpi_sharded': the same, where
        each updates its share of large arrays.
    strategy : str, optional
        For device stores: how they sum, one of `headrace.plan.strategies()`; used between CPU contexts, too,
        and in the place of NCCL. Without it the planner takes the fastest, and arrays in host memory are
        summed there in one pass.
    topology : str, optional
        For device stores: what connects the devices, a preset or a file of `headrace.plan`. Without it: what
        HEADRACE_TOPOLOGY says, or one switch.
    staleness : int, optional
        For 'dist_async' and its like: how many pushes of a key a worker may be ahead of the others; it waits
        for them when it pulls. 0 is a synchronous store. Without it a worker never waits for others.

    Raises
    ------
    MXNetError
        Always; by nature it is one of these, too:
    TypeError
        `name` is no str.
    ValueError
        An unknown name, options that the store does not have, an unknown strategy, a malformed topology; a
        distributed kind in a process that nobody started as a worker of a job.
    OSError
        The topology file cannot be read; MPI is missing in a process that mpirun or srun has started.

    Examples
    --------
    >>> store = mx.kvstore.create("local")
    >>> store.type, store.rank, store.num_workers
    ('local', 0, 1)
    """
    if not isinstance(name, str):
        raise ArrayTypeError(f"kvstore create: name must be a string, got {type(name).__name__}")
    klass = KVStoreBase.kv_registry.get(name.lower())
    if klass is not None:
        if strategy is not None or topology is not None or staleness is not None:
            raise ArrayValueError(
                f"kvstore create: strategy, topology and staleness are no options of the store '{name}'"
            )
        return klass()
    if _ask_library(name, lambda: _core.kvstore.is_capable(name, KVStoreBase.DISTRIBUTED)):
        serve_if_asked()
        if _core.kvstore.sums_without_servers(name):
            distributed.init()
    if staleness is not None and (not isinstance(staleness, int) or staleness < 0):
        raise ArrayValueError(f"kvstore create: staleness is a number from 0 on, got {staleness!r}")
    options = strategy or "", topology or "", -1 if staleness is None else staleness
    store = _ask_library(name, lambda: _core.kvstore.create(name, *options))
    return _class_of(store)(store)


def _class_of(store):
    if store.has_servers:
        return RemoteKVStore
    return SharingKVStore if store.shares_updates else KVStore


def is_capable(store, capability):
    """Whether `store`, or every store of the kind of that name, has a capability.

    `capability` is one of `KVStoreBase.CAPABILITIES`. A store written for MXNet, which knows 'optimizer'
    alone, has none of the others. A registered class whose `is_capable` is no static method is asked through
    an object that is made for it. ValueError: there is no such kind or capability.

    Examples
    --------
    >>> mx.kvstore.is_capable("local", "optimizer"), mx.kvstore.is_capable("local", "distributed")
    (True, False)
    """
    if isinstance(store, str):
        klass = KVStoreBase.kv_registry.get(store.lower())
        if klass is None:
            return _ask_library(store, lambda: _core.kvstore.is_capable(store, capability))
        is_static = not inspect.isfunction(inspect.getattr_static(klass, "is_capable"))
        store = klass if is_static else klass()
    try:
        return bool(store.is_capable(capability))
    except ValueError:
        if capability.lower() in KVStoreBase.CAPABILITIES:
            return False
        raise


def _ask_library(name, ask):
    """`ask()`; when the library has no kind of that name, the error lists the registered classes as well."""
    try:
        return ask()
    except ValueError as error:
        if "there is no kind" not in str(error):
            raise
        registered = ", ".join(sorted(KVStoreBase.kv_registry))
        raise ArrayValueError(f"{error}; registered in Python are {registered}") from None
