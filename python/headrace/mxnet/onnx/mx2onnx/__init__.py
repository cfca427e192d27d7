"""From symbols to ONNX. Translators of operators are in `translators`, one module per family."""

from ._export_model import export_model, get_operator_support

__all__ = ["export_model", "get_operator_support"]
