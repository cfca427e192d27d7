"""Writes symbols and their parameters as ONNX models (opset 13); needs the package `onnx`."""

from ._export import export_model, get_operator_support

__all__ = ["export_model", "get_operator_support"]
