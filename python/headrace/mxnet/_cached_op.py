"""`nd.CachedOp`: a symbol that is compiled once and called with arrays."""

from .. import _core
from ..ndarray import NDArray

__all__ = ["CachedOp"]


class CachedOp:
    """Calls of it compute a symbol for arrays in the order of `sym.list_inputs()`; they can be recorded.

    `flags`, MXNet's options of compilation, change nothing.
    """

    def __init__(self, sym, flags=()):
        self._symbol = sym
        self._op = _core.CachedOp(sym._handle)

    def __call__(self, *args, out=None, default_ctx=None):
        """One array, or a list of them when the symbol has several outputs; `out` receives them.

        ValueError: another number of arrays. TypeError: something else than arrays.
        """
        names = self._symbol.list_inputs()
        if len(args) != len(names):
            raise ValueError(f"CachedOp expects {len(names)} inputs, {names}, given {len(args)}")
        for name, one in zip(names, args):
            if not isinstance(one, NDArray):
                raise TypeError(f"CachedOp: {name} must be an array, got {type(one).__name__}")
        outputs = list(self._op(list(args), self._symbol._is_np))
        if out is not None:
            receivers = [out] if isinstance(out, NDArray) else out
            for result, receiver in zip(outputs, receivers):
                result.copyto(receiver)
            return out
        return outputs[0] if len(outputs) == 1 else outputs
