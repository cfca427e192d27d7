"""Stores and the exchange of gradients in a step of several contexts, for Trainer and Module."""

import math
import os

from . import _core
from . import kvstore as stores
from .base import ArrayTypeError, ArrayValueError
from .kvstore import KVStoreBase

__all__ = ["GradientExchange", "create_sparse_store", "create_store"]

_LARGE_ARRAY = 16 << 20  # elements above which the store 'local' sums and does not update


def create_store(kvstore, context_count, params, update_on_kvstore=None):
    """(store or None, whether it updates the parameters) for `kvstore`: a KVStoreBase, a name, or None.

    One context needs no store, unless one is given or the name of a distributed kind. `update_on_kvstore`
    decides who updates; None: the store where it can, unless the environment variable MXNET_UPDATE_ON_KVSTORE
    is 0 or the store is 'local' and one of the arrays `params` has more than 2^24 elements; an asynchronous
    store always updates. TypeError: another kind of `kvstore`. ValueError: an unknown name, or a store that
    cannot do what `update_on_kvstore` asks for.
    """
    if kvstore is not None and not isinstance(kvstore, (str, KVStoreBase)):
        raise ArrayTypeError(f"kvstore must be KVStore, str or None, got {kvstore!r}")
    if kvstore is None and update_on_kvstore:
        raise ArrayValueError(
            "update_on_kvstore=True needs a store, got kvstore=None; name one ('device'), or leave "
            "update_on_kvstore out"
        )
    if kvstore is None:
        return None, False
    is_name = isinstance(kvstore, str)
    if is_name and context_count == 1 and not stores.is_capable(kvstore, KVStoreBase.DISTRIBUTED):
        return None, False
    store = stores.create(kvstore) if is_name else kvstore
    can_update = store.is_capable(KVStoreBase.OPTIMIZER)
    if stores.is_capable(store, KVStoreBase.ASYNCHRONOUS):
        if update_on_kvstore is False:
            raise ArrayValueError("Please set update_on_kvstore=True when training in async mode.")
        if not can_update:
            raise ArrayValueError(
                f"the store {type(store)} is asynchronous, so it must update parameters, but is not capable "
                f"of '{KVStoreBase.OPTIMIZER}'; use another store"
            )
        return store, True
    if update_on_kvstore is None:
        is_large = any(math.prod(one.shape) > _LARGE_ARRAY for one in params)
        wanted = _wants_store_to_update()
        return store, can_update and wanted and not (kvstore == "local" and is_large)
    if update_on_kvstore and not can_update:
        raise ArrayValueError(f"Please set update_on_kvstore=False when training with {type(store)}")
    return store, bool(update_on_kvstore)


def _wants_store_to_update():
    """What MXNET_UPDATE_ON_KVSTORE says. ValueError: it is no number."""
    text = os.environ.get("MXNET_UPDATE_ON_KVSTORE") or "1"
    try:
        return int(text) != 0
    except ValueError:
        raise ArrayValueError(
            f"the environment variable MXNET_UPDATE_ON_KVSTORE is 0 or 1, got {text!r}"
        ) from None


def create_sparse_store(kvstore):
    """A store that holds and updates row_sparse parameters: `kvstore`, a KVStore, or one of that name.

    TypeError: another kind of `kvstore`. AssertionError: the store cannot update.
    """
    if not isinstance(kvstore, (str, stores.KVStore)):
        raise ArrayTypeError(
            f"Cannot create '{kvstore}' KVStore with row_sparse parameters. The type must be KVStore or str."
        )
    store = stores.create(kvstore) if isinstance(kvstore, str) else kvstore
    assert store.is_capable(KVStoreBase.OPTIMIZER), (
        f"KVStore with sparse weight requires optimizer support, which {type(store)} has not"
    )
    return store


class GradientExchange:
    """Calls of a store that exchange `grads`; each is queued and waits for its own gradients alone.

    Parameters
    ----------
    store : KVStoreBase. One of this package treats the keys of one call together, so small gradients share
        calls; another one gets a call for every key.
    keys : of the gradients in the store, in the order in which they were inited.
    grads : for each key a list over the contexts.
    outs : likewise, the parameters, when the store updates them; None for one that stays in the store. None
        for all: the gradients receive their sums.
    order : places in `keys`, in the order in which backward completes the gradients. Sums are computed in
        this order, parameters are updated in the order of `keys`: rules such as NAdam depend on it.
    """

    def __init__(self, store, keys, grads, outs, order):
        self._store = store
        self._calls = []
        self._pushes = []
        if outs is not None and None in outs:
            self._pushes = [
                (keys[place], grads[place], -place) for place, out in enumerate(outs) if out is None
            ]
            order = [place for place in order if outs[place] is not None]
        if not isinstance(store, stores.KVStore):
            for place in order if outs is None else sorted(order):
                out = None if outs is None else outs[place]  # None: in place, which such a store may look for
                self._calls.append((keys[place], grads[place], out, -place))
            return
        buckets = _core.gradient_buckets([grads[place][0] for place in order])
        if outs is not None and buckets:
            # One call: the store sums its keys in the order given, and updates them in its own.
            buckets = [[turn for bucket in buckets for turn in bucket]]
        for bucket in buckets:
            places = [order[turn] for turn in bucket]
            taken = [[items[place] for place in places] for items in (keys, grads, outs or grads)]
            # What backward completes last, the next forward needs first.
            self._calls.append((*taken, bucket[-1] - len(order) + 1))

    def run(self):
        """Queues the exchange."""
        for key, grads, priority in self._pushes:
            self._store.push(key, grads, priority=priority)
        for keys, grads, outs, priority in self._calls:
            self._store.pushpull(keys, grads, out=outs, priority=priority)
