"""Constants of a graph, and what can be computed of them and of shapes without running the model."""

import warnings

import numpy as np

from .....base import MXNetError
from ._reading import first_line

# A constant of more elements is computed when the model runs, and so are those of more floating numbers.
MOST, MOST_FLOATS = 4096, 16
RANDOM = {"Bernoulli", "Multinomial", "RandomNormalLike", "RandomUniformLike", "Dropout"}


class Folding:
    """What is known of tensors, by name.

    `constants`: arrays; `shapes`: tuples of sizes, None where a size may be any; `types`: ONNX's numbers.
    """

    def __init__(self, onnx, graph, opset):
        self.onnx, self.opset = onnx, opset
        self.constants = {tensor.name: self._array(tensor) for tensor in graph.initializer}
        self.shapes = {name: array.shape for name, array in self.constants.items()}
        self.types = {tensor.name: tensor.data_type for tensor in graph.initializer}
        self._infer(graph)

    def _array(self, tensor):
        try:
            return self.onnx.numpy_helper.to_array(tensor)
        except Exception as error:
            raise MXNetError(
                f"import_model: the constant {tensor.name} cannot be read: {first_line(error)}"
            ) from error

    def _infer(self, graph):
        helper = self.onnx.helper
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)])
        try:
            graph = self.onnx.shape_inference.infer_shapes(model, data_prop=True).graph
        except Exception:
            # Nodes that need a shape say so themselves.
            graph = model.graph
        for value in (*graph.input, *graph.output, *graph.value_info):
            kind = value.type.tensor_type
            self.types[value.name] = kind.elem_type
            if kind.HasField("shape") and value.name not in self.shapes:
                self.shapes[value.name] = tuple(
                    size.dim_value if size.HasField("dim_value") else None for size in kind.shape.dim
                )

    def fold(self, proto):
        """Whether the outputs of a node are constants; they are entered."""
        found = self._computed(proto)
        for name, array in zip(proto.output, found):
            if name:
                self.constants[name] = array
                self.shapes[name] = array.shape
        return bool(found)

    def _computed(self, proto):
        if proto.op_type in ("Shape", "Size"):
            return self._measured(proto)
        if proto.op_type != "Constant" and not self._small(proto):
            return []
        return self._evaluated(proto)

    def _measured(self, proto):
        shape = self.shapes.get(proto.input[0])
        if shape is None or None in shape:
            return []
        if proto.op_type == "Size":
            return [np.array(np.prod(shape, dtype="int64"))]
        options = {a.name: a.i for a in proto.attribute}
        return [np.array(shape[slice(options.get("start", 0), options.get("end"))], "int64")]

    def _small(self, proto):
        names = [name for name in proto.input if name]
        if not names or proto.op_type in RANDOM or not all(name in self.constants for name in names):
            return False
        if any(attribute.HasField("g") for attribute in proto.attribute):
            return False
        for name in names:
            array = self.constants[name]
            if array.size > (MOST_FLOATS if array.dtype.kind == "f" else MOST):
                return False
        shapes = [self.shapes.get(name) for name in proto.output if name]
        return all(s is not None and None not in s and np.prod(s, dtype=float) <= MOST for s in shapes)

    def _evaluated(self, proto):
        """The outputs of a node of constants, computed by onnx; none where it cannot."""
        helper = self.onnx.helper
        names = [name for name in dict.fromkeys(proto.input) if name]
        unknown = self.onnx.TypeProto()
        graph = helper.make_graph(
            [proto],
            "node",
            [],
            [helper.make_value_info(name, unknown) for name in proto.output if name],
            [self.onnx.numpy_helper.from_array(self.constants[name], name) for name in names],
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)])
        try:
            from onnx.reference import ReferenceEvaluator

            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                results = [np.asarray(r) for r in ReferenceEvaluator(model).run(None, {})]
        except Exception:
            # The node's translator has the error to tell.
            return []
        return results if all(r.dtype.kind in "biuf" for r in results) else []
