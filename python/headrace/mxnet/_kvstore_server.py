"""Servers of a distributed store, which MXNet starts beside the workers."""

__all__ = ["KVStoreServer"]


class KVStoreServer:
    """NotImplementedError, always: stores of Headrace that span processes have no servers."""

    def __init__(self, kvstore):
        raise NotImplementedError(
            "KVStoreServer: stores that span processes sum among their workers; start workers alone, and "
            "take a distributed kind of store in each of them"
        )
