"""export_model: walks a symbol's nodes and has each translated."""

import json

import numpy as np

from ... import _checkpoint as checkpoint
from ... import symbol as symbols
from ...base import MXNetError
from ._translators import TRANSLATORS

__all__ = ["export_model", "get_operator_support"]

OPSET = 13


def import_onnx():
    """The package onnx. ImportError says how to get it."""
    try:
        import onnx
        import onnx.numpy_helper
    except ImportError as error:
        raise ImportError("export_model needs the package onnx: pip install onnx") from error
    return onnx


class Graph:
    """The ONNX graph that is being written."""

    def __init__(self, onnx, dtype):
        self.onnx, self.dtype = onnx, dtype
        self.nodes, self.constants, self.operator = [], {}, ""

    def constant(self, name, value):
        self.constants[name] = value
        return name

    def number(self, value):
        return self.constant(f"constant:{len(self.constants)}", np.array(value, self.dtype))

    def integers(self, value):
        return self.constant(f"constant:{len(self.constants)}", np.array(value, "int64"))

    def ones_like(self, name):
        return self.constant(f"constant:{len(self.constants)}", np.ones_like(self.constants[name]))

    def add(self, operator, inputs, **options):
        """Adds a node with one output and returns the output's name."""
        output = f"node:{len(self.nodes)}"
        self.nodes.append(self.onnx.helper.make_node(operator, list(inputs), [output], output, **options))
        return output


def get_operator_support(opset_version=None):
    """The names of the operators that export_model translates.

    ValueError: `opset_version` is below 13, the one that is written.
    """
    if opset_version is not None and opset_version < OPSET:
        raise ValueError(f"get_operator_support: expected opset_version >= {OPSET}, got {opset_version}")
    return sorted(TRANSLATORS)


def loaded(sym, params):
    """The symbol and parameters by name without prefix, read from files where these are named."""
    if isinstance(sym, str):
        sym = symbols.load(sym)
    if isinstance(params, str):
        args, auxiliary = checkpoint.load_param_file(params)
        params = {**args, **auxiliary}
    elif isinstance(params, (list, tuple)):
        params = {name: value for part in params for name, value in part.items()}
    return sym, {name.removeprefix("arg:").removeprefix("aux:"): v.asnumpy() for name, v in params.items()}


def translate(graph, content):
    """Adds all nodes of a symbol's JSON; returns the names of its outputs."""
    names = {}
    for index, node in enumerate(content["nodes"]):
        operator = node["op"]
        if operator == "null":
            names[index] = node["name"]
            continue
        if operator not in TRANSLATORS:
            raise MXNetError(
                f"export_model: no translation of operator {operator} (node {node['name']}) to ONNX; "
                "get_operator_support() lists the operators that have one"
            )
        if any(source[1] for source in node["inputs"]):
            raise MXNetError(
                f"export_model: node {node['name']} reads a second output; expected first outputs"
            )
        graph.operator = operator
        names[index] = TRANSLATORS[operator](
            graph, [names[source[0]] for source in node["inputs"]], node.get("attrs", {})
        )
    if any(head[1] for head in content["heads"]):
        raise MXNetError("export_model: the symbol gives a second output of a node; expected first outputs")
    return [names[head[0]] for head in content["heads"]]


def make_model(graph, inputs, outputs):
    """The ONNX model: `inputs` are (name, dtype, shape), `outputs` (name, shape)."""
    onnx = graph.onnx
    made = onnx.helper.make_tensor_value_info
    code = onnx.helper.np_dtype_to_tensor_dtype
    whole = onnx.helper.make_graph(
        graph.nodes,
        "headrace",
        [made(name, code(dtype), list(shape)) for name, dtype, shape in inputs],
        [made(name, code(graph.dtype), list(shape)) for name, shape in outputs],
        [onnx.numpy_helper.from_array(value, name) for name, value in graph.constants.items()],
    )
    return onnx.helper.make_model(whole, opset_imports=[onnx.helper.make_opsetid("", OPSET)], ir_version=8)


def export_model(
    sym,
    params,
    in_shapes=None,
    in_types=np.float32,
    onnx_file_path="model.onnx",
    verbose=False,
    dynamic=False,
    dynamic_input_shapes=None,
    run_shape_inference=False,
    input_type=None,
    input_shape=None,
):
    """Writes a symbol with its parameters as an ONNX model of opset 13 and returns the file's path.

    `sym` and `params` are a Symbol and a dict (or a list of dicts) of arrays, or the paths of their files.
    `in_shapes` has one shape and `in_types` one type, or one for all, for each argument without a parameter,
    labels left out. With `dynamic`, `dynamic_input_shapes` (all sizes free if absent) replaces the shapes
    in the model; None is any size.

    ImportError: no package onnx. MXNetError: an operator or an option of it has no translation.
    ValueError: the number of shapes or types is not that of the inputs.
    """
    onnx = import_onnx()
    sym, params = loaded(sym, params)
    content = json.loads(sym.tojson())
    in_types = in_types if input_type is None else input_type
    shapes = in_shapes if in_shapes is not None else input_shape
    inputs = [n for n in sym.list_inputs() if n not in params and not n.endswith("label")]
    types = list(in_types) if isinstance(in_types, (list, tuple)) else [in_types] * len(inputs)
    if shapes is None or not len(shapes) == len(types) == len(inputs):
        raise ValueError(
            f"export_model: expected a shape and a type for each of the inputs {inputs}, "
            f"got {shapes} and {types}"
        )
    types = [np.dtype(t) for t in types]
    floats = [t for t in (*types, *(p.dtype for p in params.values())) if t.kind == "f"]
    graph = Graph(onnx, floats[0] if floats else np.dtype("float32"))
    for name in sym.list_inputs():
        if name in params:
            graph.constant(name, params[name])
    outputs = [graph.add("Identity", [name]) for name in translate(graph, content)]
    given = dict(zip(inputs, map(tuple, shapes)))
    results = sym.infer_shape(**given)[1]
    if dynamic:
        shapes = dynamic_input_shapes or [[None] * len(shape) for shape in shapes]
        results = [[None] * len(shape) for shape in results]
    model = make_model(graph, zip(inputs, types, shapes), zip(outputs, results))
    onnx.checker.check_model(model, full_check=bool(run_shape_inference))
    onnx.save(model, onnx_file_path)
    return onnx_file_path
