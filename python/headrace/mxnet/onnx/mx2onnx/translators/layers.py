"""Layers of networks: activations, norms, Dropout, softmax."""

import numpy as np

from .._registry import translates

ACTIVATIONS = {
    "relu": "Relu",
    "sigmoid": "Sigmoid",
    "tanh": "Tanh",
    "softrelu": "Softplus",
    "softsign": "Softsign",
}


@translates("Activation")
def activation(g, node):
    kind = node.get("act_type")
    if kind == "log_sigmoid":
        return g.add("Neg", [g.add("Softplus", [g.add("Neg", node.inputs)])])
    if kind == "mish":
        return g.add("Mul", [*node.inputs, g.add("Tanh", [g.add("Softplus", node.inputs)])])
    node.refuse("act_type", *ACTIVATIONS, "log_sigmoid", "mish")
    return g.add(ACTIVATIONS[kind], node.inputs)


def gelu(g, node, slope):
    dtype = node.dtypes[0]
    error = g.add("Erf", [g.add("Mul", [node.inputs[0], g.constant(0.5**0.5, dtype)])])
    half = g.add("Mul", [node.inputs[0], g.constant(0.5, dtype)])
    return g.add("Mul", [half, g.add("Add", [error, g.constant(1, dtype)])])


def prelu(g, node, slope):
    data, gamma = node.inputs
    # One slope per channel, the second axis.
    return g.add("PRelu", [data, g.reshape(gamma, [-1] + [1] * (node.rank - 2)) if node.rank > 2 else gamma])


LEAKY = {
    "leaky": lambda g, node, slope: g.add("LeakyRelu", node.inputs, alpha=slope),
    "rrelu": lambda g, node, slope: g.add(
        "LeakyRelu",
        node.inputs,
        alpha=(float(node.get("lower_bound", 0.125)) + float(node.get("upper_bound", 0.334))) / 2,
    ),
    "elu": lambda g, node, slope: g.add("Elu", node.inputs, alpha=slope),
    "selu": lambda g, node, slope: g.add("Selu", node.inputs),
    "gelu": gelu,
    "prelu": prelu,
}


@translates("LeakyReLU")
def leaky_relu(g, node):
    node.refuse("act_type", *LEAKY)
    return LEAKY[node.get("act_type", "leaky")](g, node, float(node.get("slope", 0.25)))


@translates("Dropout")
def dropout(g, node):
    if node.get("mode", "training") == "training":
        return g.add("Identity", node.inputs)
    if node.axes("axes"):
        raise node.error("mode=always with axes has no translation to ONNX; expected axes=()")
    rate = g.constant(float(node.get("p", 0.5)), node.dtypes[0])
    return g.add("Dropout", [*node.inputs, rate, g.constant(True, "bool")])


def moved(g, node, name, axis, back=False):
    """The axis in the second place, or back from there."""
    if axis == 1:
        return name
    order = [i for i in range(node.rank) if i != axis]
    order.insert(1, axis)
    return g.add("Transpose", [name], perm=np.argsort(order).tolist() if back else order)


@translates("BatchNorm", "_contrib_SyncBatchNorm")
def batch_norm(g, node):
    data, gamma, *others = node.inputs
    node.refuse("output_mean_var", False)
    axis = node.axis(default=1)
    if node.get("fix_gamma", True):
        gamma = g.constant(np.ones(node.shapes[1]), node.dtypes[1])
    result = g.add(
        "BatchNormalization",
        [moved(g, node, data, axis), gamma, *others],
        epsilon=float(node.get("eps", 1e-3)),
    )
    return moved(g, node, result, axis, back=True)


def normalized(g, node, data, axes, eps):
    """Zero mean and unit variance over axes."""
    centred = g.add("Sub", [data, g.add("ReduceMean", [data], axes=axes, keepdims=1)])
    variance = g.add("ReduceMean", [g.add("Mul", [centred, centred])], axes=axes, keepdims=1)
    deviation = g.add("Sqrt", [g.add("Add", [variance, g.constant(eps, node.dtypes[0])])])
    return g.add("Div", [centred, deviation])


def scaled(g, data, gamma, beta):
    return g.add("Add", [g.add("Mul", [data, gamma]), beta])


@translates("LayerNorm")
def layer_norm(g, node):
    data, *factors = node.inputs
    node.refuse("output_mean_var", False)
    axis = node.axis()
    if axis != node.rank - 1:
        factors = [g.reshape(name, [-1] + [1] * (node.rank - 1 - axis)) for name in factors]
    return scaled(g, normalized(g, node, data, [axis], float(node.get("eps", 1e-5))), *factors)


@translates("InstanceNorm")
def instance_norm(g, node):
    return g.add("InstanceNormalization", node.inputs, epsilon=float(node.get("eps", 1e-3)))


@translates("GroupNorm")
def group_norm(g, node):
    data, *factors = node.inputs
    node.refuse("output_mean_var", False)
    groups = int(node.get("num_groups", 1))
    whole = normalized(g, node, g.reshape(data, [0, groups, -1]), [2], float(node.get("eps", 1e-5)))
    factors = [g.reshape(name, [-1, 1]) for name in factors]  # one for each group
    return g.add("Reshape", [scaled(g, whole, *factors), g.shape(node)])


@translates("LRN")
def local_norm(g, node):
    options = {"alpha": ("alpha", 1e-4), "beta": ("beta", 0.75), "bias": ("knorm", 2)}
    return g.add(
        "LRN",
        node.inputs,
        size=int(node.get("nsize")),
        **{theirs: float(node.get(*ours)) for theirs, ours in options.items()},
    )


@translates("L2Normalization")
def l2_normalization(g, node):
    modes = {
        "instance": range(1, node.rank),
        "channel": [1],
        "spatial": range(2, node.rank),
    }
    data = node.inputs[0]
    total = g.sum(g.add("Mul", [data, data]), modes[node.get("mode", "instance")])
    eps = g.constant(float(node.get("eps", 1e-10)), node.dtypes[0])
    return g.add("Div", [data, g.add("Sqrt", [g.add("Add", [total, eps])])])


@translates("softmax", "log_softmax", "softmin")
def softmax(g, node):
    axis, data, dtype = node.axis(), node.inputs[0], node.dtypes[0]
    temperature = float(node.get("temperature", 1))
    if node.operator == "softmin":
        temperature = -temperature
    if temperature != 1:
        data = g.add("Div", [data, g.constant(temperature, dtype)])
    masked = node.get("use_length", False)
    if masked:
        places = g.count(g.size(node, axis), node.rank, axis)
        inside = g.add("Less", [places, g.unsqueeze(g.cast(node.inputs[1], "int64"), axis)])
        data = g.add("Where", [inside, data, g.constant(np.finfo(dtype).min, dtype)])
    kind = "LogSoftmax" if node.operator == "log_softmax" else "Softmax"
    result = g.add(kind, [data], axis=axis)
    if masked:
        result = g.add("Where", [inside, result, g.constant(0, dtype)])
    return result if node.out_dtypes[0] == dtype else g.cast(result, node.out_dtypes[0])


@translates("SoftmaxActivation")
def softmax_activation(g, node):
    channel = node.get("mode", "instance") == "channel"
    return g.add("Softmax", node.inputs, axis=1 if channel else node.rank - 1)


@translates("SoftmaxOutput")
def softmax_output(g, node):
    if node.get("preserve_shape", False):
        return g.add("Softmax", node.inputs[:1], axis=node.rank - 1)
    if node.get("multi_output", False) or node.rank == 2:
        return g.add("Softmax", node.inputs, axis=1)
    # One distribution over everything but the first axis.
    flat = g.add("Softmax", [g.add("Flatten", node.inputs, axis=1)], axis=1)
    return g.add("Reshape", [flat, g.shape(node)])
