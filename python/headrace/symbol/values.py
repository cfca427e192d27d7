"""What arrays have and symbols do not: values."""

from ..base import NotImplementedForSymbol

__all__ = ["WithoutValues"]


class WithoutValues:
    """Base of symbols: whatever asks for values, a device or a shape raises and says what to do instead."""

    __slots__ = ()

    def _refuse(self, function):
        raise NotImplementedForSymbol(
            f"Function {function} is not implemented for Symbol and only available in NDArray: the values of "
            f"{self.name} are not known while a graph is built. Compute with operators, or do not hybridize "
            "this block"
        )

    def __bool__(self):
        raise NotImplementedForSymbol(
            'Function __bool__ (namely operator "bool") is not implemented for Symbol and only available in '
            "NDArray: the truth of a symbol is not known while a graph is built; use where, or contrib.cond"
        )

    @property
    def shape(self):
        """Not there: a symbol has no shape (AttributeError)."""
        raise AttributeError(
            "'Symbol' object has no attribute 'shape': shapes are not known while a graph is built; "
            "infer_shape works them out"
        )

    def asnumpy(self):
        """NotImplementedForSymbol always: a symbol has no values."""
        self._refuse("asnumpy")

    def asscalar(self):
        """NotImplementedForSymbol always: a symbol has no values."""
        self._refuse("asscalar")

    def wait_to_read(self):
        """NotImplementedForSymbol always: a symbol has no values."""
        self._refuse("wait_to_read")

    def copy(self):
        """NotImplementedForSymbol always: symbols do not change; identity gives a node of its own."""
        self._refuse("copy")

    def detach(self):
        """NotImplementedForSymbol always: stop_gradient (BlockGrad) is what ends gradients in a graph."""
        self._refuse("detach")

    def as_in_context(self, context=None):
        """NotImplementedForSymbol always: a graph runs where its arrays are."""
        self._refuse("as_in_context")

    def backward(self, *args, **kwargs):
        """NotImplementedForSymbol always: Executor.backward computes the gradients of a bound symbol."""
        self._refuse("backward")

    def gradient(self, wrt):
        """NotImplementedForSymbol always, as in MXNet: bind the symbol and call Executor.backward, or use
        autograd.
        """
        raise NotImplementedForSymbol(
            f"Symbol.gradient is not implemented: bind {self.name} and call Executor.backward, or compute "
            "with arrays under autograd.record()"
        )
