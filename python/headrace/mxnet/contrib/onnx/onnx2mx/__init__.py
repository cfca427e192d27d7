"""From ONNX to symbols. Translators of operators are in `translators`, one module per family."""

from . import import_model, import_onnx, import_to_gluon
