"""Neural network layers."""

from ..block import Block
from ..hybrid_block import HybridBlock
from .activations import *  # noqa: F403
from .activations import __all__ as _activations
from .basic_layers import *  # noqa: F403
from .basic_layers import __all__ as _basic_layers
from .containers import *  # noqa: F403
from .containers import __all__ as _containers
from .conv_layers import *  # noqa: F403
from .conv_layers import __all__ as _conv_layers
from .norm_layers import *  # noqa: F403
from .norm_layers import __all__ as _norm_layers
from .pool_layers import *  # noqa: F403
from .pool_layers import __all__ as _pool_layers

__all__ = [
    "Block",
    "HybridBlock",
    "SymbolBlock",  # noqa: F405
    *_activations,
    *_basic_layers,
    *_containers,
    *_conv_layers,
    *_norm_layers,
    *_pool_layers,
]


def __getattr__(name):
    if name == "SymbolBlock":  # it needs the symbols, which are imported when they are first used
        from ..symbol_block import SymbolBlock

        return SymbolBlock
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
