"""Reads ONNX models as symbols or Gluon blocks, with the package `onnx`; export_model is `mx.onnx`'s."""

from ...onnx import export_model
from . import onnx2mx
from .onnx2mx.import_model import get_model_metadata, import_model
from .onnx2mx.import_to_gluon import import_to_gluon

# In MXNet 1.9 the names without an underscore warn before they call these.
export_model_ = export_model
get_model_metadata_, import_model_, import_to_gluon_ = get_model_metadata, import_model, import_to_gluon
