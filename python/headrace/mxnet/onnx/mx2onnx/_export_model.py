"""export_model: walks a symbol's nodes and has each translated."""

import logging

import numpy as np

from .... import _checkpoint as checkpoint
from .... import symbol as symbols
from .._package import import_onnx
from ._walk import Walk
from .translators import TRANSLATORS

OPSET = 13


def get_operator_support(opset_version=None):
    """The names of the operators that export_model translates.

    ValueError: `opset_version` is below 13, the one that is written.

    Examples
    --------
    >>> from headrace.mxnet import onnx
    >>> "Convolution" in onnx.get_operator_support()
    True
    """
    if opset_version is not None and opset_version < OPSET:
        raise ValueError(f"get_operator_support: expected opset_version >= {OPSET}, got {opset_version}")
    return sorted(TRANSLATORS)


def loaded(sym, params):
    """The symbol and its parameters by name without prefix, read from files where these are named."""
    if isinstance(sym, str):
        sym = symbols.load(sym)
    if isinstance(params, str):
        params = checkpoint.load_param_file(params)
    if isinstance(params, (list, tuple)):
        params = {name: value for part in params for name, value in part.items()}
    if not isinstance(sym, symbols.Symbol) or not isinstance(params, dict):
        raise ValueError(
            "export_model: expected a Symbol or its file and a dict of arrays, dicts or their file, "
            f"got {type(sym).__name__} and {type(params).__name__}"
        )
    return sym, {name.removeprefix("arg:").removeprefix("aux:"): v.asnumpy() for name, v in params.items()}


def input_shapes(shapes, dynamic, replaced):
    """The shapes to declare: None is any size."""
    if not dynamic:
        if replaced is not None:
            raise ValueError("export_model: dynamic_input_shapes needs dynamic=True")
        return shapes
    if replaced is None:
        return [[None] * len(shape) for shape in shapes]
    if [len(shape) for shape in replaced] != [len(shape) for shape in shapes]:
        raise ValueError(
            f"export_model: expected dynamic_input_shapes with the axes of {shapes}, got {replaced}"
        )
    return replaced


def make_model(onnx, graph, inputs, outputs):
    """The ONNX model: `inputs` and `outputs` are (name, dtype, shape)."""

    def declared(values):
        code = onnx.helper.np_dtype_to_tensor_dtype
        return [
            onnx.helper.make_tensor_value_info(name, code(np.dtype(dtype)), list(shape))
            for name, dtype, shape in values
        ]

    read = {name for node in graph.nodes for name in node.input} | {name for name, *_ in outputs}
    whole = onnx.helper.make_graph(
        graph.nodes,
        "headrace",
        declared(inputs),
        declared(outputs),
        [onnx.numpy_helper.from_array(v, name) for name, v in graph.constants.items() if name in read],
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
    `in_shapes` has one shape and `in_types` one type, or one for all, for each argument without a parameter
    in the symbol's order; labels of losses are left out of the model. With `dynamic`, `dynamic_input_shapes`
    (all sizes free if absent) replaces the shapes in the model; None is any size. Outputs have the names of
    their nodes, with a number where a node has several. With `run_shape_inference` the shapes of all
    tensors are in the model; `verbose` logs the nodes.

    ImportError: no package onnx. MXNetError: an operator or an option of it has no translation.
    ValueError: the number of shapes or types is not that of the inputs.

    Examples
    --------
    >>> import onnx, os, tempfile
    >>> from headrace.mxnet import onnx as writer
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = os.path.join(folder.name, "net.onnx")
    >>> net = sym.FullyConnected(sym.var("data"), num_hidden=2, no_bias=True, name="fc")
    >>> weights = {"fc_weight": nd.ones((2, 3))}
    >>> path = writer.export_model(net, weights, in_shapes=[(1, 3)], in_types="float32", onnx_file_path=path)
    >>> [node.op_type for node in onnx.load(path).graph.node]
    ['Gemm']
    """
    onnx = import_onnx("export_model")
    sym, params = loaded(sym, params)
    in_types = in_types if input_type is None else input_type
    shapes = in_shapes if in_shapes is not None else input_shape
    walk = Walk(sym, params, TRANSLATORS, verbose)
    types = list(in_types) if isinstance(in_types, (list, tuple)) else [in_types] * len(walk.inputs)
    if shapes is None or not len(shapes) == len(types) == len(walk.inputs):
        raise ValueError(
            f"export_model: expected a shape and a type for each of the inputs {walk.inputs}, "
            f"got {shapes} and {types}"
        )
    types = [np.dtype(t) for t in types]
    shapes = [tuple(shape) for shape in shapes]
    logging.info("Input shape of the model %s", shapes)
    declared = input_shapes(shapes, dynamic, dynamic_input_shapes)
    graph, outputs = walk.write(onnx, shapes, types, dynamic)
    model = make_model(onnx, graph, list(zip(walk.inputs, types, declared)), outputs)
    onnx.checker.check_model(model)
    if run_shape_inference:
        model = onnx.shape_inference.infer_shapes(model, check_type=True)
    onnx.save(model, onnx_file_path)
    logging.info("Exported ONNX file %s saved to disk", onnx_file_path)
    return onnx_file_path
