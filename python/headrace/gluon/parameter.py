"""Parameters, and dictionaries of them: one module, as in MXNet."""

from ..ndarray import NDArray
from ._constant import Constant
from ._parameter import DeferredInitializationError, Parameter
from .parameter_dict import ParameterDict

__all__ = ["Constant", "DeferredInitializationError", "Parameter", "ParameterDict"]


def __getattr__(name):
    if name == "tensor_types":  # what blocks take; symbols are imported when they are first used
        from ..symbol import Symbol

        return Symbol, NDArray
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
