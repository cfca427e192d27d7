"""A node of an ONNX graph as translators see it."""

import numpy as np

from ..... import symbol
from .....base import MXNetError


class Node:
    """Operator, name and attributes of a node; symbols, constants and shapes of its inputs."""

    def __init__(self, onnx, graph, proto):
        self._graph, self._proto, self.onnx = graph, proto, onnx
        self.operator, self.name = proto.op_type, proto.name or next(filter(None, proto.output), "")
        self.opset, self.outputs = graph.opset_version, len(proto.output)
        self.attrs = {a.name: self._attribute(a) for a in proto.attribute}

    def _attribute(self, attribute):
        try:
            value = self.onnx.helper.get_attribute_value(attribute)
        except (TypeError, ValueError) as error:
            raise self.error(f"the attribute {attribute.name} cannot be read: {error}") from error
        return value.decode(errors="replace") if isinstance(value, bytes) else value

    def get(self, key, default=None):
        """An attribute's value, the default where it is absent."""
        return self.attrs.get(key, default)

    def has(self, index):
        """Whether there is an input in this place."""
        return index < len(self._proto.input) and bool(self._proto.input[index])

    def input(self, index=0):
        """The symbol of an input."""
        return self._graph.value(self._input_name(index))

    def inputs(self):
        """The symbols of all inputs."""
        return [self.input(i) for i in range(len(self._proto.input))]

    def _input_name(self, index):
        if not self.has(index):
            raise self.error(f"expected an input in place {index + 1}")
        return self._proto.input[index]

    def constant(self, index, default=None):
        """The array of a constant input; the default where there is no input."""
        if not self.has(index):
            return default
        name = self._input_name(index)
        value = self._graph.computed(name)
        if value is None:
            raise self.error(f"expected its input {name} to be a constant")
        return value

    def setting(self, key, index, default=None):
        """What was an attribute once and is a constant input now, as a list of numbers."""
        if key in self.attrs:
            value = self.attrs[key]
            return list(value) if isinstance(value, (list, tuple)) else [value]
        value = self.constant(index)
        return default if value is None else value.reshape(-1).tolist()

    def shape(self, index=0, known=False):
        """The shape of an input, None where a size may be any. With `known`, all sizes must be known."""
        name = self._input_name(index)
        shape = self._graph.shapes.get(name)
        if shape is None or known and None in shape:
            raise self.error(f"expected its input {name} to have a known shape, got {shape}")
        return shape

    def rank(self, index=0):
        """The number of axes of an input."""
        return len(self.shape(index))

    def ranks(self, *indices):
        """The numbers of axes of inputs, None where they are unknown."""
        shapes = [self._graph.shapes.get(self._input_name(i)) for i in indices]
        return [None if shape is None else len(shape) for shape in shapes]

    def type(self, index=0):
        """ONNX's number of an input's type; 0 where it is unknown."""
        return self._graph.types.get(self._input_name(index), 0)

    def sizes(self, index):
        """A list of numbers and Sizes that an input is; None where nothing is known of it."""
        vector = self._graph.sizes.vectors.get(self._input_name(index))
        return None if vector is None else vector.tolist()

    def is_own(self, size, axis):
        """Whether a Size is that of the first input along an axis."""
        return tuple(size) == (self._input_name(0), axis)

    def output_shape(self, index=0):
        """The shape of an output, None where a size may be any; None where nothing is known of it."""
        return self._graph.shapes.get(self._proto.output[index])

    def axis(self, key="axis", default=0):
        """An axis, counted from the front where the shape is known."""
        axis = self.get(key, default)
        return axis % self.rank() if axis < 0 and self._input_name(0) in self._graph.shapes else axis

    def refuse(self, key, *allowed):
        """MXNetError unless the attribute is absent or has one of the allowed values."""
        if key in self.attrs and self.attrs[key] not in allowed:
            raise self.error(
                f"{key}={self.attrs[key]} has no translation to MXNet; expected {key} in {allowed}"
            )

    def op(self, operator, *inputs, **options):
        """The symbol of an operator on the way to the node's result."""
        name = self._graph.unique(f"{self.name}_{operator.strip('_').lower()}")
        return getattr(symbol._internal, operator)(*inputs, name=name, **options)

    def out(self, operator, *inputs, **options):
        """The symbol of the operator that gives the node's result, and has its name."""
        return getattr(symbol._internal, operator)(*inputs, name=self._graph.unique(self.name), **options)

    def parameter(self, array, hint):
        """The symbol of a new constant."""
        name = self._graph.unique(f"{self.name}_{hint}")
        self._graph.constants[name] = np.asarray(array)
        self._graph.shapes[name] = np.shape(array)
        return self._graph.value(name)

    def truth(self, sym):
        """A comparison's result in the type that truth values have."""
        return self.out("Cast", sym, dtype="float32")

    def error(self, text):
        """A MXNetError that names this node."""
        return MXNetError(f"import_model: {self.operator} (node {self.name}): {text}")
