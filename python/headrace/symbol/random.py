"""`sym.random`: operators of `nd.random` on symbols."""

from . import calls

globals().update(calls.functions("nd.random", False))
__all__ = sorted(calls.functions("nd.random", False))
