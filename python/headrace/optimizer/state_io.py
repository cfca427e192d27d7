"""Optimizer states as bytes: MXNet's pickle layout, read by an unpickler that makes only what states hold.

The bytes are a pickle of `{index: state}` or of `({index: state}, optimizer)`. An array is its class called
with None and the state `{'handle': record}`, the record being the array's own entry of a `.params` file.
Reading turns MXNet's class paths into ours and refuses every class that is not an array, an optimizer, a
scheduler or a plain value.
"""

import builtins
import codecs
import io
import pickle
import struct

import numpy as np

from .. import lr_scheduler
from .. import ndarray as nd
from .._arrays import in_mode
from .base import Optimizer

_LIST_MAGIC = 0x112
_HEADER = struct.Struct("<QQQ")  # magic, reserved, number of arrays; then the record and the number of names

_BUILTINS = (
    "bool",
    "bytearray",
    "bytes",
    "complex",
    "dict",
    "float",
    "frozenset",
    "int",
    "list",
    "set",
    "str",
    "tuple",
)
# The functions that numpy pickles arrays and scalars with; their modules differ between versions.
_NUMPY_FUNCTIONS = {"_reconstruct": np.zeros(1).__reduce__()[0], "scalar": np.float64(0).__reduce__()[0]}
_PACKAGES = ("mxnet.", "headrace.")


class _ArrayRecord:
    """Stands for an array while a pickle is read; `handle` is its record, or None."""

    def __init__(self, _=None):
        self.handle = None

    def __setstate__(self, state):
        self.handle = state.get("handle")

    def array(self):
        if self.handle is None:
            return None
        record = bytes(self.handle)
        if len(record) < 4:
            raise ValueError("optimizer states: expected an array record, got fewer than 4 bytes")
        buffer = _HEADER.pack(_LIST_MAGIC, 0, 1) + record + struct.pack("<Q", 0)
        return in_mode(nd.load_frombuffer(buffer)[0])


class _StateUnpickler(pickle.Unpickler):
    """Finds only classes that optimizer states hold; anything else is a ValueError."""

    def find_class(self, module, name):
        if module in ("builtins", "__builtin__") and name in _BUILTINS:
            return getattr(builtins, name)
        if (module, name) == ("collections", "OrderedDict"):
            return dict
        if (module, name) == ("_codecs", "encode"):  # numpy pickles the bytes of scalars through it
            return codecs.encode
        if module.split(".")[0] == "numpy":
            return self._find_numpy(module, name)
        if module.startswith(_PACKAGES):
            found = self._find_own(module, name)
            if found is not None:
                return found
        registered = Optimizer.opt_registry.get(name.lower())
        if registered is not None and (registered.__module__, registered.__qualname__) == (module, name):
            return registered
        raise ValueError(
            f"optimizer states: refused to make {module}.{name}; expected arrays, registered optimizers, "
            "learning-rate schedulers and plain values. Register an optimizer of your own with "
            "Optimizer.register before loading."
        )

    @staticmethod
    def _find_numpy(module, name):
        if name in ("ndarray", "dtype"):
            return getattr(np, name)
        if name in _NUMPY_FUNCTIONS and module.rpartition(".")[2] == "multiarray":
            return _NUMPY_FUNCTIONS[name]
        scalar = getattr(np, name, None)
        if isinstance(scalar, type) and issubclass(scalar, np.generic):
            return scalar
        raise ValueError(
            f"optimizer states: refused to make {module}.{name}; expected numpy arrays and scalars"
        )

    @staticmethod
    def _find_own(module, name):
        """Our class for a class path of either package, or None."""
        part = module.split(".")[1]
        if name in ("NDArray", "ndarray") and part in ("ndarray", "numpy", "_core"):
            return _ArrayRecord
        if part == "lr_scheduler" and name in lr_scheduler.__all__:
            return getattr(lr_scheduler, name)
        if part == "optimizer":
            return Optimizer.opt_registry.get(name.lower())
        return None


def _with_arrays(value):
    """`value` with every _ArrayRecord, at any depth of dict, list and tuple, turned into its array."""
    if isinstance(value, _ArrayRecord):
        return value.array()
    if isinstance(value, dict):
        return {key: _with_arrays(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(map(_with_arrays, value))
    return value


def dump_states(states, optimizer=None):
    """The states, with the optimizer unless it is None, as bytes."""
    return pickle.dumps(states if optimizer is None else (states, optimizer))


def load_states(data):
    """(states, optimizer or None) from the bytes of `dump_states` or of MXNet.

    ValueError: broken bytes, another layout, or a class that states do not hold.
    """
    try:
        content = _StateUnpickler(io.BytesIO(data)).load()
    except ValueError:
        raise
    except Exception as error:
        raise ValueError(
            f"optimizer states: broken file ({type(error).__name__}: {error}); expected what "
            "Trainer.save_states wrote"
        ) from error
    optimizer = None
    if isinstance(content, tuple) and len(content) == 2:
        content, optimizer = content
    if not isinstance(content, dict) or not (optimizer is None or isinstance(optimizer, Optimizer)):
        raise ValueError(
            "optimizer states: expected a dictionary of states, or one with its optimizer; got "
            f"{type(content).__name__}"
        )
    if optimizer is not None:
        optimizer.__dict__.update(_with_arrays(optimizer.__dict__))
    return _with_arrays(content), optimizer
