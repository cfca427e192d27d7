"""mxnet.np.fallback_linalg: as `_np_fallback`, of np.linalg."""

from ..numpy import linalg as _linalg
from ._names import names_of as _names_of

__all__ = sorted(_names_of("mxnet.np.fallback_linalg"))

globals().update({_name: getattr(_linalg, _name) for _name in __all__})
