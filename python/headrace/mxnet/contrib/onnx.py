"""The name that `mx.onnx` had before MXNet 1.9; there is no import of ONNX models."""

from ..onnx import export_model

__all__ = ["export_model"]
