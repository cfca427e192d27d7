"""`sym.op`: all operators on symbols."""

from . import calls

globals().update(calls.functions("nd", False))
__all__ = sorted(calls.functions("nd", False))
