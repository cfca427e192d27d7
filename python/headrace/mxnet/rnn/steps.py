"""What cells make of their gates. Nodes are called as MXNet's: by `step` and what they are, or by counting.

`sigmoid`, `tanh` and `activate` are functions of a value and a name.
"""

from ... import symbol

__all__ = ["gru_step", "lstm_step"]


def lstm_step(step, gates, memory, sigmoid, activate):
    """(output, memory) of the gates i, f, g, o."""
    i, f, g, o = gates
    i, f, g, o = (
        sigmoid(i, step + "i"),
        sigmoid(f, step + "f"),
        activate(g, step + "c"),
        sigmoid(o, step + "o"),
    )
    memory = symbol.elemwise_add(f * memory, i * g, name=step + "state")
    return symbol.elemwise_mul(o, activate(memory, None), name=step + "out"), memory


def gru_step(step, i2h, h2h, hidden, sigmoid, activate):
    """The new hidden state of the gates r, z, n, which inputs and hidden state have each their part of."""
    r, z = (sigmoid(i2h[k] + h2h[k], f"{step}_{gate}_act") for k, gate in enumerate("rz"))
    candidate = activate(i2h[2] + r * h2h[2], step + "_h_act")
    return symbol.elemwise_add((1.0 - z) * candidate, z * hidden, name=step + "out")
