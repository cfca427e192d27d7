"""Operators by registered name on symbols, internal ones too."""

from .. import _core
from ..name import NameManager
from . import calls
from .symbol import load_json


def _CachedOp(*inputs, subgraph, name=None):
    """The graph of the JSON text `subgraph` on symbols, in the order of its list_inputs(). Its operators
    become part of the graph around it.

    MXNetError: it takes another number of symbols, or the text is no graph.
    """
    name = NameManager.current.get(name, "_cachedop")
    body = load_json(subgraph)
    made = _core.SymbolHandle.call(body._handle, name, [one._handle for one in inputs])
    return calls.wrap(made, body._is_np)


def __getattr__(name):
    from ..base import MXNetError

    if name.startswith("__"):
        raise AttributeError(name)
    try:
        return calls.function(name)
    except MXNetError as error:
        raise AttributeError(str(error)) from None
