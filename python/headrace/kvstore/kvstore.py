"""KVStore: a store of the library, as MXNet's programs know it."""

import operator
import warnings
import weakref

from .. import distributed
from .. import optimizer as _optimizer
from .._file import open_file, write_file
from .._lists import as_list
from ..base import ArrayTypeError, ArrayValueError, MXNetError
from ..ndarray import NDArray
from ..util import is_np_array
from .abstract import KVStoreBase
from .progress import epochs
from .settings import described, difference

__all__ = ["KVStore"]

_COMPRESSIONS = ("2bit",)
_DEFAULT_THRESHOLD = 0.5


_FIRST = 2**31 - 1  # the greatest priority


def keyed(operation, key, arrays):
    """(keys, lists of arrays) of two arguments of the API. AssertionError: they do not match."""
    if not isinstance(key, (list, tuple)):
        key, arrays = [key], [arrays]
    elif not isinstance(arrays, (list, tuple)) or len(key) != len(arrays):
        count = len(arrays) if isinstance(arrays, (list, tuple)) else "one object"
        raise AssertionError(
            f"kvstore {operation}: {len(key)} keys, but {count} for them; give each key an array or a list "
            "of them"
        )
    for one in key:
        if not isinstance(one, (int, str)):
            raise AssertionError(
                f"kvstore {operation}: unexpected type for keys: {type(one).__name__}; keys are int or str"
            )
        if isinstance(one, str) != isinstance(key[0], str):
            raise AssertionError(f"kvstore {operation}: inconsistent types of keys: {key[0]!r} and {one!r}")
    lists = [as_list(value) for value in arrays]
    for one, array in ((one, array) for one, items in zip(key, lists) for array in items):
        if not isinstance(array, NDArray):
            raise ArrayTypeError(
                f"kvstore {operation}: key {one!r}: expected an array, got {type(array).__name__}"
            )
    return list(key), lists


def _given(operation, name, value):
    if value is None:
        raise AssertionError(f"kvstore {operation}: {name} is missing")
    return value


def _priority(operation, priority):
    """An int that the store can compare; the greatest and the least there are stand for what is beyond."""
    try:
        number = operator.index(priority)
    except TypeError:
        raise ArrayTypeError(f"kvstore {operation}: priority must be an int, got {priority!r}") from None
    return max(-_FIRST, min(number, _FIRST))


class KVStore(KVStoreBase):
    """Arrays by key, shared by devices, and by workers where the kind spans processes. Made by `create`.

    What is pushed for a key, one array per device, is summed (`set_reduction` takes other ways). The sum
    takes the place of the stored array, or an updater or optimizer changes the stored array by it. Calls
    return at once; reading a result waits for it. Keys are all int or all str.

    Arrays are dense or row_sparse; the sum of row_sparse ones is row_sparse, and is stored so.

    A method takes one key with an array or a list of arrays, or a list of keys with as many of these.
    An empty list of keys does nothing. Communication runs before other work that could run; of its calls
    those of a higher `priority` go first, then in the order of the calls.

    Arrays of other dtypes are converted: what is pushed to the dtype that its key was inited with (one array
    alone, where nothing updates, takes the place of what is stored as it is), what is pulled to that of
    `out`.

    Every method raises MXNetError for keys that have not been inited and for a str among int keys, ValueError
    for a key without arrays and shapes other than the stored one, TypeError for what is no array, and
    AssertionError for keys and arrays that do not match in number; these name the key. ValueError and
    TypeError are MXNetErrors, too.

    Examples
    --------
    >>> store = mx.kv.create("local")
    >>> store.init("weight", nd.zeros((2,)))
    >>> store.push("weight", [nd.array([1, 2]), nd.array([10, 20])])
    >>> total = nd.zeros((2,))
    >>> store.pull("weight", out=total)
    >>> total
    [11. 22.]
    <NDArray 2 @cpu(0)>
    """

    def __init__(self, store):
        self._store = store
        self._trainers = weakref.WeakSet()  # that were given it

    def init(self, key, value):
        """Stores a copy of `value` of rank 0, one array per key. MXNetError: the key is there already."""
        self._store.init(*keyed("init", key, value))

    def replace(self, key, value):
        """Puts a copy of `value` of rank 0, one array per key, in the place of what is stored, in its dtype.

        Nothing is updated; the states of an optimizer and what compression has left over stay.
        """
        self._store.replace(*keyed("replace", key, value))

    def push(self, key, value, priority=0):
        """Reduces the arrays of each key, in their order, and updates or replaces what is stored.

        Keys are updated by number or, if they are str, in the order in which they were inited.
        """
        self._store.push(*keyed("push", key, value), _priority("push", priority))

    def pull(self, key, out=None, priority=0, ignore_sparse=True):
        """Writes what is stored into the arrays of `out`. Unless `ignore_sparse` is False, row_sparse ones
        among them stay as they are, with a warning: `row_sparse_pull` is for them.
        """
        keys, outs = keyed("pull", key, _given("pull", "out", out))
        if ignore_sparse and any(array.stype != "default" for arrays in outs for array in arrays):
            warnings.warn(
                "non-default weights detected during kvstore pull. They have been ignored. Please make sure "
                "to use kv.row_sparse_pull() or module.prepare() with row_ids.",
                stacklevel=2,
            )
            dense = [[array for array in arrays if array.stype == "default"] for arrays in outs]
            keys = [one for one, arrays in zip(keys, dense) if arrays]
            outs = [arrays for arrays in dense if arrays]
        self._store.pull(keys, outs, _priority("pull", priority))

    def pushpull(self, key, value, out=None, priority=0):
        """`push` of `value`, then `pull` into `out`; None: into the arrays of `value`."""
        keys, values = keyed("pushpull", key, value)
        out_keys, outs = (keys, values) if out is None else keyed("pushpull", key, out)
        self._store.pushpull(keys, values, out_keys, outs, _priority("pushpull", priority))

    def broadcast(self, key, value, out, priority=0):
        """`init` with `value`, then `pull` into `out`: once per key."""
        outs = keyed("broadcast", key, _given("broadcast", "out", out))
        self._store.init(*keyed("broadcast", key, value))
        self._store.pull(*outs, _priority("broadcast", priority))

    def row_sparse_pull(self, key, out=None, priority=0, row_ids=None):
        """Writes the stored rows that `row_ids` names into the row_sparse arrays of `out`, which have no
        others then.

        `row_ids` is an array, in any order, or a list with one for each array of `out`. IndexError, at
        the latest when `out` is read: there is no such row. MXNetError: an array of `out` is dense.
        """
        operation = "row_sparse_pull"
        keys, outs = keyed(operation, key, _given(operation, "out", out))
        _given(operation, "row_ids", row_ids)
        for one, array in ((one, array) for one, arrays in zip(keys, outs) for array in arrays):
            if array.stype != "row_sparse":
                raise MXNetError(
                    f"kvstore {operation}: key {one!r}: expected row_sparse arrays to write into, got a "
                    f"{array.stype} one; pull() writes into dense arrays"
                )
        if isinstance(row_ids, NDArray):
            ids = [[row_ids]] * len(keys)
        elif isinstance(key, (list, tuple)):
            _, ids = keyed(operation, key, row_ids)
        else:
            ids = [as_list(row_ids)]
        self._store.row_sparse_pull(keys, outs, ids, _priority(operation, priority))

    def set_gradient_compression(self, compression_params):
        """Makes what is pushed travel at two bits an element.

        `compression_params` is {'type': '2bit', 'threshold': t}; t is 0.5 when missing. An element counts
        for t when what it has summed up to reaches t, for -t when that reaches -t, for 0 else; the rest is
        added to the next gradient of that place in the list. For float32 and device stores. TypeError: no
        dictionary. ValueError: another type or parameter, a threshold that is not positive, a store that sums
        in host memory.
        """
        if not isinstance(compression_params, dict):
            raise ArrayTypeError(
                "kvstore set_gradient_compression: expected a dictionary, got "
                f"{compression_params!r}; give {{'type': '2bit'}}"
            )
        params = dict(compression_params)
        kind = params.pop("type", None)
        if kind not in _COMPRESSIONS:
            given = "no type" if kind is None else f"Unknown type for gradient compression {kind}"
            raise ArrayValueError(
                f"kvstore set_gradient_compression: {given}; expected 'type': {' or '.join(_COMPRESSIONS)}"
            )
        threshold = params.pop("threshold", _DEFAULT_THRESHOLD)
        try:
            threshold = float(threshold)
        except (TypeError, ValueError):
            raise ArrayValueError(
                f"kvstore set_gradient_compression: threshold is a number above 0, got {threshold!r}"
            ) from None
        if params:
            raise ArrayValueError(
                f"kvstore set_gradient_compression: unknown parameters {', '.join(map(str, params))}; "
                "2bit has threshold"
            )
        self._store.set_gradient_compression(threshold)

    def set_reduction(self, reduction):
        """How the arrays that are pushed for a key become one.

        'sum' (as long as nothing is set), 'mean' (of floats, of all workers), 'max', 'min', or a function of
        two arrays of equal shape that gives a third, element by element: it must be commutative and
        associative, and is given parts of the arrays (np arrays in np mode). ValueError: an unknown name.
        TypeError: neither a name nor callable.
        """
        if isinstance(reduction, str):
            self._store.set_reduction(reduction)
        elif callable(reduction):
            self._store.set_reduction(reduction, is_np_array())
        else:
            raise ArrayTypeError(
                "kvstore set_reduction: expected a name or a function of two arrays, got "
                f"{type(reduction).__name__}"
            )

    def set_optimizer(self, optimizer):
        """Makes pushes update what is stored: `optimizer` with the sum as gradient, where the array lies.

        Where several workers share the store, all of them call it with the same optimizer.

        TypeError: not an Optimizer. MXNetError: the store has an optimizer or updater already, or another
        worker has given another one.
        """
        if not isinstance(optimizer, _optimizer.Optimizer):
            raise ArrayTypeError(
                f"kvstore set_optimizer: expected an Optimizer, got {type(optimizer).__name__}"
            )
        if self._updater is not None:
            raise MXNetError(
                "kvstore set_optimizer: the store already has an optimizer or updater, whose states would be "
                "lost; create a store for the new optimizer, or change the settings of the one it has"
            )
        if self.num_workers > 1:
            self._check_same(optimizer)
        self._set_updater(_optimizer.get_updater(optimizer))

    def _check_same(self, optimizer):
        own = described(optimizer)
        for rank, other in enumerate(distributed.all_gather_object(own)):
            if other != own:
                raise MXNetError(
                    f"kvstore set_optimizer: worker {self.rank} has given {own[0]}, but worker {rank} "
                    f"{difference(own, other)}; give the same on all workers"
                )

    def set_updater(self, updater):
        """Makes pushes call `updater(key, reduced, stored)`, which changes `stored` in place.

        Str keys arrive as bytes, as in MXNet; arrays are nd arrays. None: pushes replace what is stored
        again, and an optimizer is given up with its states. MXNetError: the store has an optimizer.
        """
        if updater is not None and hasattr(self._updater, "get_states"):
            raise MXNetError(
                "kvstore set_updater: the store has an optimizer, whose states would be lost; create a store "
                "for the updater, or give the optimizer up with set_updater(None)"
            )
        self._set_updater(updater)

    def _set_updater(self, updater):
        """MXNet's set_updater: takes the place of whatever the store has."""
        self._updater = updater
        # The updater knows parameters, these their Trainer, and that this store: Python finds such cycles.
        own = weakref.ref(self)

        def update_together(*lists):
            own()._updater(*lists)

        def update_each(*lists):
            for arguments in zip(*lists):
                own()._updater(*arguments)

        if updater is None:
            self._store.set_updater(None)
        elif getattr(updater, "aggregate_updates", False):
            self._store.set_updater(update_together)
        else:
            self._store.set_updater(update_each)

    def is_capable(self, capability):
        """Whether the store has one of `CAPABILITIES`. ValueError: there is no such capability."""
        return self._store.is_capable(capability)

    def save_optimizer_states(self, fname, dump_optimizer=False):
        """Writes the states of the optimizer to a file, with the optimizer itself when `dump_optimizer`.
        AssertionError: no optimizer is set.
        """
        write_file(fname, self._optimizer_updater("save").get_states(dump_optimizer))

    def load_optimizer_states(self, fname):
        """Reads what `save_optimizer_states` wrote, here or in MXNet; an optimizer in the file replaces the
        present one. AssertionError: no optimizer is set. ValueError: a broken file.
        """
        updater = self._optimizer_updater("load")
        with open_file(fname) as file:
            updater.set_states(file.read())

    def _optimizer_updater(self, verb):
        if not hasattr(self._updater, "get_states"):
            raise AssertionError(
                f"kvstore: Cannot {verb} states without an optimizer; call set_optimizer first"
            )
        return self._updater

    @property
    def type(self):
        """The name it was created by, in lower case."""
        return self._store.type

    @property
    def rank(self):
        """Number of this process among those that share the store, from 0."""
        return self._store.rank

    @property
    def num_workers(self):
        """How many processes share the store."""
        return self._store.num_workers

    def epochs(self, batches, count, seed=0):
        """Goes through the data of this worker `count` times: gives (number of the epoch, its batches).

        A job that is started again from a checkpoint goes on with the batch after the last one whose step is
        in it, with the same random numbers as if it had never ended: before each epoch the generators of the
        process (of arrays, NumPy's and Python's) are seeded from `seed` and its number, on all workers alike,
        before each batch also from the number of the batch and the rank. With another number of workers than
        before, all begin with the epoch that was not complete. Trainers that were given this store have the
        weights of the checkpoint then, unless shapes of theirs are not known yet. Other stores save no
        checkpoints, and begin at the beginning.

        `batches` can be gone through anew, such as a DataLoader or a DataIter, which is reset before each
        epoch. Its order may depend on the random numbers, and on the orders of the epochs before, but not on
        how far it was read then. What the worker processes of a DataLoader draw is theirs.

        Examples
        --------
        >>> from headrace import gluon, kv, np
        >>> loader = gluon.data.DataLoader(np.arange(4), batch_size=2)
        >>> for epoch, batches in kv.create("local").epochs(loader, 2):
        ...     print(epoch, [batch.tolist() for batch in batches])
        0 [[0, 1], [2, 3]]
        1 [[0, 1], [2, 3]]
        """
        return epochs(self, batches, count, seed)

    def keep_state(self, function):
        """Nothing: checkpoints are those of stores on servers."""

    def restored_states(self):
        """None: checkpoints are those of stores on servers."""

    def barrier(self):
        """Waits until all workers have come here."""
        self._store.barrier()

    _barrier = barrier

    def join(self, key, take_part):
        """For workers that have less data than others: calls `take_part()`, which makes the calls of one step
        with zeros, each time that another worker has begun a step that this one has not made. Returns when
        all workers have come here, after the same steps; at once in a store of one process, and in an
        asynchronous one, where nobody waits for the pushes of others.

        `key` is one that every step pushes, the same on all workers. MXNetError: a worker has ended and has
        not come here, or `take_part` pushes nothing.
        """
        while self._store.others_go_on(key):
            take_part()

    def get_num_dead_node(self, node_id=6, timeout=60):
        """How many workers were lost: they are gone, and have not ended by themselves. Where a lost one ends
        the others, as those of MPI, 0. The arguments are MXNet's, and change nothing.
        """
        return self._store.lost_workers

    num_dead_node = property(get_num_dead_node)

    def _agree(self, flags):
        return self._store.agree(flags)

    def _agree_in(self, what):
        self._store.agree_in(what)

    def _send_command_to_servers(self, head, body):
        """Nothing: the store has no servers. `head` is a number, `body` a text."""

    def __repr__(self):
        return f"<KVStore {self.type}>"
