"""Epochs and batches that a job which is started again goes on with."""

import random
import warnings

import numpy

from .._generator import seed as _seed_arrays

__all__ = ["epochs"]


def epochs(store, batches, count, seed=0):
    """KVStore.epochs."""
    restored = store.restored_states()
    if restored and _rolls_over(batches):
        warnings.warn(
            "epochs: what the last batch of an epoch left for the next one is not known after a checkpoint, "
            "so that the job goes on with other batches than it would have had",
            stacklevel=2,
        )
    if restored is not None:
        for trainer in list(store._trainers):
            trainer._begin()
    progress = _Progress(store, restored or {}, batches, seed)
    store.keep_state(progress.state)
    for epoch in range(progress.epoch, count):
        first = progress.begin(epoch)
        if first is None and epoch == progress.resumed_epoch:
            continue  # it was over
        yield epoch, progress.rest(first)


def _rolls_over(batches):
    sampler = getattr(batches, "_batch_sampler", None)
    kinds = getattr(batches, "last_batch_handle", None), getattr(sampler, "_last_batch", None)
    return kinds[0] == "roll_over" or kinds[1] == "rollover"


class _Progress:
    """How far a worker has come. Each batch has its own random numbers, so that its number says them."""

    def __init__(self, store, restored, batches, seed):
        self._batches = batches
        self._seed = seed
        self._rank = store.rank
        self.epoch, self._done = _place(restored, store.rank, store.num_workers)
        self.resumed_epoch = self.epoch if self._done else None
        self._workers = store.num_workers
        self._passes = 0  # that `batches` was told to begin

    def state(self):
        return {"epoch": self.epoch, "batches": self._done, "workers": self._workers}

    def begin(self, epoch):
        """The first batch that is new; None: the epoch has none."""
        done, self.epoch = self._done if epoch == self.resumed_epoch else 0, epoch
        self._done = 0
        if hasattr(self._batches, "reset"):
            while self._passes <= epoch:  # an order may depend on those before
                self._seed_all(self._passes)
                self._batches.reset()
                self._passes += 1
        self._seed_all(epoch)
        self._left = iter(self._batches)
        for _ in range(done):
            self._next()
        return self._next()

    def rest(self, batch):
        while batch is not None:
            yield batch
            batch = self._next()

    def _next(self):
        if self._done > 0:
            self._seed_all(self.epoch, self._done, self._rank)
        batch = next(
            self._left, None
        )  # samplers draw the order of an epoch when its first batch is asked for
        if self._done == 0:
            self._seed_all(self.epoch, 0, self._rank)
        self._done += batch is not None
        return batch

    def _seed_all(self, *place):
        """The generators of this process, for an epoch, of all workers alike, or for a batch of one."""
        numbers = numpy.random.SeedSequence([self._seed, *place]).generate_state(3)
        _seed_arrays(int(numbers[0]))
        numpy.random.seed(numbers[1])
        random.seed(int(numbers[2]))


def _place(states, rank, workers):
    """(epoch, batches of it that are done) where a worker goes on. Among other numbers of workers data is
    divided otherwise, so all begin with the epoch that the last of them was in.
    """
    own = states.get(rank)
    if own and own["workers"] == workers:
        return own["epoch"], own["batches"]
    if any(state["workers"] != workers for state in states.values()):
        return min(state["epoch"] for state in states.values()), 0
    return 0, 0  # it had not made a step
