"""Neural network layers."""

from ..block import Block
from .activations import *  # noqa: F403
from .activations import __all__ as _activations
from .basic_layers import *  # noqa: F403
from .basic_layers import __all__ as _basic_layers

__all__ = ["Block", *_activations, *_basic_layers]
