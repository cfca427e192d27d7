"""What each operator of ONNX is in MXNet; importing this fills the table of translators."""

from .._registry import TRANSLATORS
from . import creation, indexing, layers, pointwise, products, recurrent, reductions, shapes, spatial
