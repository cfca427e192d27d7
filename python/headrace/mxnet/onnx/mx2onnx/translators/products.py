"""Products of matrices."""

import math

from .._registry import translates


def turned(g, name, rank, turn):
    """The last two axes exchanged."""
    if not turn:
        return name
    return g.add("Transpose", [name], perm=[*range(rank - 2), rank - 1, rank - 2])


def factors(g, node):
    turns = node.get("transpose_a", False), node.get("transpose_b", False)
    return [turned(g, *each) for each in zip(node.inputs, map(len, node.shapes), turns)]


@translates("FullyConnected")
def fully_connected(g, node):
    data, weight, *bias = node.inputs
    if node.get("flatten", True):
        product = [g.add("Flatten", [data], axis=1) if node.rank != 2 else data, weight]
        return g.add("Gemm", [*product, *bias], transB=1)
    product = g.add("MatMul", [data, g.add("Transpose", [weight], perm=[1, 0])])
    return g.add("Add", [product, *bias]) if bias else product


@translates("batch_dot")
def batch_dot(g, node):
    return g.add("MatMul", factors(g, node))


@translates("_linalg_gemm2")
def gemm2(g, node):
    node.refuse("axis", -2)
    product = g.add("MatMul", factors(g, node))
    alpha = float(node.get("alpha", 1))
    return product if alpha == 1 else g.add("Mul", [product, g.constant(alpha, node.dtypes[0])])


@translates("dot")
def dot(g, node):
    """The last axis of the first factor with the first axis of the second."""
    ranks = [len(shape) for shape in node.shapes]
    for key, rank in zip(("transpose_a", "transpose_b"), ranks):
        if rank > 2:
            node.refuse(key, False)
    names = [
        turned(g, name, rank, rank == 2 and node.get(key, False))
        for name, rank, key in zip(node.inputs, ranks, ("transpose_a", "transpose_b"))
    ]
    if ranks[1] <= 2:
        product = g.add("MatMul", names)
        return g.reshape(product, [1]) if ranks == [1, 1] else product
    if g.dynamic:
        raise node.error("a second factor of more than two axes needs dynamic=False")
    rows = g.reshape(names[1], [node.shapes[1][0], math.prod(node.shapes[1][1:])])
    return g.reshape(g.add("MatMul", [names[0], rows]), node.out_shapes[0])
