"""The recurrent layers of the operator RNN."""

from .._registry import translates

GATES = {"lstm": 4, "gru": 3, "rnn_tanh": 1, "rnn_relu": 1}
OPERATORS = {"lstm": "LSTM", "gru": "GRU", "rnn_tanh": "RNN", "rnn_relu": "RNN"}
# Where each of ONNX's gates is among MXNet's.
ORDER = {"lstm": [0, 3, 1, 2], "gru": [1, 0, 2]}


class Packed:
    """The vector of all parameters: the matrices of all layers and directions, then their biases."""

    def __init__(self, g, name, gates, hidden, order):
        self.g, self.name, self.gates, self.hidden, self.order = g, name, gates, hidden, order
        self.place = 0

    def take(self, width):
        """The next matrix (or vector, for a width of 0), gates in ONNX's order, behind an axis of size 1."""
        g, rows = self.g, self.gates * self.hidden
        end = self.place + rows * (width or 1)
        part, self.place = g.slice(self.name, 0, self.place, end), end
        if self.order:
            part = g.add("Gather", [g.reshape(part, [self.gates, -1]), g.integers(self.order)], axis=0)
        return g.reshape(part, [1, rows, width] if width else [1, rows])


@translates("RNN")
def rnn(g, node):
    mode, hidden, layers = node.get("mode"), int(node.get("state_size")), int(node.get("num_layers"))
    node.refuse("mode", *GATES)
    for key in ("projection_size", "lstm_state_clip_min", "lstm_state_clip_max"):
        node.refuse(key)
    ways = 2 if node.get("bidirectional", False) else 1
    data, packed, *states = node.inputs
    lengths = ""
    if node.get("use_sequence_length", False):
        lengths = g.cast(states.pop(), "int32")
    weights = Packed(g, packed, GATES[mode], hidden, ORDER.get(mode))
    matrices = []
    for layer in range(layers):
        width = node.shapes[0][2] if layer == 0 else ways * hidden
        matrices.append([(weights.take(width), weights.take(hidden)) for _ in range(ways)])
    biases = [[(weights.take(0), weights.take(0)) for _ in range(ways)] for _ in range(layers)]
    options = {"hidden_size": hidden, "direction": "bidirectional" if ways == 2 else "forward"}
    if mode == "gru":
        options["linear_before_reset"] = 1
    if mode == "rnn_relu":
        options["activations"] = ["Relu"] * ways
    ends = []
    for layer in range(layers):
        w, r = (g.concat(list(part)) for part in zip(*matrices[layer]))
        b = g.concat([g.concat(list(pair), axis=1) for pair in biases[layer]])
        begin = [g.slice(state, 0, layer * ways, (layer + 1) * ways) for state in states]
        data, *last = g.add(
            OPERATORS[mode], [data, w, r, b, lengths, *begin], outputs=1 + len(states), **options
        )
        # (time, directions, batch, hidden) to (time, batch, directions * hidden)
        data = g.reshape(g.add("Transpose", [data], perm=[0, 2, 1, 3]), [0, 0, ways * hidden])
        ends.append(last)
    if not node.get("state_outputs", False):
        return data
    return [data, *(g.concat(list(each)) for each in zip(*ends))]
