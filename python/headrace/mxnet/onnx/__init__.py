"""Writes symbols and their parameters as ONNX models (opset 13); needs the package `onnx`."""

from . import mx2onnx
from .mx2onnx import export_model, get_operator_support
