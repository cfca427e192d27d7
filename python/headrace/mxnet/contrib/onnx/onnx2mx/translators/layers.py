"""Layers of networks: norms, Dropout, softmax."""

import numpy as np

from .._registry import translates


@translates("Dropout")
def dropout(node):
    rate = node.setting("ratio", 1, [0.5])
    training = node.constant(2)
    mode = "always" if training is not None and training.any() else "training"
    return node.out("Dropout", node.input(), p=float(rate[0]), mode=mode)


@translates("BatchNormalization")
def batch_norm(node):
    node.refuse("training_mode", 0)
    node.refuse("spatial", 1)
    return node.out("BatchNorm", *node.inputs(), eps=node.get("epsilon", 1e-5), fix_gamma=False)


@translates("InstanceNormalization")
def instance_norm(node):
    return node.out("InstanceNorm", *node.inputs(), eps=node.get("epsilon", 1e-5))


def normalized(node, data, axes, eps):
    """Zero mean and unit variance over axes."""
    centred = node.op("broadcast_sub", data, node.op("mean", data, axis=axes, keepdims=True))
    variance = node.op("mean", node.op("square", centred), axis=axes, keepdims=True)
    deviation = node.op("sqrt", node.op("_plus_scalar", variance, scalar=eps))
    return node.op("broadcast_div", centred, deviation)


def scaled(node, data, gamma, beta):
    """data * gamma + beta, where there is a beta."""
    if beta is None:
        return node.out("broadcast_mul", data, gamma)
    return node.out("broadcast_add", node.op("broadcast_mul", data, gamma), beta)


@translates("LayerNormalization")
def layer_norm(node):
    axis, rank = node.axis(default=-1), node.rank()
    beta = node.input(2) if node.has(2) else None
    eps = node.get("epsilon", 1e-5)
    if axis == rank - 1 and beta is not None and node.rank(1) == 1:
        return node.out("LayerNorm", node.input(), node.input(1), beta, axis=-1, eps=eps)
    whole = normalized(node, node.input(), tuple(range(axis, rank)), eps)
    return scaled(node, whole, node.input(1), beta)


@translates("GroupNormalization")
def group_norm(node):
    data, groups, rank = node.input(), node.get("num_groups"), node.rank()
    grouped = node.op("Reshape", data, shape=(0, -4, groups, -1, -2))
    whole = normalized(node, grouped, tuple(range(2, rank + 1)), node.get("epsilon", 1e-5))
    if node.opset < 21:
        factors = [node.op("Reshape", node.input(i), shape=(-1, *[1] * (rank - 1))) for i in (1, 2)]
        return node.out("Reshape", scaled_parts(node, whole, factors), shape=(0, -3, -2))
    factors = [node.op("Reshape", node.input(i), shape=(-1, *[1] * (rank - 2))) for i in (1, 2)]
    return scaled(node, node.op("Reshape", whole, shape=(0, -3, -2)), *factors)


def scaled_parts(node, data, factors):
    return node.op("broadcast_add", node.op("broadcast_mul", data, factors[0]), factors[1])


@translates("MeanVarianceNormalization")
def mean_variance(node):
    axes = tuple(node.get("axes", (0, 2, 3)))
    return node.out("_copy", normalized(node, node.input(), axes, 1e-9))


@translates("RMSNormalization")
def rms_norm(node):
    data, axes = node.input(), tuple(range(node.axis(default=-1), node.rank()))
    power = node.op("mean", node.op("square", data), axis=axes, keepdims=True)
    size = node.op("sqrt", node.op("_plus_scalar", power, scalar=node.get("epsilon", 1e-5)))
    return node.out("broadcast_mul", node.op("broadcast_div", data, size), node.input(1))


@translates("LRN")
def local_norm(node):
    return node.out(
        "LRN",
        node.input(),
        nsize=node.get("size"),
        alpha=node.get("alpha", 1e-4),
        beta=node.get("beta", 0.75),
        knorm=node.get("bias", 1.0),
    )


@translates("LpNormalization")
def lp_normalization(node):
    node.refuse("p", 1, 2)
    data, axis = node.input(), node.axis(default=-1)
    size = node.op("norm", data, ord=node.get("p", 2), axis=(axis,), keepdims=True)
    return node.out("broadcast_div", data, node.op("_maximum_scalar", size, scalar=1e-12))


@translates("Softmax", "LogSoftmax", "Hardmax")
def softmax(node):
    data = node.input()
    if node.opset >= 13:
        return distribution(node, node.out, data, node.axis(default=-1))
    axis, rank = node.axis(default=1), node.rank()
    if axis == rank - 1:
        return distribution(node, node.out, data, axis)
    # Before opset 13, one distribution was over this axis and all that follow.
    rows = node.op("Reshape", data, shape=(*[0] * axis, -1))
    return node.out("reshape_like", distribution(node, node.op, rows, axis), data)


def distribution(node, make, data, axis):
    """Softmax, its logarithm, or 1 in the place of the largest."""
    if node.operator != "Hardmax":
        return make("softmax" if node.operator == "Softmax" else "log_softmax", data, axis=axis)
    sizes = node.shape()[axis:]
    if node.opset >= 13:
        sizes = sizes[:1]
    if None in sizes:
        raise node.error(f"expected known sizes, got {node.shape()}")
    hot = node.op("one_hot", node.op("argmax", data, axis=axis), depth=int(np.prod(sizes)))
    rank = node.rank()
    order = list(range(rank - 1))
    order.insert(axis, rank - 1)
    return make("transpose", hot, axes=order) if node.opset >= 13 else make("_copy", hot)
