"""`sym.op`: all operators on symbols."""

from . import calls

globals().update(calls.functions("nd"))
__all__ = sorted(calls.functions("nd"))
