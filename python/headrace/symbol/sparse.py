"""`sym.sparse`: the operators of `nd.sparse` on symbols. Graphs of sparse arrays run operator by operator."""

from ..ndarray.sparse import SHOWN
from . import calls

_functions = calls.functions("nd") | calls.functions("nd.sparse")
_shown = {name: _functions[name] for name in SHOWN.split() if name in _functions}
_shown["retain"] = _functions["sparse_retain"]
globals().update(_shown)
__all__ = sorted(_shown)
