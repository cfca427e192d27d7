"""Layer: the base class of the built-in layers and losses."""

from .. import _arrays as arrays
from .block import Block


class Layer(Block):
    """A block whose inputs are arrays and whose own parameters can take unknown dimensions from an input.

    `forward` calls nd functions, or npx functions in np mode, and reads parameters with `value`.
    """

    def infer_shape(self, x):
        """Completes the shapes of this layer's own parameters for the input `x`."""

    def value(self, parameter, x):
        """The replica of `parameter` on the context of `x`; finishes a deferred initialization first."""
        single = parameter._single
        return self._value(parameter, x) if single is None else single

    def _value(self, parameter, x):
        if parameter._deferred is not None:
            self.infer_shape(x)
            for own in self._reg_params.values():
                own._finish_deferred_init()
        return parameter.data(x.ctx)

    def _check_inputs(self, args):
        if not args or not isinstance(args[0], arrays.NDArray):
            got = ", ".join(type(arg).__name__ for arg in args) or "nothing"
            raise ValueError(
                f"{type(self).__name__} {self.name}: expected an array as first input, got {got}; there "
                "must be one NDArray in the input. Convert with nd.array or np.array."
            )
