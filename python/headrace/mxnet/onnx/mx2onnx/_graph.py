"""The ONNX graph that is being written."""

import numpy as np


class Graph:
    """Nodes and constants of an ONNX graph. With `dynamic`, shapes are read when the model runs."""

    def __init__(self, onnx, dynamic=False):
        self.onnx, self.dynamic = onnx, dynamic
        self.nodes, self.constants = [], {}
        self._shared, self._count = {}, 0

    def add(self, operator, inputs, outputs=1, **options):
        """Adds a node; returns its output's name, or the list of names where there are several."""
        self._count += 1
        names = [f"{operator}:{self._count}" + (f".{i}" if i else "") for i in range(outputs)]
        self.nodes.append(self.onnx.helper.make_node(operator, list(inputs), names, names[0], **options))
        return names[0] if outputs == 1 else names

    def constant(self, value, dtype):
        """The name of a constant; equal constants share one."""
        array = np.array(value, dtype)
        key = (array.dtype.str, array.shape, array.tobytes())
        if key not in self._shared:
            self._shared[key] = f"constant:{len(self._shared)}"
            self.constants[self._shared[key]] = array
        return self._shared[key]

    def integers(self, values):
        """A constant vector of int64."""
        return self.constant(list(values), "int64")

    def integer(self, value):
        """A constant int64 without axes."""
        return self.constant(int(value), "int64")

    def cast(self, name, dtype):
        """A tensor as another dtype."""
        code = self.onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        return self.add("Cast", [name], to=code)

    def shape(self, node, index=0):
        """The shape of a node's input, a vector of int64: a constant unless the graph is dynamic."""
        if self.dynamic:
            return self.add("Shape", [node.inputs[index]])
        return self.integers(node.shapes[index])

    def size(self, node, axis, index=0):
        """The size along an axis of a node's input, a vector of one int64."""
        if self.dynamic:
            return self.slice(self.shape(node, index), 0, axis, axis + 1)
        return self.integers([node.shapes[index][axis]])

    def reshape(self, name, sizes):
        """Reshape to sizes, of which 0 is as before and -1 what is left."""
        return self.add("Reshape", [name, self.integers(sizes)])

    def slice(self, name, axis, begin, end, step=1):
        """The part of one axis from `begin` to `end`."""
        return self.add("Slice", [name, *(self.integers([v]) for v in (begin, end, axis, step))])

    def sum(self, name, axes=None, keepdims=True):
        """Sum over axes, or over all."""
        over = [self.integers(axes)] if axes is not None else []
        return self.add("ReduceSum", [name, *over], keepdims=int(keepdims))

    def unsqueeze(self, name, *axes):
        """New axes of size 1 at these places of the result."""
        return self.add("Unsqueeze", [name, self.integers(axes)])

    def count(self, size, rank=1, axis=0):
        """0, 1, ... up to a size (a vector of one int64), along one of `rank` axes."""
        end = self.add("Squeeze", [size, self.integers([0])])
        numbers = self.add("Range", [self.integer(0), end, self.integer(1)])
        others = [i for i in range(rank) if i != axis]
        return self.unsqueeze(numbers, *others) if others else numbers

    def concat(self, names, axis=0):
        """Joins tensors along an axis."""
        return self.add("Concat", names, axis=axis) if len(names) > 1 else names[0]

    def rename(self, first, old, new):
        """Gives an output of the nodes from the `first` on another name; False where none has it."""
        found = False
        for node in self.nodes[first:]:
            for names in (node.input, node.output):
                for i, name in enumerate(names):
                    if name == old:
                        found = found or names is node.output
                        names[i] = new
        return found
