"""HybridBlock: a block whose computation can also be traced into a graph."""

from .. import _arrays as arrays
from .. import ndarray as nd
from .block import Block
from .parameter import DeferredInitializationError

__all__ = ["HybridBlock"]


class HybridBlock(Block):
    """A block that defines `hybrid_forward(self, F, x, ..., **parameters)`.

    `F` is the namespace to call operators of: `nd` on arrays, `sym` on symbols; `F.np` and `F.npx` in np mode.
    The block's own parameters arrive as keyword arguments under their attribute names, as arrays or symbols.
    """

    def forward(self, x, *args):
        """Calls hybrid_forward with arrays or symbols, whatever `x` is."""
        if not isinstance(x, arrays.NDArray):
            self._check_inputs((x, *args))
        try:
            params = {name: param.data(x.ctx) for name, param in self._reg_params.items()}
        except DeferredInitializationError:
            self._finish_deferred(x, *args)
            params = {name: param.data(x.ctx) for name, param in self._reg_params.items()}
        return self.hybrid_forward(nd, x, *args, **params)

    def hybrid_forward(self, F, x, *args, **kwargs):
        """Computes the output with the operators of `F`; every subclass defines it."""
        raise NotImplementedError(f"{type(self).__name__} has no hybrid_forward(self, F, x, ...) method")

    def infer_shape(self, *args):
        """Completes the shapes of the parameters for inputs `args`."""

    def _finish_deferred(self, *args):
        self.infer_shape(*args)
        for own in self._reg_params.values():
            own._finish_deferred_init()

    def _check_inputs(self, args):
        if not args or not isinstance(args[0], arrays.NDArray):
            got = ", ".join(type(arg).__name__ for arg in args) or "nothing"
            raise ValueError(
                f"{type(self).__name__} {self.name}: expected an array as first input, got {got}; there "
                "must be one NDArray in the input. Convert with nd.array or np.array."
            )
