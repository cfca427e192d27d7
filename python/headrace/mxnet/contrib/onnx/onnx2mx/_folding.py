"""Constants of a graph, and what can be computed of them and of shapes without running the model."""

import warnings

import numpy as np

from .....base import MXNetError
from ._reading import first_line

# A constant of more elements is computed when the model runs, and so are those of more floating numbers.
MOST, MOST_FLOATS = 4096, 16
ROUNDS = 4
RANDOM = {"Bernoulli", "Multinomial", "RandomNormalLike", "RandomUniformLike", "Dropout"}
# Results of these may be far larger than what they are made of.
GROWING = {"ConstantOfShape", "Expand", "EyeLike", "OneHot", "Pad", "Range", "Resize", "Tile", "Upsample"}


class Folding:
    """What is known of tensors, by name.

    `constants`: arrays; `shapes`: tuples of sizes, None where a size may be any; `types`: ONNX's numbers.
    """

    def __init__(self, onnx, graph, opset):
        self.onnx, self.opset = onnx, opset
        self.constants = {tensor.name: self._array(tensor) for tensor in graph.initializer}
        self.shapes = {name: array.shape for name, array in self.constants.items()}
        self._computable = {}
        self.types = {tensor.name: tensor.data_type for tensor in graph.initializer}
        self._folded = set()
        for _ in range(ROUNDS):
            # A constant found may be a shape, which lets more shapes be known, and with them more constants.
            self._infer(graph)
            if not self._fold_all(graph):
                break

    def _array(self, tensor):
        try:
            return self.onnx.numpy_helper.to_array(tensor)
        except Exception as error:
            raise MXNetError(
                f"import_model: the constant {tensor.name} cannot be read: {first_line(error)}"
            ) from error

    def _infer(self, graph):
        """Enters the shapes and types that onnx finds, with the constants that are known by now."""
        helper = self.onnx.helper
        known = self.onnx.GraphProto()
        known.CopyFrom(graph)
        if self._folded:
            del known.node[:]
            known.node.extend(proto for proto in graph.node if not self.is_constant(proto))
            known.initializer.extend(
                self.onnx.numpy_helper.from_array(self.constants[name], name) for name in sorted(self._folded)
            )
        model = helper.make_model(known, opset_imports=[helper.make_opsetid("", self.opset)])
        try:
            graph = self.onnx.shape_inference.infer_shapes(model, data_prop=True).graph
        except Exception:
            # Nodes that need a shape say so themselves.
            graph = model.graph
        for value in (*graph.input, *graph.output, *graph.value_info):
            kind = value.type.tensor_type
            self.types[value.name] = kind.elem_type
            if kind.HasField("shape") and value.name not in self.constants:
                self.shapes[value.name] = tuple(
                    size.dim_value if size.HasField("dim_value") else None for size in kind.shape.dim
                )

    def is_constant(self, proto):
        """Whether the outputs of a node are constants."""
        return bool(self._folded) and all(name in self._folded for name in proto.output if name)

    def _fold_all(self, graph):
        """Enters the outputs of nodes that are constants; whether there were any."""
        before = len(self._folded)
        for place, proto in enumerate(graph.node):
            if self.is_constant(proto):
                continue
            found = self._computed(proto)
            for name, array in zip(filter(None, proto.output), found):
                self.constants[name] = array
                self.shapes[name] = array.shape
                self._folded.add(name)
            if not found and proto.op_type not in GROWING and self._of_constants(proto):
                self._computable.update((name, (place, proto)) for name in proto.output if name)
        return len(self._folded) > before

    def computed(self, name):
        """A constant, computed if it is made of constants alone; None where it is not."""
        if name not in self.constants and name in self._computable:
            protos, names = {}, [name]
            while names:
                wanted = names.pop()
                if wanted not in self.constants:
                    place, proto = self._computable[wanted]
                    if place not in protos:
                        protos[place] = proto
                        names += filter(None, proto.input)
            results = self._evaluated([protos[place] for place in sorted(protos)], [name])
            if results:
                self.constants[name] = results[0]
        return self.constants.get(name)

    def _computed(self, proto):
        if proto.op_type in ("Shape", "Size"):
            return self._measured(proto)
        if proto.op_type == "Constant":
            return self._evaluated([proto], list(proto.output))
        if not self._small(proto):
            return []
        results = self._evaluated([proto], [name for name in proto.output if name])
        return results if all(result.size <= MOST for result in results) else []

    def _measured(self, proto):
        shape = self.shapes.get(proto.input[0])
        if shape is None or None in shape:
            return []
        if proto.op_type == "Size":
            return [np.array(np.prod(shape, dtype="int64"))]
        options = {a.name: a.i for a in proto.attribute}
        return [np.array(shape[slice(options.get("start", 0), options.get("end"))], "int64")]

    def _of_constants(self, proto):
        names = [name for name in proto.input if name]
        if not names or proto.op_type in RANDOM or any(a.HasField("g") for a in proto.attribute):
            return False
        return all(name in self.constants or name in self._computable for name in names)

    def _small(self, proto):
        if not self._of_constants(proto):
            return False
        arrays = [self.constants.get(name) for name in proto.input if name]
        for array in arrays:
            if array is None or array.size > (MOST_FLOATS if array.dtype.kind == "f" else MOST):
                return False
        if proto.op_type == "Range":
            start, limit, step = (float(array.ravel()[0]) for array in arrays)
            return step != 0 and abs(limit - start) <= MOST * abs(step)
        if proto.op_type not in GROWING:
            return True
        shapes = [self.shapes.get(name) for name in proto.output if name]
        return all(s is not None and None not in s and np.prod(s, dtype=float) <= MOST for s in shapes)

    def _evaluated(self, protos, outputs):
        """Tensors that nodes make of constants, computed by onnx; none where it cannot."""
        helper = self.onnx.helper
        read = dict.fromkeys(name for proto in protos for name in proto.input)
        graph = helper.make_graph(
            protos,
            "constants",
            [],
            [helper.make_value_info(name, self.onnx.TypeProto()) for name in outputs],
            [self.onnx.numpy_helper.from_array(self.constants[n], n) for n in read if n in self.constants],
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
