"""import_to_gluon."""

from ._reading import opset_of, read_model
from .import_onnx import GraphProto

__all__ = ["import_to_gluon"]


def import_to_gluon(model_file, ctx):
    """A SymbolBlock of an ONNX model with its parameters on a context, or on a list of contexts.

    Errors are those of import_model.
    """
    model = read_model(model_file, "import_to_gluon")
    return GraphProto().graph_to_gluon(model.graph, ctx, opset_of(model))
