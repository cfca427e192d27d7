"""KVStore.epochs: what a worker goes on with, without processes: a store whose checkpoint is given."""

import random

import numpy
import pytest

from headrace import gluon, kv, np, npx
from headrace.io import NDArrayIter


@pytest.fixture(autouse=True)
def _np_arrays():
    npx.set_np()
    yield
    npx.reset_np()


class Resumed:
    """A store that goes on from a checkpoint."""

    _trainers = ()

    def __init__(self, states, rank=0, num_workers=1):
        self.rank, self.num_workers = rank, num_workers
        self._states = states

    def restored_states(self):
        return self._states

    def keep_state(self, function):
        self.state = function


def drawn():
    return random.random(), numpy.random.random(), float(np.random.uniform())


def seen(store, batches, count, until=None):
    """[(epoch, batch, numbers drawn with it)] with the state after each; ends after `until` batches."""
    found = []
    for epoch, left in kv.KVStore.epochs(store, batches, count, seed=4):
        for batch in left:
            values = batch.data[0] if hasattr(batch, "data") else batch
            found.append(((epoch, values.asnumpy().ravel().tolist(), drawn()), store.state()))
            if len(found) == until:
                return found
    return found


def loader():
    return gluon.data.DataLoader(np.arange(5), batch_size=2, shuffle=True)


def iterator():
    numpy.random.seed(1)  # its first order is drawn when it is made
    return NDArrayIter(numpy.arange(5.0), batch_size=2, shuffle=True)


@pytest.mark.parametrize("make", [loader, iterator])
def test_it_goes_on_with_the_batch_after_any(make):
    whole = seen(Resumed(None), make(), 4)
    assert [epoch for (epoch, _, _), _ in whole] == [0] * 3 + [1] * 3 + [2] * 3 + [3] * 3
    assert len({numbers for (_, _, numbers), _ in whole}) == 12
    for done in range(1, 12):
        state = whole[done - 1][1]
        numpy.random.seed(99)
        assert seen(Resumed({0: state}), make(), 4) == whole[done:], state


def test_workers_draw_differently_in_batches_and_alike_before_epochs():
    orders, numbers = zip(
        *(
            (order, own)
            for rank in range(2)
            for (_, order, own), _ in seen(Resumed(None, rank, 2), loader(), 1, until=1)
        )
    )
    assert orders[0] == orders[1] and numbers[0] != numbers[1]


def test_other_numbers_of_workers_begin_with_the_epoch_that_was_not_complete():
    states = {0: {"epoch": 2, "batches": 1, "workers": 2}, 1: {"epoch": 1, "batches": 3, "workers": 2}}
    for rank in range(3):
        found = seen(Resumed(states, rank, 3), loader(), 3)
        assert [epoch for (epoch, _, _), _ in found] == [1] * 3 + [2] * 3
    assert len(seen(Resumed(states, 1, 2), loader(), 3)) == 3  # as many go on where they were
    del states[0]  # had made no step
    assert [len(seen(Resumed(states, rank, 2), loader(), 3)) for rank in range(2)] == [9, 3]
    assert len(seen(Resumed({}, 0, 2), loader(), 3)) == 9  # no worker has kept a state


def test_stores_without_checkpoints_begin_at_the_beginning():
    store = kv.create("local")
    assert store.restored_states() is None
    assert [(epoch, len(list(batches))) for epoch, batches in store.epochs(loader(), 2)] == [(0, 3), (1, 3)]
    assert list(store.epochs([], 2))[1][0] == 1  # no batches are no error
