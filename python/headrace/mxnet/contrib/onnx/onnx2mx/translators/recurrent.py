"""LSTM, GRU, RNN, and sequences of several lengths."""

import numpy as np

from .._registry import translates

# Where each of MXNet's gates is among ONNX's.
ORDER = {"LSTM": [0, 2, 3, 1], "GRU": [1, 0, 2], "RNN": [0]}
DEFAULTS = {"LSTM": ["Sigmoid", "Tanh", "Tanh"], "GRU": ["Sigmoid", "Tanh"], "RNN": ["Tanh"]}


def packed(node, hidden, ways):
    """The parameters of MXNet's RNN in one vector, its gates in MXNet's order."""
    weight, recurrent = node.constant(1), node.constant(2)
    gates = ORDER[node.operator]
    bias = node.constant(3, np.zeros((ways, 2 * len(gates) * hidden), weight.dtype))

    def ordered(array):
        return array.reshape(len(gates), -1)[gates].reshape(-1)

    matrices = [ordered(part[way]) for way in range(ways) for part in (weight, recurrent)]
    biases = [ordered(half) for way in range(ways) for half in np.split(bias[way], 2)]
    return node.parameter(np.concatenate([*matrices, *biases]), "parameters")


def mode_of(node, ways):
    """MXNet's name of the cell. MXNetError: other functions than MXNet's, or options that it has not."""
    kinds = node.get("activations", DEFAULTS[node.operator] * ways)
    kinds = [kind.decode() if isinstance(kind, bytes) else kind for kind in kinds]
    node.refuse("layout", 0)
    node.refuse("input_forget", 0)
    if "clip" in node.attrs or node.has(7):
        raise node.error("clip and peepholes have no translation to MXNet")
    if node.operator == "RNN" and kinds == ["Relu"] * ways:
        return "rnn_relu"
    if kinds != DEFAULTS[node.operator] * ways:
        raise node.error(f"activations={kinds} has no translation to MXNet")
    if node.operator == "GRU" and not node.get("linear_before_reset", 0):
        raise node.error("linear_before_reset=0 has no translation to MXNet; expected 1")
    return {"LSTM": "lstm", "GRU": "gru", "RNN": "rnn_tanh"}[node.operator]


@translates("LSTM", "GRU", "RNN")
def rnn(node):
    direction, hidden = node.get("direction", "forward"), node.get("hidden_size")
    ways = 2 if direction == "bidirectional" else 1
    mode = mode_of(node, ways)
    lengths = [node.op("Cast", node.input(4), dtype="float32")] if node.has(4) else []
    data = turned(node, node.input(), lengths) if direction == "reverse" else node.input()
    states = []
    for place in (5, 6) if mode == "lstm" else (5,):
        if node.has(place):
            states.append(node.input(place))
        else:
            shape = (ways, node.shape()[1] or 0, hidden)
            states.append(node.op("_zeros", shape=shape, dtype="float32"))
    outputs = node.op(
        "RNN",
        data,
        packed(node, hidden, ways),
        *states,
        *lengths,
        mode=mode,
        state_size=hidden,
        num_layers=1,
        bidirectional=ways == 2,
        state_outputs=True,
        use_sequence_length=bool(lengths),
    )
    whole = turned(node, outputs[0], lengths) if direction == "reverse" else outputs[0]
    # (time, batch, directions * hidden) to (time, directions, batch, hidden)
    parts = node.op("Reshape", whole, shape=(0, 0, ways, hidden))
    whole = node.out("transpose", parts, axes=(0, 2, 1, 3))
    return [whole, *(outputs[1 + i] for i in range(len(states)))]


def turned(node, data, lengths):
    """Sequences from their ends."""
    return node.op("SequenceReverse", data, *lengths, use_sequence_length=bool(lengths))


@translates("ReverseSequence")
def reverse_sequence(node):
    time, batch = node.get("time_axis", 0), node.get("batch_axis", 1)
    lengths = node.op("Cast", node.input(1), dtype="float32")
    if (time, batch) == (0, 1):
        return node.out("SequenceReverse", node.input(), lengths, use_sequence_length=True)
    # The other order of the first two axes.
    first = node.op("SwapAxis", node.input(), dim1=0, dim2=1)
    back = node.op("SequenceReverse", first, lengths, use_sequence_length=True)
    return node.out("SwapAxis", back, dim1=0, dim2=1)
