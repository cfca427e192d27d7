"""``npx``: what NumPy lacks and deep learning needs, on np arrays."""

import sys

from .. import _core
from .._catalogue import populate as _populate
from ..context import Context, cpu, cpu_pinned, current_context, gpu, gpu_memory_info, num_gpus  # noqa: F401
from ..ndarray.ndarray import from_numpy as _nd_from_numpy
from ..ndarray.ndarray import to_dlpack_for_read, to_dlpack_for_write  # noqa: F401
from .._semantics import is_np_array, is_np_shape, reset_np, set_np, use_np  # noqa: F401
from .. import ndarray as _nd
from .. import numpy as _np
from ..numpy.multiarray import from_dlpack
from . import image, random
from .utils import load, save

_names = _populate(globals(), "npx")
seed = random.seed
_nd.np, _nd.npx = _np, sys.modules[__name__]  # what `F` has in a hybrid block

waitall = _core.wait_all


def from_numpy(array, zero_copy=True):
    """An np array over a NumPy array's memory, which becomes read-only on NumPy's side.

    Examples
    --------
    >>> import numpy
    >>> values = numpy.ones(3, dtype="float32")
    >>> a = npx.from_numpy(values)
    >>> a, values.flags.writeable
    (array([1., 1., 1.]), False)
    """
    return _nd_from_numpy(array, zero_copy).as_np_ndarray()


__all__ = [
    "set_np",
    "reset_np",
    "is_np_array",
    "is_np_shape",
    "use_np",
    "cpu",
    "gpu",
    "cpu_pinned",
    "num_gpus",
    "current_context",
    "waitall",
    "load",
    "save",
    "random",
    "image",
    "seed",
    "from_dlpack",
    "from_numpy",
    *_names,
]
