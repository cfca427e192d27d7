"""Products of matrices."""

from .._registry import translates


@translates("MatMul")
def matmul(node):
    if node.ranks(0, 1) == [1, 1]:
        return node.out("dot", *node.inputs())
    return node.out("_npi_matmul", *node.inputs())


@translates("Gemm")
def gemm(node):
    factors = [node.input(0), node.input(1)]
    turns = {"transpose_a": bool(node.get("transA", 0)), "transpose_b": bool(node.get("transB", 0))}
    alpha, beta = node.get("alpha", 1.0), node.get("beta", 1.0)
    if not node.has(2):
        return node.out("_linalg_gemm2", *factors, alpha=alpha, **turns)
    product = node.op("_linalg_gemm2", *factors, alpha=alpha, **turns)
    added = node.input(2) if beta == 1 else node.op("_mul_scalar", node.input(2), scalar=beta)
    return node.out("broadcast_add", product, added)


@translates("Einsum")
def einsum(node):
    operands = node.inputs()
    return node.out("_npi_einsum", *operands, subscripts=node.get("equation").replace(" ", ""))


@translates("Det")
def det(node):
    return node.out("_linalg_det", node.input())
