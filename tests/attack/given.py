"""The names that the programs of an attack may use. To run a program alone, put `from given import *` above it."""

import copy
import itertools
import json
import operator
import os
import pickle
import tempfile

import numpy

import headrace as mx
from headrace import autograd, gluon, nd, np, npx, profiler, sym

inf, nan = numpy.inf, numpy.nan


def readonly(array):
    """A NumPy array that refuses to be written."""
    array.flags.writeable = False
    return array


def mapped(array):
    """A NumPy array with the same values in a file, which is mapped for reading only."""
    path = os.path.join(tempfile.gettempdir(), f"mapped-{os.getpid()}.npy")
    numpy.save(path, array)
    return numpy.load(path, mmap_mode="r")


def graph(op, attributes, shapes):
    """A symbol of one operator as a file would have it: `attributes` are texts, `shapes` those of its inputs."""
    nodes = [
        {"op": "null", "name": f"x{i}", "inputs": [], "attrs": {} if shape is None else {"__shape__": str(shape)}}
        for i, shape in enumerate(shapes)
    ]
    inputs = [[i, 0, 0] for i in range(len(shapes))]
    nodes.append({"op": op, "name": "y", "inputs": inputs, "attrs": attributes})
    arguments = list(range(len(shapes)))
    return sym.fromjson(json.dumps({"nodes": nodes, "arg_nodes": arguments, "heads": [[len(shapes), 0, 0]]}))
