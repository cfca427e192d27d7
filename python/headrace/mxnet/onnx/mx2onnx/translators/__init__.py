"""What each operator is in ONNX; importing this fills the table of translators."""

from .._registry import TRANSLATORS
from . import (
    attention,
    boxes,
    creation,
    indexing,
    layers,
    pointwise,
    products,
    recurrent,
    reductions,
    sequences,
)
from . import shapes, spatial
