"""SharingKVStore: a store whose ranks share the updates of large arrays, and the states of the optimizer."""

import os

from .._arrays import NDArray
from .._file import open_file
from ..base import MXNetError
from ..optimizer.state_io import dump_states, load_states
from .kvstore import KVStore, keyed
from .states import share_of

__all__ = ["SharingKVStore"]


class SharingKVStore(KVStore):
    """The store 'mpi_sharded': of an array of 1 MB or more each rank reduces and updates its share, and gets
    those of the others, so that updates and the states of the optimizer are divided among the ranks.

    Only for an optimizer that treats each element by itself, as SGD and Adam do; with others, with functions
    as updaters, and with reductions by a function, every rank updates whole arrays. The results are the bits
    of the store 'mpi'.
    """

    def __init__(self, store):
        super().__init__(store)
        self._shapes = {}  # by key

    def init(self, key, value):
        super().init(key, value)
        self._shapes.update({one: arrays[0].shape for one, arrays in zip(*keyed("init", key, value))})

    def broadcast(self, key, value, out, priority=0):
        self.init(key, value)
        self.pull(key, out, priority, ignore_sparse=False)

    def _set_updater(self, updater):
        optimizer = getattr(updater, "optimizer", None)
        if updater is not None and not getattr(type(optimizer), "is_elementwise", False):
            self._store.keep_whole()
        super()._set_updater(updater)

    def save_optimizer_states(self, fname, dump_optimizer=False):
        """Writes the states of whole arrays to a file of MXNet's format, with the optimizer itself when
        `dump_optimizer`. All ranks call it, and each writes the file, which may be one and the same.
        AssertionError: no optimizer is set.
        """
        updater = self._optimizer_updater("save")
        states = dict(updater.states)
        for key in self._layouts():
            if key in states:
                states[key] = self._gathered(key, states[key])
        written = f"{os.fspath(fname)}.{self.rank}"
        with open(written, "wb") as file:
            file.write(dump_states(states, updater.optimizer if dump_optimizer else None))
        os.replace(written, fname)

    def load_optimizer_states(self, fname):
        """Reads a file of states of whole arrays, of other numbers of ranks, other stores or MXNet, on every
        rank; an optimizer in the file replaces the present one. AssertionError: no optimizer is set.
        MXNetError: a key of the file has not been inited. ValueError: a broken file.
        """
        updater = self._optimizer_updater("load")
        with open_file(fname) as file:
            states, optimizer = load_states(file.read())
        if unknown := sorted(set(states) - set(self._shapes), key=str):
            raise MXNetError(
                f"kvstore load_optimizer_states: key {unknown[0]!r} of {fname!r} has not been inited; init "
                "all keys first"
            )
        for index, layout in self._layouts().items():
            if index in states:
                states[index] = share_of(self.rank, states[index], *layout)
        updater.set_states(dump_states(states, optimizer))

    def _gathered(self, key, state):
        if isinstance(state, (tuple, list)):
            return type(state)(self._gathered(key, part) for part in state)
        return self._store.gather_shares(key, state) if isinstance(state, NDArray) else state

    def _layouts(self):
        """Those of the arrays that are shared."""
        layouts = {key: (shape, self._store.shares(key)) for key, shape in self._shapes.items()}
        return {key: layout for key, layout in layouts.items() if layout[1]}
