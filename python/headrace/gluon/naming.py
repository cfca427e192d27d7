"""Names of blocks and parameters: every block has a prefix, made when the block is made."""

import threading

from ..name import NameManager, Prefix
from .parameter_dict import ParameterDict


class BlockScope:
    """What `with block.name_scope():` enters: blocks made inside get names below the block's prefix.

    The block keeps the counters of its children, and no scope: in a cycle with one it would live on until
    Python collects garbage, and its parameters' memory with it. The innermost scope is a property of the
    thread.

    Examples
    --------
    >>> net = nn.Dense(2, prefix="top_")
    >>> with net.name_scope():
    ...     nn.Dense(3, prefix="inner_").name
    'top_inner'
    """

    _thread = threading.local()

    def __init__(self, block):
        self._block = block
        self._outer = []

    @classmethod
    def name_block(cls, prefix, params, hint):
        """Returns (prefix, ParameterDict) for a new block; `params` is a dictionary to share, or None."""
        scope = getattr(cls._thread, "scope", None)
        if scope is None:
            full_prefix = NameManager.current.get(None, hint) + "_" if prefix is None else prefix
            own_prefix, inherited = full_prefix, None
        else:
            if prefix is None:
                prefix = scope._next(hint)
            outer = scope._block
            full_prefix = outer.prefix + prefix
            own_prefix, inherited = outer.params.prefix + prefix, outer.params._shared
        if params is not None:
            return full_prefix, ParameterDict(params.prefix, params)
        return full_prefix, ParameterDict(own_prefix, inherited)

    def _next(self, hint):
        count = self._block._child_counter.get(hint, 0)
        self._block._child_counter[hint] = count + 1
        return f"{hint}{count}_"

    def __enter__(self):
        if not self._block._empty_prefix:
            operators = Prefix(self._block.prefix)  # names of operators traced inside
            self._outer.append((getattr(BlockScope._thread, "scope", None), operators))
            BlockScope._thread.scope = self
            operators.__enter__()
        return self

    def __exit__(self, exc_type, exc_value, traceback):
        if not self._block._empty_prefix:
            BlockScope._thread.scope, operators = self._outer.pop()
            operators.__exit__(exc_type, exc_value, traceback)
