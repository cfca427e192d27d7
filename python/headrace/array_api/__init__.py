"""The Python array API standard (2024.12) over np arrays: what ``x.__array_namespace__()`` gives.

Functions have the standard's signatures and dtypes, where ``headrace.np`` has MXNet's: whole numbers become
int64 here, floats float32, and integers of different signs have a common dtype. Complex numbers, and with
them ``fft``, are not there. docs/array-api.md tells what else is missing.

>>> import headrace as mx
>>> xp = mx.np.ones((2, 2)).__array_namespace__()
>>> xp.permute_dims(xp.arange(3), (0,)).dtype
dtype('int64')
"""

from ..numpy import e, inf, nan, newaxis, pi
from ._creation import *  # noqa: F403
from ._dtypes import *  # noqa: F403
from ._elementwise import *  # noqa: F403
from ._reductions import *  # noqa: F403
from ._shapes import *  # noqa: F403
from ._sorting import *  # noqa: F403
from . import _creation, _dtypes, _elementwise, _reductions, _shapes, _sorting, linalg
from .linalg import matmul, matrix_transpose, tensordot, vecdot

__array_api_version__ = "2024.12"

__all__ = [
    "e",
    "inf",
    "linalg",
    "matmul",
    "matrix_transpose",
    "nan",
    "newaxis",
    "pi",
    "tensordot",
    "vecdot",
    *_creation.__all__,
    *_dtypes.__all__,
    *_elementwise.__all__,
    *_reductions.__all__,
    *_shapes.__all__,
    *_sorting.__all__,
]
