"""The names that programs of an attack may use: `from given import *` above one makes it whole."""

import copy
import gc
import json
import operator
import os
import pickle
import tempfile

import numpy
from child import Finding
from networks import check_names, failed, layers, learn, read_all, step

import headrace as mx
from headrace import autograd, gluon, nd, np, npx, profiler, sym, timeline
from headrace.mxnet.contrib import onnx, text

inf, nan = numpy.inf, numpy.nan


untouchable = []  # NumPy arrays that refuse to be written, and copies of them


def readonly(array):
    """A NumPy array that refuses to be written."""
    array.flags.writeable = False
    untouchable.append((array, array.copy()))
    return array


def mapped(array):
    """A NumPy array with the same values in a file, which is mapped for reading only."""
    with tempfile.NamedTemporaryFile(suffix=".npy") as file:
        numpy.save(file.name, array)
        return readonly(numpy.load(file.name, mmap_mode="r"))


def written(name, data):
    """The path of a file of that name with these bytes, or with this text."""
    with open(name, "wb") as file:
        file.write(data if isinstance(data, bytes) else data.encode())
    return name


def graph(op, attributes, shapes):
    """A symbol of one operator as a file has it: texts of attributes, shapes of inputs."""
    nodes = [
        {
            "op": "null",
            "name": f"x{i}",
            "inputs": [],
            "attrs": {} if shape is None else {"__shape__": str(shape)},
        }
        for i, shape in enumerate(shapes)
    ]
    inputs = [[i, 0, 0] for i in range(len(shapes))]
    nodes.append({"op": op, "name": "y", "inputs": inputs, "attrs": attributes})
    arguments = list(range(len(shapes)))
    return sym.fromjson(json.dumps({"nodes": nodes, "arg_nodes": arguments, "heads": [[len(shapes), 0, 0]]}))


def train(symbol, values, ctx=None):
    """The outputs and the gradients of a symbol for arrays by name, from a forward and a backward pass."""
    ctx = ctx or mx.cpu()
    gradients = {name: nd.zeros(one.shape, dtype=one.dtype, ctx=ctx) for name, one in values.items()}
    auxiliary = {name: gradients.pop(name) for name in symbol.list_auxiliary_states() if name in values}
    arguments = {name: one.as_in_context(ctx) for name, one in values.items() if name not in auxiliary}
    executor = symbol.bind(ctx, arguments, gradients, aux_states=auxiliary)
    outputs = executor.forward(is_train=True)
    executor.backward([nd.ones(one.shape, dtype=one.dtype, ctx=ctx) for one in outputs])
    return [*outputs, *gradients.values()]


def refused(function, *arguments):
    """Calls a function that must raise an error of Headrace."""
    try:
        function(*arguments)
    except mx.MXNetError:
        return
    raise Finding("accepted", f"{function.__name__} took what it must refuse")


def read(loaded):
    """The values of loaded arrays."""
    return [one.asnumpy() for one in (loaded.values() if isinstance(loaded, dict) else loaded)]


def read_batches(iterator):
    """The values of all batches."""
    return [read(batch.data + batch.label) for batch in iterator]


def read_records(reader):
    """All records, and the number of each by its key where the file has an index."""
    while reader.read() is not None:
        pass
    for key in getattr(reader, "keys", ()):
        reader.read_idx(key)


def use(symbol):
    """What a program does first with a symbol that it has read."""
    symbol.tojson()
    symbol.infer_shape_partial()
    symbol.list_arguments()


def dense(units):
    """A network of two layers with values."""
    net = gluon.nn.HybridSequential(prefix="net_")
    net.add(gluon.nn.Dense(3, in_units=units, prefix="a_"), gluon.nn.Dense(2, in_units=3, prefix="b_"))
    net.initialize()
    return net


def trained():
    """A trainer that has made a step."""
    net = dense(6)
    with autograd.record():
        loss = net(nd.ones((2, 6))).sum()
    loss.backward()
    trainer = gluon.Trainer(net.collect_params(), "adam")
    trainer.step(1)
    return trainer


def updater():
    """An updater without states."""
    return mx.optimizer.get_updater(mx.optimizer.create("adam"))


def net_of_all():
    """A symbol with layers, several outputs, numbers, reshaping and a loop."""
    x = sym.var("data", shape=(2, 3, 8, 8))
    y = sym.Convolution(x, kernel=(3, 3), num_filter=4, name="conv")
    y = sym.Pooling(sym.BatchNorm(y, name="bn"), kernel=(2, 2), stride=(2, 2), pool_type="max")
    parts = sym.split(y, num_outputs=2, axis=1, name="split")
    y = sym.Concat(parts[0], parts[1] * 2.5, dim=1)
    y = sym.transpose(sym.Reshape(y, shape=(0, -1)), axes=(1, 0))
    out, state = sym.contrib.foreach(lambda e, s: (e + s, s * 2), y, sym.var("state", shape=(2,)))
    return sym.Group([sym.sum(out, axis=1), state])
