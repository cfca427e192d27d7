"""The NumPy front end: ``np`` functions on arrays that run asynchronously.

Functions come from the operator catalogue; ``help(np.dot)`` shows what one does.
"""

import numpy as _numpy

from .._catalogue import add_methods as _add_methods
from .._catalogue import hide_methods as _hide_methods
from .._catalogue import populate as _populate
from .multiarray import array, empty, from_dlpack, ndarray
from .numbers import give_scalars as _give_scalars
from . import _internal, _older, fft, linalg, random
from .differences import *  # noqa: F403
from .functions import *  # noqa: F403
from .financial import *  # noqa: F403
from .host import *  # noqa: F403
from .parts import *  # noqa: F403
from .products import *  # noqa: F403
from .statistics import *  # noqa: F403
from .values import *  # noqa: F403
from . import differences, financial, functions, host, parts, products, statistics, values

_add_methods(ndarray, "ndarray")
ndarray.nonzero = values.nonzero
_hide_methods(ndarray, "NDArray")
_names = _populate(globals(), "np")
_give_scalars(globals(), _names)
globals().update({older: globals()[name] for older, name in _older.NAMES.items()})

newaxis = None
pi, e, inf, nan, euler_gamma = _numpy.pi, _numpy.e, _numpy.inf, _numpy.nan, _numpy.euler_gamma
PZERO, NZERO, NINF, PINF = 0.0, -0.0, -_numpy.inf, _numpy.inf
NAN = NaN = _numpy.nan
float16, float32, float64 = _numpy.float16, _numpy.float32, _numpy.float64
int8, int16, int32, int64 = _numpy.int8, _numpy.int16, _numpy.int32, _numpy.int64
uint8, uint16, uint32, uint64 = _numpy.uint8, _numpy.uint16, _numpy.uint32, _numpy.uint64
bool_, bool = _numpy.bool_, _numpy.bool_
dtype = _numpy.dtype

__all__ = [
    "array",
    "empty",
    "ndarray",
    "fft",
    "from_dlpack",
    "linalg",
    "random",
    "newaxis",
    "pi",
    "e",
    "inf",
    "nan",
    *differences.__all__,
    *functions.__all__,
    *financial.__all__,
    *host.__all__,
    *parts.__all__,
    *products.__all__,
    *statistics.__all__,
    *values.__all__,
    *_names,
    *_older.NAMES,
]
