"""import_model and get_model_metadata."""

from ._reading import opset_of, read_model
from .import_onnx import GraphProto

__all__ = ["get_model_metadata", "import_model"]


def import_model(model_file):
    """(sym, arg_params, aux_params) of an ONNX model: a Symbol and dicts of NDArray by name.

    Inputs of the model are variables of their names, constants are parameters. Truth values are 0 and 1 in
    float32, and what has no axes in ONNX has one of size 1.

    ImportError: no package onnx. FileNotFoundError: no such file. MXNetError: the file is broken, or a node's
    operator or option has no translation; the message names the node.

    Examples
    --------
    >>> import onnx, os, tempfile
    >>> from headrace.mxnet.contrib import onnx as readers
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = os.path.join(folder.name, "net.onnx")
    >>> net = sym.FullyConnected(sym.var("data"), num_hidden=2, no_bias=True, name="fc")
    >>> path = readers.export_model(net, {"fc_weight": nd.ones((2, 3))}, [(1, 3)], "float32", path)
    >>> net, weights, states = readers.import_model(path)
    >>> net.eval(data=nd.array([[1, 2, 3]]), **weights)[0]
    [[6. 6.]]
    <NDArray 1x2 @cpu(0)>
    """
    model = read_model(model_file, "import_model")
    return GraphProto().from_onnx(model.graph, opset_of(model))


def get_model_metadata(model_file):
    """Names and shapes of an ONNX model's inputs and outputs.

    A dict: "input_tensor_data" is a list of (name, shape, number of the type in ONNX), "output_tensor_data"
    one of (name, shape). Sizes that may be any are 0. Errors are those of import_model.

    Examples
    --------
    >>> import onnx, os, tempfile
    >>> from headrace.mxnet.contrib import onnx as readers
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = os.path.join(folder.name, "net.onnx")
    >>> net = sym.FullyConnected(sym.var("data"), num_hidden=2, no_bias=True, name="fc")
    >>> path = readers.export_model(net, {"fc_weight": nd.ones((2, 3))}, [(1, 3)], "float32", path)
    >>> readers.get_model_metadata(path)["output_tensor_data"]
    [('fc', (1, 2))]
    """
    return GraphProto().get_graph_metadata(read_model(model_file, "get_model_metadata").graph)
