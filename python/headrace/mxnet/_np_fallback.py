"""mxnet.np.fallback: the np functions that MXNet leaves to NumPy; here they are those of np."""

from .. import numpy as _np
from ._names import names_of as _names_of

__all__ = sorted(_names_of("mxnet.np.fallback"))

globals().update({_name: getattr(_np, _name) for _name in __all__})
