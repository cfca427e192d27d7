"""Attention with queries, keys and values in one array."""

from .._registry import translates


@translates("_contrib_div_sqrt_dim")
def div_sqrt_dim(g, node):
    size = g.add("Squeeze", [g.size(node, node.rank - 1), g.integers([0])])
    return g.add("Div", [*node.inputs, g.add("Sqrt", [g.cast(size, node.dtypes[0])])])


def heads(g, node, count, parts, index=0):
    """The parts (queries, keys, values) of an array of (time, batch, heads * parts * size).

    Each has the shape (batch * heads, time, size).
    """
    width = node.shapes[index][2] // (count * parts)
    # The batch is read from the array, so it may be of any size.
    sizes = g.concat([g.integers([0, -1, parts]), g.integers([width])])
    split = g.add("Reshape", [node.inputs[index], sizes])
    turned = g.add("Transpose", [split], perm=[1, 2, 0, 3])
    found = []
    for i in range(parts):
        found.append(g.add("Gather", [turned, g.integer(i)], axis=1))
    return found, width


@translates("_contrib_interleaved_matmul_selfatt_qk")
def selfatt_qk(g, node):
    (queries, keys, _), width = heads(g, node, int(node.get("heads")), 3)
    scaled = g.add("Div", [queries, g.constant(width**0.5, node.dtypes[0])])
    return g.add("MatMul", [scaled, g.add("Transpose", [keys], perm=[0, 2, 1])])


@translates("_contrib_interleaved_matmul_encdec_qk")
def encdec_qk(g, node):
    count = int(node.get("heads"))
    (queries,), width = heads(g, node, count, 1)
    (keys, _), _ = heads(g, node, count, 2, index=1)
    scaled = g.add("Div", [queries, g.constant(width**0.5, node.dtypes[0])])
    return g.add("MatMul", [scaled, g.add("Transpose", [keys], perm=[0, 2, 1])])


@translates("_contrib_interleaved_matmul_selfatt_valatt", "_contrib_interleaved_matmul_encdec_valatt")
def valatt(g, node):
    count = int(node.get("heads"))
    values, width = heads(g, node, count, 3 if "selfatt" in node.operator else 2)
    product = g.add("MatMul", [node.inputs[1], values[-1]])
    # (batch * heads, time, size) to (time, batch, heads * size)
    turned = g.add("Transpose", [product], perm=[1, 0, 2])
    return g.reshape(turned, [0, -1, count * width])
