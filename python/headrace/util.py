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
    """The value of an environment variable, or None."""
    return os.environ.get(name)


def setenv(name, value):
    """Sets an environment variable, or removes it when ``value`` is None."""
    if value is None:
        os.environ.pop(name, None)
    else:
        os.environ[name] = value


def get_gpu_count():
    """Number of GPUs that can be used."""
    return num_gpus()


def get_gpu_memory(gpu_dev_id):
    """(free, total) bytes of a GPU."""
    return gpu_memory_info(gpu_dev_id)


def default_array(source, ctx=None, dtype=None):
    """An np array in NumPy mode, an nd array otherwise."""
    return arrays.array(source, ctx=ctx, dtype=dtype)
