"""Optimizer states as bytes: MXNet's pickle layout, read by an unpickler that makes only what states hold.

The bytes are a pickle of `{index: state}` or of `({index: state}, optimizer)`. An array has the state
`{'handle': record}`, the record being the array's own entry of a `.params` file. Reading turns MXNet's class
paths into ours and refuses every class that is not an array, an optimizer, a scheduler or a plain value.
"""

import io
import pickle
import pickletools

import numpy as np

from .. import lr_scheduler
from .._arrays import NDArray, NpArray
from ..ndarray import sparse
from .base import Optimizer

_PACKAGES = ("mxnet.", "headrace.")
_NUMPY_ARRAY = object()  # stands for numpy.ndarray, which a pickle only passes on to _reconstruct


def _bytearray(data=b"", encoding="latin1"):
    if not isinstance(data, (bytes, str)):
        raise ValueError(f"expected bytes, got {type(data).__name__}")
    return bytearray(data) if isinstance(data, bytes) else bytearray(_encode(data, encoding))


def _encode(text, encoding):
    if encoding not in ("latin1", "latin-1"):
        raise ValueError(f"expected the encoding latin1, got {encoding!r}")
    return text.encode("latin1")


def _reconstruct(cls, shape, _):
    if cls is not _NUMPY_ARRAY or shape != (0,):
        raise ValueError("expected an empty numpy array that gets its values later")
    return np.empty(0)


def _empty_nd(*_):
    return NDArray.__new__(NDArray)


def _empty_csr(*_):
    return sparse.CSRNDArray.__new__(sparse.CSRNDArray)


def _empty_rows(*_):
    return sparse.RowSparseNDArray.__new__(sparse.RowSparseNDArray)


def _empty_np(*_):
    return NpArray.__new__(NpArray)


# What pickles call, by name; none of it allocates more than it is given.
_PLAIN_MAKERS = {
    ("builtins", "bytearray"): _bytearray,
    ("builtins", "complex"): complex,
    ("builtins", "frozenset"): frozenset,
    ("builtins", "set"): set,
    ("builtins", "str"): str,
    ("collections", "OrderedDict"): dict,
    ("_codecs", "encode"): _encode,
    ("numpy", "dtype"): np.dtype,
    ("numpy", "ndarray"): _NUMPY_ARRAY,
}
_NUMPY_MAKERS = {
    "_reconstruct": _reconstruct,
    "_frombuffer": lambda data, dtype, shape, order: (
        np.frombuffer(data, dtype).reshape(shape, order=order).copy()
    ),
    "scalar": np.float64(0).__reduce__()[0],
}
# MXNet makes an array by calling its class with None, we by calling a function of the array's kind, of sparse
# arrays one with the class and None; all then give it the state {"handle": record}.
_ARRAY_MAKERS = {
    "NDArray": _empty_nd,
    "ndarray": _empty_np,
    "CSRNDArray": _empty_csr,
    "RowSparseNDArray": _empty_rows,
    "_from_record": lambda make, _: make(),
    "_new_nd_array": _empty_nd,
    "_new_np_array": _empty_np,
}


class StateUnpickler(pickle.Unpickler):
    """Finds only what optimizer states hold; anything else is a ValueError."""

    def find_class(self, module, name):
        found = _PLAIN_MAKERS.get((module.replace("__builtin__", "builtins"), name))
        if found is None and module.split(".")[0] == "numpy":
            found = self._find_numpy(module, name)
        if found is None and module.startswith(_PACKAGES):
            found = self._find_own(module.split(".")[1], name)
        if found is None:
            found = self._find_registered(module, name)
        if found is None:
            raise ValueError(
                f"optimizer states: refused to make {module}.{name}; expected arrays, registered optimizers, "
                "learning-rate schedulers and plain values. Register an optimizer of your own with "
                "Optimizer.register before loading."
            )
        return found

    @staticmethod
    def _find_numpy(module, name):
        if module.endswith((".multiarray", ".numeric")):
            return _NUMPY_MAKERS.get(name)
        scalar = getattr(np, name, None) if module == "numpy" else None
        is_number = isinstance(scalar, type) and issubclass(scalar, (np.number, np.bool_))
        return scalar if is_number else None

    @staticmethod
    def _find_own(part, name):
        """Our class for a name in a part (`ndarray`, `optimizer`, ...) of either package."""
        if part in ("ndarray", "numpy"):
            return _ARRAY_MAKERS.get(name)
        if part == "lr_scheduler" and name in lr_scheduler.__all__:
            return getattr(lr_scheduler, name)
        return Optimizer.opt_registry.get(name.lower()) if part == "optimizer" else None

    @staticmethod
    def _find_registered(module, name):
        found = Optimizer.opt_registry.get(name.lower())
        is_same = found is not None and (found.__module__, found.__qualname__) == (module, name)
        return found if is_same else None


def check_memo(data):
    """Refuses a pickle that asks for a table far larger than itself: the unpickler would allocate it."""
    for opcode, argument, _ in pickletools.genops(data):
        if opcode.name in ("PUT", "BINPUT", "LONG_BINPUT") and argument > len(data):
            raise ValueError(f"optimizer states: broken file (entry {argument} in {len(data)} bytes)")


def dump_states(states, optimizer=None):
    """The states, with the optimizer unless it is None, as bytes."""
    return pickle.dumps(states if optimizer is None else (states, optimizer), protocol=4)


def load_states(data):
    """(states, optimizer or None) from the bytes of `dump_states` or of MXNet.

    ValueError: broken bytes, another layout, or a class that states do not hold.
    """
    try:
        check_memo(data)
        content = StateUnpickler(io.BytesIO(data)).load()
    except Exception as error:
        if isinstance(error, ValueError) and str(error).startswith("optimizer states"):
            raise
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
