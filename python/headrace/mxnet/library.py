"""Libraries of operators that programs load."""

import os

from ..base import ArrayNotImplementedError, MXNetError

__all__ = ["load"]


def load(path, verbose=True):
    """Loads a library of operators. MXNetError: there is no such file, its path is not absolute, or it is no
    library. NotImplementedError, for any other: they cannot be loaded yet.

    Examples
    --------
    >>> from headrace.mxnet import library
    >>> library.load("/no/library.so")
    Traceback (most recent call last):
        ...
    headrace.base.MXNetError: ...
    """
    if not os.path.exists(path):
        raise MXNetError(f"load path {path} does NOT exist")
    if not os.path.isabs(path):
        raise MXNetError(f"load path {path} is not an absolute path")
    if os.path.splitext(path)[1] not in (".so", ".dll"):
        raise MXNetError(f"load path {path} is NOT a library file")
    raise ArrayNotImplementedError(f"library.load({path!r}): libraries of operators cannot be loaded yet")
