"""`sym.contrib`: operators of `nd.contrib` on symbols."""

from . import calls

globals().update(calls.functions("nd.contrib", False))
__all__ = sorted(calls.functions("nd.contrib", False))
