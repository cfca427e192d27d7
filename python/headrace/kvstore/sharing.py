"""SharingKVStore: a store whose ranks share the updates of large arrays, and the states of the optimizer."""

from .._arrays import NDArray
from .._file import open_file, replaced_file
from ..optimizer.state_io import dump_states, load_states
from .kvstore import KVStore, keyed
from .states import check_inited, share_of

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
        """Writes the states of whole arrays to a file, with the optimizer itself when `dump_optimizer`. All
        ranks call it, and each writes the file, which may be one and the same.
        AssertionError: no optimizer is set.
        """
        updater = self._optimizer_updater("save")
        states = dump_states(self._whole_states(), updater.optimizer if dump_optimizer else None)
        with replaced_file(fname) as file:
            file.write(states)

    def load_optimizer_states(self, fname):
        """Reads a file of states of whole arrays, of other numbers of ranks, other stores or MXNet, on every
        rank; an optimizer in the file replaces the present one. AssertionError: no optimizer is set.
        MXNetError: a key of the file has not been inited. ValueError: a broken file.
        """
        updater = self._optimizer_updater("load")
        with open_file(fname) as file:
            states, optimizer = load_states(file.read())
        check_inited(states, self._shapes, fname)
        if optimizer is not None and not type(optimizer).is_elementwise:
            self._store.keep_whole()
        for index, layout in self._layouts().items():
            if index in states:
                states[index] = share_of(self.rank, states[index], *layout)
        updater.set_states(dump_states(states, optimizer))

    def set_reduction(self, reduction):
        if callable(reduction) and hasattr(self._updater, "get_states"):
            self._updater.set_states(dump_states(self._whole_states()))
        super().set_reduction(reduction)

    def _whole_states(self):
        """Of the optimizer, by key, with the shares of all ranks."""
        states = dict(self._updater.states)
        for key, (_, shares) in self._layouts().items():
            if key in states:
                own = sum(end - begin for owner, begin, end in shares if owner == self.rank)
                states[key] = self._gathered(key, states[key], (own,))
        return states

    def _gathered(self, key, state, share):
        if isinstance(state, (tuple, list)):
            return type(state)(self._gathered(key, part, share) for part in state)
        if isinstance(state, dict):
            return {name: self._gathered(key, part, share) for name, part in state.items()}
        is_share = isinstance(state, NDArray) and state.shape == share
        return self._store.gather_shares(key, state) if is_share else state

    def _layouts(self):
        """Those of the arrays that are shared."""
        layouts = {key: (shape, self._store.shares(key)) for key, shape in self._shapes.items()}
        return {key: layout for key, layout in layouts.items() if layout[1]}
