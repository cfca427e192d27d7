"""`sym.image`: operators of `nd.image` on symbols."""

from . import calls

globals().update(calls.functions("nd.image"))
__all__ = sorted(calls.functions("nd.image"))
