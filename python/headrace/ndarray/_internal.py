"""Operators of ``nd._internal``, from the catalogue, and all others by registered name."""

from .. import _core
from .._catalogue import populate as _populate
from ..base import MXNetError

__all__ = _populate(globals(), "nd._internal")


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    try:
        return _core.function(name, False)
    except MXNetError as error:
        raise AttributeError(str(error)) from None
