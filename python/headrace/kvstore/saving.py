"""SavingStore: what lies on servers, and where workers are, in files."""

import itertools
import json
import os
import pathlib
import sys
import warnings

from .._file import open_file, write_file
from ..base import ArrayTypeError, MXNetError
from ..ndarray import empty, load, save, zeros
from ..optimizer.state_io import dump_states, load_states
from .checkpoints import Clock, newest_checkpoint, write_checkpoint
from .commands import (
    ASK_RESTORED,
    FREEZE,
    GET_STATES,
    HAS_RESTORED,
    RESTORE,
    RESTORE_STATES,
    RESTORED,
    SET_STATES,
    THAW,
    WORKER_STATES,
)
from .kvstore import KVStore
from .settings import take_numbers
from .states import check_inited, cut_states, joined_states

__all__ = ["SavingStore", "kind_of"]

_UNKNOWN = object()
_numbers = itertools.count()  # of stores in the order in which they are made


class SavingStore(KVStore):
    """The part of a store on servers that saves and loads: states of the optimizer, and checkpoints."""

    def __init__(self, store):
        super().__init__(store)
        self._optimizer = None  # of the servers
        self._inited = {}  # by key: (shape, dtype, storage type)
        self._first_pushed = None  # key that a step begins with
        self._state_of_worker = None  # function that gives it
        self._clock = Clock(next(_numbers))
        self._restored = {}  # weights by key that the job goes on with
        self._restored_states = _UNKNOWN  # of workers, by rank
        self._is_bringing_back = False
        if self._clock.folder is not None and self.rank == 0:
            self._clock.begin()
            if not self._others_restored():
                self._restore()
        elif self.rank == 0 and self._may_go_on():
            self._tell_restored(None)

    # --- states of the optimizer ---

    def save_optimizer_states(self, fname, dump_optimizer=False):
        """Writes the states of the servers' optimizer to a file, of whole arrays wherever they lie, with the
        optimizer itself when `dump_optimizer`.

        Any worker may do so. The states are those after what this worker has pushed, and in a synchronous
        store those rounds are waited for. AssertionError: no optimizer is set.
        """
        self._need_optimizer("save")
        self._pulled()  # after the pushes of this worker
        write_file(fname, self._states(dump_optimizer))

    def load_optimizer_states(self, fname):
        """Gives the servers the states of a file, which may come from other numbers of servers or from one
        process, and the update counts of an optimizer in it; the settings stay those of the workers'
        optimizer. One worker does so, before the others push on.

        AssertionError: no optimizer is set. MXNetError: a key of the file has not been inited. ValueError: a
        broken file.
        """
        self._need_optimizer("load")
        states, optimizer = self._read_states(fname)
        check_inited(states, self._layouts(), fname)
        self._pulled()  # rounds that are open would write over the states
        self._send_states(states, optimizer)

    def _states(self, with_optimizer):
        answers = self._store.ask_servers(GET_STATES, [b""] * self._store.servers)
        states, optimizers = zip(*map(load_states, answers))
        joined = joined_states(states, self._layouts())
        optimizer = max(optimizers, key=lambda one: one.num_update)  # who holds no key knows no settings
        counts = optimizer._index_update_count
        for other in optimizers:  # that of a key grows on the server that holds it
            for index, count in other._index_update_count.items():
                counts[index] = max(count, counts.get(index, 0))
        return dump_states(joined, optimizer if with_optimizer else None)

    @staticmethod
    def _read_states(fname):
        with open_file(fname) as file:
            return load_states(file.read())

    def _send_states(self, states, optimizer, command=SET_STATES):
        cut = cut_states(states, self._layouts(), self._store.servers)
        self._store.ask_servers(command, [dump_states(one, optimizer) for one in cut])

    def _need_optimizer(self, verb):
        if self._optimizer is None:
            raise AssertionError(
                f"kvstore: Cannot {verb} states without an optimizer; call set_optimizer first"
            )

    def _layouts(self):
        return {key: (kind[0], self._store.shares(key)) for key, kind in self._inited.items()}

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
        optimizer, update counts, which requests of each worker they have served, and the states that workers
        keep (`epochs`, `keep_state`).

        For worker 0, between its steps, with what it has pushed; other workers need not know of it. While the
        values are fetched the servers serve no other worker, so that it is the state at one moment. A folder
        keeps the two newest. `folder` is that of `--checkpoint` of the launcher unless it is given; a job
        that is started with that goes on from the newest one that is whole: `init` takes the weights from it,
        and no worker's push counts before the states of the optimizer are back.

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
            workers = self._states_of_workers()
            arrays.update(self._statistics())
        finally:
            self._store.ask_servers(THAW, nothing)
        self._clock.restart()
        files = {
            "weights.params": lambda path: _write_arrays(path, list(arrays.values())),
            "optimizer.states": lambda path: pathlib.Path(path).write_bytes(states),
        }
        about = {
            "store": self.type,
            "workers": self.num_workers,
            "servers": self._store.servers,
            "keys": list(arrays),
            "served": served,
            "worker_states": {str(rank): state for rank, state in sorted(workers.items())},
        }
        return write_checkpoint(folder, files, about)

    def _statistics(self):
        """{key: array} of parameters of this worker's trainers that no gradient changes, as the moving
        statistics of batch normalisations: servers hold what these were at first.
        """
        return {
            key: param._reduce()
            for trainer in list(self._trainers)
            for key, param in enumerate(trainer._params)
            if param.grad_req == "null" and key in self._inited
        }

    def _states_of_workers(self):
        """By rank; those that have kept none are missing. Who has not pushed since is where it was before."""
        before = self.restored_states() or {}
        states = {rank: state for rank, state in before.items() if rank < self.num_workers}
        return {**states, **self._states_now()}

    def _states_now(self):
        states = {}
        for answer in self._store.ask_servers(WORKER_STATES, [b""] * self._store.servers):
            states.update(_by_rank(json.loads(answer)))
        return states

    def keep_state(self, function):
        """Has checkpoints keep what `function()` gives, in types of JSON: what this worker needs to go on
        after the present step. It is called in each step, by the push of the key that steps begin with; a
        checkpoint has what belongs to the pushes that are in it. `None` keeps nothing more.

        `epochs` keeps a state by it, so a program uses one of the two. TypeError, of the push: what the
        function gives cannot be written in JSON.
        """
        self._state_of_worker = function

    def restored_states(self):
        """What workers had kept in the checkpoint that the job goes on from, by rank; None: it goes on from
        none. For a worker that has joined a running job, what they have kept up to now.

        Waits until worker 0 has made this store. MXNetError: it was lost before.
        """
        if self._restored_states is _UNKNOWN:
            self._restored_states = None
            if self._may_go_on():
                told = self._store.ask_servers(ASK_RESTORED, [b""] * self._store.servers)
                self._restored_states = _by_rank(json.loads(told[0]))
            if self._store.has_joined:
                self._restored_states = {**(self._restored_states or {}), **self._states_now()}
        return self._restored_states

    def _others_restored(self):
        """Whether another worker 0, in whose place this one is, had brought back what there was."""
        if not self._store.has_joined:
            return False
        answers = self._store.ask_servers(HAS_RESTORED, [b""] * self._store.servers)
        return all(answer == b"1" for answer in answers)

    def _restore(self):
        """Looks for a checkpoint, and tells the servers of what others have to know, before they can push."""
        states = None
        if (found := newest_checkpoint(self._clock.folder)) is not None:
            self._checkpoint, manifest = found
            print(f"kvstore: going on from the checkpoint {self._checkpoint}", file=sys.stderr)
            weights = load(str(self._checkpoint / "weights.params"))
            self._restored = dict(zip(manifest["keys"], weights))
            states = manifest["worker_states"]
            self._is_bringing_back = True
        self._tell_restored(states)

    def _tell_restored(self, states):
        """Servers what workers had kept in a checkpoint; None: there is none, and no worker waits for it."""
        self._store.ask_servers(RESTORE, [json.dumps(states).encode()] * self._store.servers)
        if states is None:
            self._store.ask_servers(RESTORED, [b""] * self._store.servers)
        self._restored_states = _by_rank(states)

    def _may_go_on(self):
        """Whether worker 0 tells the others of a checkpoint. Those of other launchers than the job's do not
        know of its folder.
        """
        if self._clock.folder is not None:
            return True
        is_elastic = any(os.environ.get(name) for name in ("HEADRACE_ELASTIC", "HEADRACE_JOIN"))
        return is_elastic and not self.is_capable("asynchronous")

    def _restored_for(self, key, given):
        saved = self._restored.get(key, given)
        if kind_of(saved) != kind_of(given):
            raise MXNetError(
                f"kvstore init: key {key!r}: the checkpoint {self._checkpoint} has {_text_of(saved)}, the "
                f"program inits {_text_of(given)}; start it with another folder, or go on with the program "
                "that saved it"
            )
        return saved

    def _bring_states_back(self, at_last=False):
        """Gives the servers the states of the optimizer from the checkpoint, when all of its keys are inited,
        or `at_last` those that are.
        """
        if not self._is_bringing_back or self._optimizer is None or not self._inited:
            return
        if not at_last and not self._inited.keys() >= self._restored.keys():
            return
        self._is_bringing_back = False
        states, optimizer = self._read_states(str(self._checkpoint / "optimizer.states"))
        if type(optimizer) is not type(self._optimizer):
            raise MXNetError(
                f"kvstore set_optimizer: the checkpoint {self._checkpoint} has states of "
                f"{type(optimizer).__name__}, the program gives {type(self._optimizer).__name__}; start it "
                "with another folder, or go on with the program that saved it"
            )
        known = {index: state for index, state in states.items() if index in self._inited}
        self._send_states(known, optimizer, RESTORE_STATES)
        self._take_numbers(optimizer)
        self._store.ask_servers(RESTORED, [b""] * self._store.servers)

    def _take_numbers(self, optimizer):
        """The settings of the checkpoint's optimizer, for that of this worker."""
        take_numbers(self._optimizer, optimizer)

    def _begin_push(self, key):
        """A checkpoint, if one is due, before a step begins, and this worker's state with its first push."""
        self._bring_states_back(at_last=True)
        keys = key if isinstance(key, (list, tuple)) else [key]
        if not keys:
            return
        if self._first_pushed is None:
            self._first_pushed = keys[0]
        elif keys[0] == self._first_pushed and self.rank == 0 and self._clock.is_due():
            self._save_due_checkpoint()
        if keys[0] == self._first_pushed and self._state_of_worker is not None:
            self._store.set_worker_state(self._text_of_state())

    def _text_of_state(self):
        try:
            return json.dumps(self._state_of_worker())
        except TypeError as error:
            raise ArrayTypeError(
                f"kvstore keep_state: what the function gives cannot be written in JSON ({error}); it gives "
                "numbers, texts, lists and dictionaries"
            ) from None

    def _save_due_checkpoint(self):
        if self._optimizer is None:
            warnings.warn(
                "kvstore: no checkpoints are saved, because the servers have no optimizer", stacklevel=5
            )
            self._clock.folder = None
            return
        try:
            self.save_checkpoint()
            self._clock.saved()
        except OSError as error:
            self._clock.failed()
            warnings.warn(f"kvstore: a checkpoint could not be saved: {error}", stacklevel=5)


def _write_arrays(path, arrays):
    try:
        save(path, arrays)
    except MXNetError as error:  # of the file: the values are there
        raise OSError(str(error)) from None


def kind_of(array):
    return array.shape, array.dtype, array.stype


def _text_of(array):
    return f"an array of shape {array.shape} of {array.dtype.__name__}, {array.stype}"


def _by_rank(states):
    return None if states is None else {int(rank): state for rank, state in states.items()}
