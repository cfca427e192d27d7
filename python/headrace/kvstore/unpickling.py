"""What processes of a job unpickle that others have sent."""

import io
import os
import pickle

from ..base import MXNetError
from ..optimizer.state_io import StateUnpickler, check_memo

__all__ = ["unpickled"]


class _Unpickler(StateUnpickler):
    """Makes anything where the job has certificates, which only its own processes have. Without, whoever
    reaches the port may have sent it: then it makes what files of states may hold, and no more.
    """

    def __init__(self, data, arrays):
        super().__init__(io.BytesIO(data))
        self._arrays = arrays

    def find_class(self, module, name):
        if os.environ.get("HEADRACE_CERTIFICATES"):
            return pickle.Unpickler.find_class(self, module, name)
        try:
            return super().find_class(module, name)
        except ValueError:
            raise MXNetError(
                f"kvstore: refused to make {module}.{name}: in a job without certificates servers take "
                "registered optimizers, learning-rate schedulers, arrays and plain values alone, as whoever "
                "reaches them could run code there otherwise; start the job with certificates (`python -m "
                "headrace.launch` without --plain, or HEADRACE_CERTIFICATES)"
            ) from None

    def persistent_load(self, number):
        return self._arrays[number]


def unpickled(data, arrays=()):
    """The value of a pickle; `arrays`: those that it leaves out, by number.

    MXNetError: a class that is not taken from whoever has no certificate. ValueError: a broken pickle.
    """
    check_memo(data)
    return _Unpickler(data, arrays).load()
