"""Reads the file of a model."""

import os

from .....base import MXNetError
from ....onnx._package import import_onnx


def read_model(model_file, user):
    """The model of a file. What its graph says is not checked here.

    FileNotFoundError: there is no such file. MXNetError: it is no ONNX model, or a broken one.
    """
    onnx = import_onnx(user)
    if not os.path.isfile(model_file):
        raise FileNotFoundError(f"{user}: there is no file {model_file}")
    try:
        model = onnx.load_model(model_file)
    except Exception as error:  # protobuf, onnx and the reader of external data have no class in common
        raise MXNetError(f"{user}: {model_file} is no valid ONNX model: {first_line(error)}") from error
    if not model.graph.output:
        raise MXNetError(f"{user}: {model_file} is no valid ONNX model: its graph has no outputs")
    for name in names_in(model.graph):
        # What is no text in UTF-8 comes as bytes.
        if not isinstance(name, str):
            raise MXNetError(f"{user}: {model_file} is no valid ONNX model: the name {name!r} is no text")
    return model


def names_in(graph):
    """All names in a graph."""
    for values in (graph.input, graph.output, graph.initializer, graph.value_info):
        yield from (value.name for value in values)
    for node in graph.node:
        yield from (node.name, node.op_type, node.domain, *node.input, *node.output)
        yield from (attribute.name for attribute in node.attribute)


def first_line(error):
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__


def opset_of(model):
    """The version of the operators of ONNX itself."""
    versions = [each.version for each in model.opset_import if each.domain in ("", "ai.onnx")]
    return max(versions, default=1)
