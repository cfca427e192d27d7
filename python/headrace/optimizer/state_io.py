"""Optimizer states as bytes: MXNet's pickle layout, read by an unpickler that makes only what states hold.

The bytes are a pickle of `{index: state}` or of `({index: state}, optimizer)`. An array has the state
`{'handle': record}`, the record being the array's own entry of a `.params` file. Reading turns MXNet's class
paths into ours and refuses every class that is not an array, an optimizer, a scheduler or a plain value.
"""

import builtins
import codecs
import io
import pickle

import numpy as np

from .. import lr_scheduler
from .._arrays import NDArray, NpArray
from .base import Optimizer

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


def _empty_nd(*_):
    return NDArray.__new__(NDArray)


def _empty_np(*_):
    return NpArray.__new__(NpArray)


# What a pickle calls to make an array before it sets the state {"handle": record}: in MXNet the class,
# with None, in ours a function, with the class and None.
_ARRAY_MAKERS = {"NDArray": _empty_nd, "ndarray": _empty_np, "_from_record": lambda make, _: make()}


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
        if part in ("ndarray", "numpy") and name in _ARRAY_MAKERS:
            return _ARRAY_MAKERS[name]
        if part == "lr_scheduler" and name in lr_scheduler.__all__:
            return getattr(lr_scheduler, name)
        if part == "optimizer":
            return Optimizer.opt_registry.get(name.lower())
        return None


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
    return content, optimizer
