"""Where the compiled library is, and which version of MXNet's interface it has."""

from . import _core

__all__ = ["__version__", "find_lib_path"]

__version__ = "1.9.1"


def find_lib_path(prefix="libmxnet"):
    """The path of the compiled module, in a list; `prefix` is accepted and has no effect.

    Examples
    --------
    >>> import os
    >>> [path] = mx.libinfo.find_lib_path()
    >>> os.path.basename(path).partition(".")[0]
    '_core'
    """
    return [_core.__file__]
