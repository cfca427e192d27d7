"""Sequences of several lengths."""

from .._registry import translates


def beside(g, node, axis):
    """Lengths of sequences as int64, and the places in them, of shapes that broadcast to time and batch."""
    lengths = g.unsqueeze(g.cast(node.inputs[1], "int64"), axis)
    return lengths, g.count(g.size(node, axis), 2, axis)


@translates("SequenceMask")
def sequence_mask(g, node):
    if not node.get("use_sequence_length", False):
        return g.add("Identity", node.inputs[:1])
    lengths, places = beside(g, node, node.axis(default=0))
    inside = g.add("Less", [places, lengths])
    if node.rank > 2:
        inside = g.unsqueeze(inside, *range(2, node.rank))
    return g.add("Where", [inside, node.inputs[0], g.constant(float(node.get("value", 0)), node.dtypes[0])])


@translates("SequenceReverse")
def sequence_reverse(g, node):
    if not node.get("use_sequence_length", False):
        return g.slice(node.inputs[0], 0, -1, -(2**62), -1)
    lengths = g.cast(node.inputs[1], "int64")
    return g.add("ReverseSequence", [node.inputs[0], lengths], time_axis=0, batch_axis=1)


@translates("SequenceLast")
def sequence_last(g, node):
    axis = node.axis(default=0)
    if not node.get("use_sequence_length", False):
        return g.add("Gather", [node.inputs[0], g.integer(-1)], axis=axis)
    data = (
        node.inputs[0]
        if axis == 1
        else g.add("Transpose", node.inputs[:1], perm=[1, 0, *range(2, node.rank)])
    )
    last = g.add("Sub", [g.cast(node.inputs[1], "int64"), g.integers([1])])
    return g.add("GatherND", [data, g.unsqueeze(last, 1)], batch_dims=1)
