"""Tools for tests, as MXNet's own tests use them: comparing, random arrays, gradients, surroundings."""

import importlib
import os
import sys
import time
from collections import OrderedDict
from contextlib import contextmanager

import numpy as np
import numpy.random as rnd

from ...context import Context, current_context
from ...ndarray import array
from ...symbol import Symbol
from ...util import getenv, setenv, use_np
from . import arrays, comparing, consistency, files, generators, gradients, matrices, sparse_arrays
from . import surroundings, symbols, tolerances
from .arrays import *  # noqa: F403
from .comparing import *  # noqa: F403
from .consistency import *  # noqa: F403
from .files import *  # noqa: F403
from .generators import *  # noqa: F403
from .gradients import *  # noqa: F403
from .matrices import *  # noqa: F403
from .sparse_arrays import *  # noqa: F403
from .surroundings import *  # noqa: F403
from .symbols import *  # noqa: F403
from .tolerances import *  # noqa: F403

_parts = (
    arrays,
    comparing,
    consistency,
    files,
    generators,
    gradients,
    matrices,
    sparse_arrays,
    surroundings,
    symbols,
    tolerances,
)
# With names of other modules that tests take from here by `import *`, as MXNet's module lets them.
__all__ = [name for part in _parts for name in part.__all__]
__all__ += ["Context", "Symbol", "array", "current_context", "getenv", "setenv", "use_np"]
__all__ += ["mx", "np", "os", "rnd", "sys", "time"]  # noqa: F405
_modules = {"npt": "numpy.testing", "bz2": "bz2", "errno": "errno", "gzip": "gzip", "json": "json"}
_modules |= {name: name for name in ("logging", "numbers", "platform", "struct", "traceback", "zipfile")}
__all__ += ["OrderedDict", "contextmanager", *_modules]  # noqa: F405


def __getattr__(name):
    if name in _modules:
        return importlib.import_module(_modules[name])
    if name == "mx":  # what `import mxnet as mx` gives, or would
        from .. import top_module

        return top_module()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
