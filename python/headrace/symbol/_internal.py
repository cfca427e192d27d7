"""Operators by registered name on symbols, internal ones too."""

from . import calls


def __getattr__(name):
    from ..base import MXNetError

    if name.startswith("__"):
        raise AttributeError(name)
    try:
        return calls.function(name)
    except MXNetError as error:
        raise AttributeError(str(error)) from None
