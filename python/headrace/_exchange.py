"""Stores and the exchange of gradients in a step of several contexts, for Trainer and Module."""

import math
import os

import numpy as np

from . import kvstore as stores

__all__ = ["GradientExchange", "create_store", "replace_values"]

_LARGE_ARRAY = 16 << 20  # elements above which the store 'local' sums and does not update
# Latency rules the time of small gradients, bandwidth that of large ones: a bucket of this size takes about
# as long on the way as its first byte.
_BUCKET_BYTES = 1 << 20


def create_store(kvstore, context_count, params, update_on_kvstore=None):
    """(store or None, whether it updates the parameters) for `kvstore`: a KVStoreBase, a name, or None.

    One context needs no store, unless one is given or a name with 'dist' in it. `update_on_kvstore` decides who
    updates; None: the store where it can, unless the environment variable MXNET_UPDATE_ON_KVSTORE is 0 or the
    store is 'local' and one of the arrays `params` has more than 2^24 elements. TypeError: another kind of
    `kvstore`. ValueError: an unknown name, or a store that cannot do what `update_on_kvstore` asks for.
    """
    if kvstore is not None and not isinstance(kvstore, (str, stores.KVStoreBase)):
        raise TypeError(f"kvstore must be KVStore, str or None, got {kvstore!r}")
    if kvstore is None or (isinstance(kvstore, str) and context_count == 1 and "dist" not in kvstore):
        return None, False
    store = stores.create(kvstore) if isinstance(kvstore, str) else kvstore
    if "dist" in store.type and "async" in store.type:
        if update_on_kvstore is False:
            raise ValueError("Please set update_on_kvstore=True when training in async mode.")
        update_on_kvstore = True
    can_update = store.is_capable(stores.KVStoreBase.OPTIMIZER)
    if update_on_kvstore is None:
        is_large = any(math.prod(one.shape) > _LARGE_ARRAY for one in params)
        wanted = os.environ.get("MXNET_UPDATE_ON_KVSTORE", "1") != "0"
        return store, can_update and wanted and not (kvstore == "local" and is_large)
    if update_on_kvstore and not can_update:
        raise ValueError(f"Please set update_on_kvstore=False when training with {type(store)}")
    return store, bool(update_on_kvstore)


def replace_values(store, keys, values):
    """Gives a store that updates parameters other values of them."""
    updater = store._updater
    store._set_updater(None)  # now what is pushed is stored
    store.push(keys, [[value] for value in values])
    store._set_updater(updater)


def _bytes_of(array):
    name = array._dtype_name
    return math.prod(array.shape) * (2 if name == "bfloat16" else np.dtype(name).itemsize)


class GradientExchange:
    """Calls of a store that exchange `grads`; each is queued and waits for its own gradients alone.

    Parameters
    ----------
    store : KVStoreBase. One of this package sums the keys of one call together, so small gradients go in
        buckets; another one gets a call for every key.
    keys : of the gradients in the store.
    grads : for each key a list over the contexts.
    outs : likewise, what receives the result; None: the gradients.
    order : places in `keys`, in the order in which backward completes the gradients.
    """

    def __init__(self, store, keys, grads, outs, order):
        self._store = store
        self._calls = []
        turn = {place: i for i, place in enumerate(order)}
        if isinstance(store, stores.KVStore):
            for bucket in _buckets([of_one[0] for of_one in grads], order):
                # What backward completes last, the next forward needs first.
                priority = max(map(turn.get, bucket)) - len(order) + 1
                taken = [[items[place] for place in bucket] for items in (keys, grads, outs or grads)]
                self._calls.append((*taken, priority))
        else:
            for place in order:
                out = grads[place] if outs is None else outs[place]
                self._calls.append((keys[place], grads[place], out, -place))

    def run(self):
        """Queues the exchange."""
        for keys, grads, outs, priority in self._calls:
            self._store.pushpull(keys, grads, out=outs, priority=priority)


def _buckets(arrays, order):
    """Lists of places: each large array alone, small ones of one dtype together up to the size of a bucket."""
    made, open_buckets = [], {}
    for place in order:
        size = _bytes_of(arrays[place])
        if size >= _BUCKET_BYTES:
            made.append([place])
            continue
        dtype = arrays[place]._dtype_name
        bucket, total = open_buckets.pop(dtype, ([], 0))
        bucket.append(place)
        if total + size >= _BUCKET_BYTES:
            made.append(bucket)
        else:
            open_buckets[dtype] = bucket, total + size
    return made + [bucket for bucket, _ in open_buckets.values()]
