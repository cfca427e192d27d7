"""Operators of np arrays by the names that they are registered with, without the prefix ``_npi_``."""

from .. import _core
from ..base import MXNetError

__all__ = ["Custom"]

Custom = _core.function("_npi_Custom", True)


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    try:
        return _core.function("_npi_" + name, True)
    except MXNetError as error:
        raise AttributeError(str(error)) from None
