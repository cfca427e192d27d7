"""`sym.contrib`: operators of `nd.contrib` on symbols; loops and branches, whose bodies become graphs."""

from ..ndarray import contrib as _contrib
from . import calls
from .control_flow import cond, foreach, while_loop

globals().update(calls.functions("nd.contrib"))
rand_zipfian = calls.composed(_contrib.rand_zipfian)
__all__ = [*sorted(calls.functions("nd.contrib")), "cond", "foreach", "rand_zipfian", "while_loop"]
