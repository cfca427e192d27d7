"""The one vector that holds all weights and biases of a fused recurrent network."""

__all__ = ["FusedWeights"]

_GATES = {
    "rnn_relu": [""],
    "rnn_tanh": [""],
    "lstm": ["_i", "_f", "_c", "_o"],
    "gru": ["_r", "_z", "_o"],
}


class FusedWeights:
    """Where every gate's weights and biases lie in the vector that the operator RNN takes: first the weights
    of all layers and directions, then all biases.

    The arguments are those of FusedRNNCell, and names begin with `prefix`. ValueError: an unknown mode.
    """

    def __init__(self, num_hidden, num_layers, mode, bidirectional, prefix=""):
        if mode not in _GATES:
            raise ValueError(f"FusedRNNCell: expected one of {', '.join(_GATES)} as mode, got {mode!r}")
        self.gates = _GATES[mode]  # what follows 'i2h' and 'h2h' in names
        self.sides = ["l", "r"] if bidirectional else ["l"]
        self._num_hidden, self._num_layers, self._prefix = num_hidden, num_layers, prefix

    def parts(self, num_input):
        """(name, shape) of every gate's weights and biases, in order, for inputs of that size."""
        size = self._num_hidden
        cells = [(layer, side) for layer in range(self._num_layers) for side in self.sides]
        for kind in ("weight", "bias"):
            for layer, side in cells:
                width = num_input if layer == 0 else len(self.sides) * size
                for group, columns in (("i2h", width), ("h2h", size)):
                    for gate in self.gates:
                        name = f"{self._prefix}{side}{layer}_{group}{gate}_{kind}"
                        yield name, (size, columns) if kind == "weight" else (size,)

    def count(self, num_input):
        """How many numbers the vector has."""
        return sum(_size(shape) for _, shape in self.parts(num_input))

    def views(self, vector):
        """Name to a view of `vector`. AssertionError: no size of the inputs gives so many numbers."""
        num_input = self._input_size(vector.size)
        views, place = {}, 0
        for name, shape in self.parts(num_input):
            views[name] = vector[place : place + _size(shape)].reshape(shape)
            place += _size(shape)
        assert place == vector.size, (
            f"FusedRNNCell: expected {place} parameters for inputs of size {num_input}, got {vector.size}"
        )
        return views

    def _input_size(self, count):
        size, sides = self._num_hidden, len(self.sides)
        rest = (self._num_layers - 1) * (size + sides * size + 2)
        return count // sides // size // len(self.gates) - rest - size - 2


def _size(shape):
    return shape[0] * (shape[1] if len(shape) > 1 else 1)
