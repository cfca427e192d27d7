"""GraphProto: makes a symbol of an ONNX graph."""

import numpy as np

from ..... import ndarray as nd
from ..... import symbol
from .....base import MXNetError
from .....gluon import SymbolBlock
from ....onnx._package import import_onnx
from ._folding import Folding
from ._node import Node
from ._sizes import Sizes
from .translators import TRANSLATORS

__all__ = ["GraphProto"]


class GraphProto:
    """Reader of ONNX graphs.

    After from_onnx, `arg_dict` and `aux_dict` are the parameters, `model_metadata` is what
    get_graph_metadata tells, and `opset_version` the version of the operators.

    Examples
    --------
    >>> import onnx
    >>> from headrace.mxnet.contrib.onnx.onnx2mx.import_onnx import GraphProto
    >>> make, kind = onnx.helper.make_tensor_value_info, onnx.TensorProto.FLOAT
    >>> node = onnx.helper.make_node("Relu", ["x"], ["y"])
    >>> graph = onnx.helper.make_graph([node], "net", [make("x", kind, [1, 3])], [make("y", kind, [1, 3])])
    >>> net, weights, states = GraphProto().from_onnx(graph, opset_version=13)
    >>> net.eval(x=nd.array([[-1, 0, 2]]))[0]
    [[0. 0. 2.]]
    <NDArray 1x3 @cpu(0)>
    """

    def __init__(self):
        self.arg_dict, self.aux_dict, self.model_metadata = {}, {}, {}
        self.opset_version = 0
        self.constants, self.shapes, self.types = {}, {}, {}
        self._values, self._names = {}, set()
        self.computed, self.sizes = self.constants.get, Sizes({}, {})

    def from_onnx(self, graph, opset_version):
        """(sym, arg_params, aux_params) of an onnx.GraphProto."""
        onnx = import_onnx("import_model")
        self.opset_version = opset_version
        self.model_metadata = self.get_graph_metadata(graph)
        folding = Folding(onnx, graph, opset_version)
        self.computed = folding.computed
        self.constants, self.shapes, self.types = folding.constants, folding.shapes, folding.types
        for name, _, _ in self.model_metadata["input_tensor_data"]:
            self._values[name] = symbol.var(name)
            self._names.add(name)
        self.sizes = Sizes(self.constants, self.shapes)
        for proto in graph.node:
            if not folding.is_constant(proto):
                self._translate(onnx, proto)
        outputs = [self.value(output.name) for output in graph.output]
        sym = outputs[0] if len(outputs) == 1 else symbol.Group(outputs)
        self.arg_dict = self._params(sym.list_arguments())
        self.aux_dict = self._params(sym.list_auxiliary_states())
        return sym, self.arg_dict, self.aux_dict

    def _params(self, names):
        return {name: self._array(name) for name in names if name in self.constants}

    def _array(self, name):
        value = self.constants[name]
        if value.dtype == bool:
            value = value.astype("float32")
        return nd.array(value.reshape(value.shape or (1,)), dtype=value.dtype)

    def _translate(self, onnx, proto):
        """Enters the symbols of a node's outputs, or the error that whoever reads them gets."""
        node = Node(onnx, self, proto)
        self.sizes.follow(proto, node.attrs)
        outputs = list(proto.output)
        try:
            if proto.domain not in ("", "ai.onnx") or proto.op_type not in TRANSLATORS:
                raise node.error("this operator has no translation to MXNet")
            results = TRANSLATORS[proto.op_type](node)
            results = results if isinstance(results, list) else [results]
        except MXNetError as error:
            results = [error] * len(outputs)
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            results = [node.error(f"its inputs or attributes are not as expected: {error}")] * len(outputs)
        absent = node.error("an output that has no translation to MXNet is read")
        results += [absent] * (len(outputs) - len(results))
        self._values.update((name, result) for name, result in zip(outputs, results) if name)

    def value(self, name):
        """The symbol of a tensor. MXNetError: that of the node that should have made it."""
        if name not in self._values:
            if name not in self.constants:
                raise MXNetError(
                    f"import_model: nothing gives the tensor {name}, which a node or the model reads"
                )
            array = self.constants[name]
            if array.dtype.kind not in "biuf":
                raise MXNetError(f"import_model: the constant {name} holds {array.dtype}; expected numbers")
            dtype = "float32" if array.dtype == bool else array.dtype
            self._values[name] = symbol.var(name, shape=array.shape or (1,), dtype=np.dtype(dtype))
            self._names.add(name)
        if isinstance(self._values[name], MXNetError):
            raise self._values[name]
        return self._values[name]

    def unique(self, name):
        """The name, with a number where a node or a variable has it already."""
        made, count = name, 0
        while made in self._names or made in self.constants:
            count += 1
            made = f"{name}_{count}"
        self._names.add(made)
        return made

    def get_graph_metadata(self, graph):
        """Names, shapes (0 is any size) and types of inputs and outputs; see get_model_metadata."""
        known = {tensor.name for tensor in graph.initializer}

        def shape(value):
            return tuple(size.dim_value for size in value.type.tensor_type.shape.dim)

        inputs = [
            (value.name, shape(value), value.type.tensor_type.elem_type)
            for value in graph.input
            if value.name not in known
        ]
        outputs = [(value.name, shape(value)) for value in graph.output]
        return {"input_tensor_data": inputs, "output_tensor_data": outputs}

    def graph_to_gluon(self, graph, ctx, opset_version):
        """A SymbolBlock of an onnx.GraphProto with its parameters on `ctx`, a context or a list of them."""
        sym, arg_params, aux_params = self.from_onnx(graph, opset_version)
        names = [name for name, *_ in self.model_metadata["input_tensor_data"]]
        net = SymbolBlock(outputs=sym, inputs=[symbol.var(name) for name in names])
        params = net.collect_params()
        for name, value in {**arg_params, **aux_params}.items():
            params[name].shape = value.shape
            params[name]._load_init(value, ctx=ctx)
        return net
