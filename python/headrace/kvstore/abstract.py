"""What every key-value store offers, and the registry of stores written in Python."""

from .._lists import as_list
from ..base import ArrayTypeError, ArrayValueError
from ..registry import enter

__all__ = ["KVStoreBase", "TestStore"]


class KVStoreBase:
    """Base class of stores; `register` makes a subclass known to `create`.

    `gluon.Trainer` and `module.Module` need `broadcast`, `pushpull`, `is_capable`, `type`, `rank` and
    `num_workers`; of a store that is capable of 'optimizer' `set_optimizer`, `save_optimizer_states` and
    `load_optimizer_states` too, and `replace` for programs that set parameters while they train. Of a store
    that several workers share, the calls that change what is stored are collective: every worker makes the
    same ones, for the same keys, in the same order.

    Examples
    --------
    >>> class Silent(mx.kvstore.KVStoreBase):
    ...     def broadcast(self, key, value, out, priority=0):
    ...         value.copyto(out)
    ...     def pushpull(self, key, value, out=None, priority=0):
    ...         pass
    ...     @staticmethod
    ...     def is_capable(capability):
    ...         return False
    >>> mx.kvstore.is_capable(Silent(), "optimizer")
    False
    """

    # Capabilities, which `is_capable` is asked for.
    OPTIMIZER = "optimizer"  # the store can update what it holds
    COMPRESSION = "compression"  # it can send what is pushed at two bits an element
    ASYNCHRONOUS = "asynchronous"  # a push waits for no other worker: the store must update
    DISTRIBUTED = "distributed"  # several processes share it
    CAPABILITIES = (OPTIMIZER, COMPRESSION, ASYNCHRONOUS, DISTRIBUTED)

    kv_registry: dict = {}

    _updater = None
    follows_optimizer = (
        False  # whether changes of the optimizer that was set reach whoever else updates by it
    )

    @staticmethod
    def register(klass):
        """Class decorator: `create` with the class's name, in any case, then gives an instance of it.

        Warns when another class had the name. TypeError: not a class.
        """
        if not isinstance(klass, type):
            raise ArrayTypeError(f"KVStoreBase.register: expected a class, got {type(klass).__name__}")
        return enter(KVStoreBase.kv_registry, klass, klass.__name__, "kvstore")

    def broadcast(self, key, value, out, priority=0):
        """Stores `value` of rank 0 under `key`, and writes it into `out` everywhere."""
        raise NotImplementedError(self._lacks("broadcast"))

    def pushpull(self, key, value, out=None, priority=0):
        """Writes the sum of the arrays in `value`, of all workers, into `out`; None: into `value`."""
        raise NotImplementedError(self._lacks("pushpull"))

    def set_optimizer(self, optimizer):
        """Makes the store update what it holds by what is pushed."""
        raise NotImplementedError(self._lacks("set_optimizer"))

    def replace(self, key, value):
        """Puts `value` of rank 0 in the place of what is stored under `key`, and updates nothing."""
        raise NotImplementedError(self._lacks("replace"))

    def set_gradient_compression(self, compression_params):
        """Makes what is pushed travel at two bits an element."""
        raise NotImplementedError(self._lacks("set_gradient_compression"))

    @property
    def updater(self):
        """What changes the stored arrays in this process; None: nothing does, or servers do."""
        return self._updater

    def is_capable(self, capability):
        """Whether the store has one of `CAPABILITIES`. ValueError: there is no such capability.

        A subclass that can say it of all its objects has a static method, which is asked before there is a
        store. A store that raises ValueError for a capability does not have it.
        """
        raise NotImplementedError(self._lacks("is_capable"))

    def save_optimizer_states(self, fname, dump_optimizer=False):
        """Writes the optimizer's states to a file, with the optimizer itself when `dump_optimizer`."""
        raise NotImplementedError(self._lacks("save_optimizer_states"))

    def load_optimizer_states(self, fname):
        """Reads what `save_optimizer_states` wrote."""
        raise NotImplementedError(self._lacks("load_optimizer_states"))

    @property
    def type(self):
        """The name of the kind of store."""
        raise NotImplementedError(self._lacks("type"))

    @property
    def rank(self):
        """Number of this worker, from 0 to `num_workers` - 1."""
        raise NotImplementedError(self._lacks("rank"))

    @property
    def num_workers(self):
        """How many workers share the store."""
        raise NotImplementedError(self._lacks("num_workers"))

    def _agree(self, flags):
        """For each of the bools `flags` whether some rank may have True. Waits for other ranks."""
        return flags

    def _agree_in(self, what):
        """States what all ranks do next, a text; waits for nobody. Where they do not, calls that are not over
        and later ones fail with what each has stated. Nothing in stores whose workers follow one of them.
        """

    def _lacks(self, member):
        return f"kvstore {self.__class__.__name__} has no {member}; a subclass of KVStoreBase defines it"


@KVStoreBase.register
class TestStore(KVStoreBase):
    """A store in a few array operations: what a store of one's own looks like. It cannot run optimizers.

    Examples
    --------
    >>> store = mx.kv.create("teststore")
    >>> a, b = nd.array([1]), nd.array([2])
    >>> store.pushpull("weight", [a, b], out=[a, b])
    >>> a, b
    (
    [3.]
    <NDArray 1 @cpu(0)>,
    [3.]
    <NDArray 1 @cpu(0)>)
    """

    __test__ = False  # pytest: this is no test

    def broadcast(self, key, value, out, priority=0):
        for array in as_list(out):
            array[:] = value.as_in_context(array.ctx)

    def pushpull(self, key, value, out=None, priority=0):
        values = as_list(value)
        total = values[0].copy()
        for other in values[1:]:
            total += other.as_in_context(total.ctx)
        for array in as_list(value if out is None else out):
            array[:] = total.as_in_context(array.ctx)

    @staticmethod
    def is_capable(capability):
        if capability.lower() not in KVStoreBase.CAPABILITIES:
            raise ArrayValueError(f"Unknown capability: {capability}")
        return False

    @property
    def type(self):
        return "teststore"

    @property
    def rank(self):
        return 0

    @property
    def num_workers(self):
        return 1
