"""Key-value stores: arrays by key that devices share, and how their gradients become one.

>>> from headrace import kv, nd
>>> store = kv.create("local")
>>> store.init(3, nd.zeros((2,)))
>>> out = nd.zeros((2,))
>>> store.pushpull(3, [nd.ones((2,)), nd.ones((2,))], out=out)
>>> out.asnumpy().tolist()
[2.0, 2.0]
"""

from .base import *  # noqa: F403
from .base import __all__ as _base
from .kvstore import *  # noqa: F403
from .kvstore import __all__ as _kvstore

__all__ = [*_base, *_kvstore]
