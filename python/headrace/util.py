"""Helpers of MXNet programs: NumPy semantics, the environment, GPUs."""

import os

from . import _arrays as arrays
from . import _semantics
from ._semantics import *  # noqa: F403
from .context import gpu_memory_info, num_gpus

__all__ = [
    *_semantics.__all__,
    "getenv",
    "setenv",
    "get_gpu_count",
    "get_gpu_memory",
    "default_array",
]


def getenv(name):
    """The value of an environment variable, or None.

    Examples
    --------
    >>> mx.util.setenv("MY_OPTION", "3")
    >>> mx.util.getenv("MY_OPTION")
    '3'
    >>> mx.util.setenv("MY_OPTION", None)
    """
    return os.environ.get(name)


def setenv(name, value):
    """Sets an environment variable, or removes it when ``value`` is None. TypeError: it is no str.

    Examples
    --------
    >>> import os
    >>> mx.util.setenv("MY_OPTION", "3")
    >>> os.environ["MY_OPTION"]
    '3'
    >>> mx.util.setenv("MY_OPTION", None)
    >>> "MY_OPTION" in os.environ
    False
    """
    if value is None:
        os.environ.pop(name, None)
    else:
        os.environ[name] = value


def get_gpu_count():
    """Number of GPUs that can be used, as `context.num_gpus`.

    Examples
    --------
    >>> mx.sim.configure(gpus=2)
    >>> mx.util.get_gpu_count()
    2
    >>> mx.sim.configure(gpus=0)
    """
    return num_gpus()


def get_gpu_memory(gpu_dev_id):
    """(free, total) bytes of a GPU, as `context.gpu_memory_info`. MXNetError: there is no such GPU.

    Examples
    --------
    >>> mx.sim.configure(gpus=1, memory="4GB")
    >>> free, total = mx.util.get_gpu_memory(0)
    >>> total
    4000000000
    >>> mx.sim.configure(gpus=0, memory=0)
    """
    return gpu_memory_info(gpu_dev_id)


def default_array(source, ctx=None, dtype=None):
    """An np array in NumPy mode, an nd array otherwise, of what `nd.array` takes.

    Examples
    --------
    >>> type(mx.util.default_array([1, 2])).__name__
    'NDArray'
    >>> with mx.util.np_array(True):
    ...     print(type(mx.util.default_array([1, 2])).__name__)
    ndarray
    """
    return arrays.array(source, ctx=ctx, dtype=dtype)
