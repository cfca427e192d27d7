"""import_to_gluon."""

from ._reading import opset_of, read_model
from .import_onnx import GraphProto

__all__ = ["import_to_gluon"]


def import_to_gluon(model_file, ctx):
    """A SymbolBlock of an ONNX model with its parameters on a context, or on a list of contexts.

    Errors are those of import_model.

    Examples
    --------
    >>> import onnx, os, tempfile
    >>> from headrace.mxnet.contrib import onnx as readers
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = os.path.join(folder.name, "net.onnx")
    >>> net = sym.FullyConnected(sym.var("data"), num_hidden=2, no_bias=True, name="fc")
    >>> path = readers.export_model(net, {"fc_weight": nd.ones((2, 3))}, [(1, 3)], "float32", path)
    >>> block = readers.import_to_gluon(path, ctx=mx.cpu())
    >>> block(nd.array([[1, 2, 3]]))
    [[6. 6.]]
    <NDArray 1x2 @cpu(0)>
    """
    model = read_model(model_file, "import_to_gluon")
    return GraphProto().graph_to_gluon(model.graph, ctx, opset_of(model))
