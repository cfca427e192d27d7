"""`sym.linalg`: operators of `nd.linalg` on symbols."""

from . import calls

globals().update(calls.functions("nd.linalg"))
__all__ = sorted(calls.functions("nd.linalg"))
