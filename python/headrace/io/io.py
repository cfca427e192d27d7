"""The iterators under the name of MXNet's module: `from mxnet.io.io import NDArrayIter`."""

from . import *  # noqa: F403
from . import __all__  # noqa: F401
