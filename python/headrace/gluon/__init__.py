"""Gluon: blocks, parameters, layers, losses and the trainer."""

from . import block, loss, nn, parameter, trainer, utils
from .block import Block
from .hybrid_block import HybridBlock
from .parameter import Constant, DeferredInitializationError, Parameter, ParameterDict
from .trainer import Trainer

__all__ = [
    "Block",
    "Constant",
    "DeferredInitializationError",
    "HybridBlock",
    "Parameter",
    "ParameterDict",
    "SymbolBlock",
    "Trainer",
    "block",
    "contrib",
    "data",
    "loss",
    "model_zoo",
    "nn",
    "parameter",
    "rnn",
    "tensor_types",
    "trainer",
    "utils",
]


def __getattr__(name):
    if name in ("contrib", "data", "model_zoo", "rnn"):  # imported when they are first used
        import importlib

        return importlib.import_module(f".{name}", __name__)
    if name == "tensor_types":
        from .parameter import tensor_types

        return tensor_types
    if name == "SymbolBlock":
        from .symbol_block import SymbolBlock

        return SymbolBlock
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
