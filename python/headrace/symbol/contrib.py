"""`sym.contrib`: operators of `nd.contrib` on symbols; loops and branches, whose bodies become graphs."""

from . import calls
from .control_flow import cond, foreach, while_loop

globals().update(calls.functions("nd.contrib", False))
__all__ = [*sorted(calls.functions("nd.contrib", False)), "cond", "foreach", "while_loop"]
