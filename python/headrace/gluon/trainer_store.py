"""What a Trainer does with the store that its contexts, or its workers, share."""

from .._exchange import create_sparse_store, create_store
from ..kvstore import KVStore, KVStoreBase, is_capable


class TrainerStore:
    """The part of `Trainer` that makes the store and fills it; whose fields it has."""

    def _check_store_may_change(self):
        if self._distributed:  # other workers know nothing of a change here
            raise RuntimeError("Cannot reset distributed KVStore.")

    def _check_value_may_change(self, param):
        if self._update_on_kvstore and self._param2idx[param.name] in self._stored:
            self._check_store_may_change()

    def _make_store(self):
        """A new store with all parameters, or what a _row_sparse_pull has begun, completed."""
        if self._version is not None or not self._has_store:
            for index, version in self._stored.items():
                param = self._params[index]
                if param.stype != "default" and param._version == version:  # its arrays may lack rows
                    self._store.pull(index, out=param._data, ignore_sparse=False)
            self._stored = {}
            self._create_store()
        self._fill_store(self._params)

    def _create_store(self):
        """Makes the store, or raises what is wrong, at every step anew."""
        wanted = self._kvstore_params["update_on_kvstore"]
        if self._contains_sparse_weight:
            if wanted is False:
                raise ValueError("Cannot set update_on_kvstore=False when sparse weights are present.")
            store, updates = create_sparse_store(self._kvstore_params["kvstore"]), True
        else:
            store, updates = create_store(
                self._kvstore_params["kvstore"],
                len(self._contexts),
                [param._data[0] for param in self._params],
                wanted,
            )
        distributed = store is not None and is_capable(store, KVStoreBase.DISTRIBUTED)
        if store is None:
            updates = None
        elif self._contains_sparse_grad and not self._contains_sparse_weight:
            updates = self._updates_sparse_grads(store, distributed, wanted)
        if store is not None and self._compression_params:
            store.set_gradient_compression(self._compression_params)
        if updates:
            store.set_optimizer(self._optimizer)
        self._store, self._distributed, self._update_on_kvstore = store, distributed, updates
        self._has_store = True

    @staticmethod
    def _updates_sparse_grads(store, distributed, wanted):
        if not isinstance(store, KVStore):
            raise ValueError(f"Cannot use {type(store)} for multi-device training with sparse gradients")
        if wanted is False and distributed:
            raise ValueError(
                "Cannot set update_on_kvstore=False on dist kvstore when sparse gradients are present."
            )
        return distributed if wanted is None else wanted

    def _fill_store(self, params):
        """Gives the store the values of `params` that it lacks."""
        if self._store is None:
            return
        for param in params:
            index = self._param2idx[param.name]
            is_stored = index in self._stored
            if is_stored and (param.stype == "default" or self._stored[index] == param._version):
                continue
            if is_stored:
                self._store.replace(index, param._data[0])
            elif param.stype == "default":
                self._store.broadcast(index, param._data[0], out=param._data)
            else:
                self._store.init(index, param._data[0])
            self._stored[index] = param._version

    def _write_to_store(self):
        """Gives the store the parameters' values in place of its own."""
        self._check_store_may_change()
        for index, param in enumerate(self._params):
            # The arrays of a row_sparse one that nobody replaced hold the rows that were last asked for.
            if param.stype == "default" or param._version != self._stored[index]:
                self._store.replace(index, param._data[0])
                self._stored[index] = param._version

    def _row_sparse_pull(self, param, out, row_id):
        """Writes rows of a row_sparse parameter into `out`, an array or a list: those that the array `row_id`
        names; None: all.
        """
        if self._version is not None:
            self._prepare()
        else:
            self._init_kvstore()
        if self._version is None:
            self._fill_store(
                [one for one in self._params if one.stype != "default" and one._data is not None]
            )
        index = self._param2idx[param.name]
        if row_id is None:
            self._store.pull(index, out=out, priority=-index, ignore_sparse=False)
        else:
            self._store.row_sparse_pull(index, out=out, row_ids=row_id, priority=-index)
