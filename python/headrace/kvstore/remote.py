"""RemoteKVStore: a store of several workers whose arrays lie on servers."""

import itertools
import json
import pathlib
import pickle
import sys
import warnings

from .. import optimizer as _optimizer
from .._file import open_file
from ..base import ArrayTypeError, MXNetError
from ..ndarray import empty, load, save, zeros
from ..optimizer.state_io import dump_states, load_states
from .checkpoints import Clock, newest_checkpoint, write_checkpoint
from .kvstore import KVStore, keyed
from .states import cut_states, joined_states

__all__ = ["RemoteKVStore"]

_COUNTERS = ("num_update", "begin_num_update", "aggregate_num", "allow_np_array")  # of what servers do
_numbers = itertools.count()  # of stores in the order in which they are made
_PLAIN = (bool, int, float, str, type(None))
_LOOK_AT_WHOLE_ARRAYS = ("LAMB", "LARS", "LANS", "LBSGD")  # rules with norms of arrays

# Heads of the commands of workers; others are the program's own.
SET_OPTIMIZER, SETTINGS, GET_STATES, SET_STATES = 0, -1, -2, -3
FREEZE, THAW = -4, -5  # of the servers themselves


class RemoteKVStore(KVStore):
    """A store that several workers share, whose arrays lie on servers: 'dist_sync', 'dist_async' and so on.

    What the arrays of one push have as their sum goes to the servers. In a synchronous store these sum what
    all workers have pushed for a key, in the order of their ranks, when the last of them has; in an
    asynchronous one every push counts at once. The sum, or the push, takes the place of what is stored, or
    the optimizer of the servers updates that. A pull of a worker knows of all that it has pushed itself.

    Errors of KVStore; MXNetError, too, where a server or a worker that is waited for was lost, naming it.
    """

    follows_optimizer = True  # what changes in the optimizer here reaches the servers

    def __init__(self, store):
        super().__init__(store)
        self._optimizer = None
        self._settings = None  # that the servers have
        self._inited = {}  # by key: (shape, dtype, storage type)
        self._clock = Clock(next(_numbers))
        self._restored = self._find_checkpoint()
        self._states_to_restore = self._restored is not None
        self._first_pushed = None  # key that a step begins with

    def set_optimizer(self, optimizer):
        """Makes the servers update what is stored by `optimizer`, which every worker gives alike.

        What is set in it later, such as its learning rate, `rescale_grad` and the factors of parameters,
        counts from the next push on; in a synchronous store those of rank 0 do. TypeError: not an Optimizer.
        MXNetError: another worker has given another one.
        """
        if not isinstance(optimizer, _optimizer.Optimizer):
            raise ArrayTypeError(
                f"kvstore set_optimizer: expected an Optimizer, got {type(optimizer).__name__}"
            )
        if any(klass.__name__ in _LOOK_AT_WHOLE_ARRAYS for klass in type(optimizer).__mro__):
            self._store.keep_whole()
        self._store.send_command(SET_OPTIMIZER, pickle.dumps(optimizer))
        self._optimizer = optimizer
        self._send_settings()

    def set_updater(self, updater):
        """MXNetError, unless `updater` is None: functions of a worker are out of the servers' reach."""
        if updater is not None:
            raise MXNetError(
                f"kvstore set_updater: a '{self.type}' store updates on its servers, which functions of a "
                "worker cannot reach; give an optimizer to set_optimizer"
            )

    def init(self, key, value):
        keys, values = keyed("init", key, value)
        if self._restored is not None:
            values = [[self._restored_for(one, arrays[0])] for one, arrays in zip(keys, values)]
        self._store.init(keys, values)
        self._inited.update({one: _kind_of(arrays[0]) for one, arrays in zip(keys, values)})

    def broadcast(self, key, value, out, priority=0):
        self.init(key, value)
        self.pull(key, out, priority)

    def push(self, key, value, priority=0):
        self._before_push(key)
        super().push(key, value, priority)

    def pushpull(self, key, value, out=None, priority=0):
        self._before_push(key)
        super().pushpull(key, value, out, priority)

    def _send_settings(self):
        """Tells the servers what has changed in the optimizer."""
        if self._optimizer is None:
            return
        settings = settings_of(self._optimizer)
        if settings != self._settings:
            self._store.send_settings(json.dumps(settings).encode())
            self._settings = settings

    def save_optimizer_states(self, fname, dump_optimizer=False):
        """Writes the states of the servers' optimizer to a file of MXNet's format, of whole arrays wherever
        they lie, with the optimizer itself when `dump_optimizer`.

        Any worker may do so. The states are those after what this worker has pushed, and in a synchronous
        store those rounds are waited for. AssertionError: no optimizer is set.
        """
        self._need_optimizer("save")
        self._pulled()  # after the pushes of this worker
        with open(fname, "wb") as file:
            file.write(self._states(dump_optimizer))

    def load_optimizer_states(self, fname):
        """Gives the servers the states of a file, which may come from other numbers of servers or from one
        process, and the update counts of an optimizer in it; the settings stay those of the workers'
        optimizer. One worker does so, before the others push on.

        AssertionError: no optimizer is set. MXNetError: a key of the file has not been inited. ValueError: a
        broken file.
        """
        self._need_optimizer("load")
        states, optimizer = self._read_states(fname)
        layouts = self._layouts()
        if unknown := sorted(set(states) - set(layouts), key=str):
            raise MXNetError(
                f"kvstore load_optimizer_states: key {unknown[0]!r} of {fname!r} has not been inited; init "
                "all keys first"
            )
        self._send_states(states, optimizer)

    def _states(self, with_optimizer):
        answers = self._store.ask_servers(GET_STATES, [b""] * self._store.servers)
        states, optimizers = zip(*map(load_states, answers))
        joined = joined_states(states, self._layouts())
        optimizer = optimizers[0]
        for other in optimizers[1:]:
            for index, count in other._index_update_count.items():
                optimizer._index_update_count.setdefault(index, count)
            optimizer.num_update = max(optimizer.num_update, other.num_update)
        return dump_states(joined, optimizer if with_optimizer else None)

    @staticmethod
    def _read_states(fname):
        with open_file(fname) as file:
            return load_states(file.read())

    def _send_states(self, states, optimizer):
        cut = cut_states(states, self._layouts(), self._store.servers)
        self._store.ask_servers(SET_STATES, [dump_states(one, optimizer) for one in cut])

    def _need_optimizer(self, verb):
        if self._optimizer is None:
            raise AssertionError(
                f"kvstore: Cannot {verb} states without an optimizer; call set_optimizer first"
            )

    def _layouts(self):
        return {key: (kind[0], self._store.parts_on_servers(key)) for key, kind in self._inited.items()}

    def _pulled(self):
        """{key: array} of all keys, with what this worker has pushed."""
        arrays = {}
        for key, (shape, dtype, storage) in self._inited.items():
            dense = storage == "default"
            arrays[key] = empty(shape, dtype=dtype) if dense else zeros(shape, dtype=dtype, stype=storage)
            self._store.pull([key], [[arrays[key]]], 0)
        for array in arrays.values():
            array.wait_to_read()
        return arrays

    # --- checkpoints ---

    def save_checkpoint(self, folder=None):
        """Writes a checkpoint of what the servers hold, and gives its path: weights, the states of their
        optimizer, update counts, and which requests of each worker they have served.

        For worker 0, between its steps, with what it has pushed; other workers need not know of it. While the
        values are fetched the servers serve no other worker, so that it is the state at one moment. A folder
        keeps the two newest. `folder` is that of `--checkpoint` of the launcher unless it is given; a job
        that is started with that goes on from the newest one that is whole: `init` takes the weights from it,
        and the first push of worker 0 brings the states back.

        AssertionError: no optimizer is set. ValueError: no folder is known, or this is not worker 0. OSError:
        the files cannot be written; the checkpoints before are still there.
        """
        self._need_optimizer("checkpoint")
        folder = folder or self._clock.folder
        if folder is None:
            raise ValueError("kvstore save_checkpoint: name a folder, or start the job with --checkpoint")
        if self.rank != 0:
            raise ValueError(
                f"kvstore save_checkpoint: worker 0 saves checkpoints, this is worker {self.rank}"
            )
        self._pulled()
        nothing = [b""] * self._store.servers
        try:
            served = [json.loads(answer) for answer in self._store.ask_servers(FREEZE, nothing)]
            arrays, states = self._pulled(), self._states(True)
        finally:
            self._store.ask_servers(THAW, nothing)
        self._clock.restart()
        files = {
            "weights.params": lambda path: save(path, list(arrays.values())),
            "optimizer.states": lambda path: pathlib.Path(path).write_bytes(states),
        }
        about = {
            "store": self.type,
            "workers": self.num_workers,
            "servers": self._store.servers,
            "keys": list(arrays),
            "served": served,
        }
        return write_checkpoint(folder, files, about)

    def _find_checkpoint(self):
        """The weights by key that this job begins with; None: what the program gives."""
        if self._clock.folder is None or self.rank != 0:
            return None
        found = newest_checkpoint(self._clock.folder)
        if found is None:
            return None
        self._checkpoint, manifest = found
        print(f"kvstore: going on from the checkpoint {self._checkpoint}", file=sys.stderr)
        return dict(zip(manifest["keys"], load(str(self._checkpoint / "weights.params"))))

    def _restored_for(self, key, given):
        saved = self._restored.get(key, given)
        if _kind_of(saved) != _kind_of(given):
            raise MXNetError(
                f"kvstore init: key {key!r}: the checkpoint {self._checkpoint} has {_text_of(saved)}, the "
                f"program inits {_text_of(given)}; start it with another folder, or go on with the program "
                "that saved it"
            )
        return saved

    def _before_push(self, key):
        keys = key if isinstance(key, (list, tuple)) else [key]
        if self._states_to_restore and self._optimizer is not None:
            self._states_to_restore = False
            states, optimizer = self._read_states(str(self._checkpoint / "optimizer.states"))
            known = {index: state for index, state in states.items() if index in self._inited}
            self._send_states(known, optimizer)
        if keys and self._first_pushed is None:
            self._first_pushed = keys[0]
        elif keys and keys[0] == self._first_pushed and self.rank == 0 and self._clock.is_due():
            self._save_due_checkpoint()
        self._send_settings()

    def _save_due_checkpoint(self):
        if self._optimizer is None:
            warnings.warn(
                "kvstore: no checkpoints are saved, because the servers have no optimizer", stacklevel=4
            )
            self._clock.folder = None
            return
        try:
            self.save_checkpoint()
        except OSError as error:
            warnings.warn(f"kvstore: a checkpoint could not be saved: {error}", stacklevel=4)

    def get_num_dead_node(self, node_id=6, timeout=60):
        """How many workers were lost: they are gone, and have not ended by themselves."""
        return self._store.lost_workers

    num_dead_node = property(get_num_dead_node)

    def _send_command_to_servers(self, head, body):
        """Has every server call what `serve` was given with the number `head` and the text `body`."""
        self._store.send_command(int(head), body if isinstance(body, bytes) else str(body).encode())


def _kind_of(array):
    return array.shape, array.dtype, array.stype


def _text_of(array):
    return f"an array of shape {array.shape} of {array.dtype.__name__}, {array.stype}"


def settings_of(optimizer):
    """What may change in an optimizer while it is used, in types of JSON: numbers, texts, and the factors on
    learning rate and weight decay by index or name, as lists of pairs.
    """
    plain = {
        name: value
        for name, value in vars(optimizer).items()
        if isinstance(value, _PLAIN) and not name.startswith("_") and name not in _COUNTERS
    }
    factors = {
        name: sorted(
            {
                **getattr(optimizer, name),
                **{index: getattr(param, name) for index, param in optimizer.param_dict.items()},
            }.items(),
            key=str,
        )
        for name in ("lr_mult", "wd_mult")
    }
    return {"plain": plain, **{name: [list(pair) for pair in pairs] for name, pairs in factors.items()}}


def use_settings(optimizer, settings):
    """Sets in `optimizer` what `settings_of` another one gave."""
    for name, value in settings["plain"].items():
        if not hasattr(optimizer, name):
            warnings.warn(f"the optimizer of the servers has no {name}", stacklevel=2)
        setattr(optimizer, name, value)
    for name in ("lr_mult", "wd_mult"):
        setattr(optimizer, name, dict(settings[name]))
