"""What cells make of their gates, with the operators `ops` of arrays or symbols.

The nodes of a graph are named `step` and what they are. `sigmoid`, `tanh` and `last` are functions of a value
and a name: the activations that the cell has in these places.
"""

__all__ = ["gru_step", "lstm_step"]


def lstm_step(ops, step, gates, memory, sigmoid, tanh, last, out="out"):
    """(output, memory) of the gates i, f, g, o; `last` is that of the new memory, `out` the output's name."""
    i, f, g, o = gates
    i, f, o = sigmoid(i, step + "i"), sigmoid(f, step + "f"), sigmoid(o, step + "o")
    added = ops.elemwise_mul(i, tanh(g, step + "c"), name=step + "mul1")
    kept = ops.elemwise_mul(f, memory, name=step + "mul0")
    memory = ops.elemwise_add(kept, added, name=step + "state")
    return ops.elemwise_mul(o, last(memory, step + "activation0"), name=step + out), memory


def gru_step(ops, step, i2h, h2h, hidden, sigmoid, tanh):
    """The new hidden state of the gates r, z, n, which inputs and hidden state have each their part of."""
    r, z = (
        sigmoid(ops.elemwise_add(x, h, name=f"{step}plus{place}"), f"{step}{name}_act")
        for place, (x, h, name) in enumerate(zip(i2h, h2h, "rz"))
    )
    part = ops.elemwise_mul(r, h2h[2], name=step + "mul0")
    candidate = tanh(ops.elemwise_add(i2h[2], part, name=step + "plus2"), step + "h_act")
    ones = ops.ones_like(z, name=step + "ones_like0")
    renewed = ops.elemwise_mul(ops.elemwise_sub(ones, z, name=step + "minus0"), candidate, name=step + "mul1")
    return ops.elemwise_add(renewed, ops.elemwise_mul(z, hidden, name=step + "mul20"), name=step + "out")
