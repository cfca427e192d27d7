"""Saving and loading arrays in MXNet's file format."""

from .. import _core
from .._file import path_text
from .ndarray import NDArray

__all__ = ["save", "load", "load_frombuffer"]


def save(fname, data):
    """Writes one array, a list of arrays or a dict of arrays to a file.

    Raises
    ------
    ValueError
        When ``data`` is none of these.
    TypeError
        For a list or dict with an entry that is not an array, or a key that is not a string.

    Examples
    --------
    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "arrays.params")
    ...     nd.save(path, [nd.array([1, 2]), nd.array([3])])
    ...     print(len(nd.load(path)))
    2
    """
    if isinstance(data, NDArray):
        names, arrays = [], [data]
    elif isinstance(data, list):
        names, arrays = [], data
    elif isinstance(data, dict):
        names, arrays = list(data), list(data.values())
        for name in names:
            if not isinstance(name, str):
                raise TypeError(f"save: the keys of a dict must be strings, got {type(name).__name__}")
    else:
        raise ValueError(f"save: an array, a list or a dict of arrays is needed, got {type(data).__name__}")
    for one in arrays:
        if not isinstance(one, NDArray):
            raise TypeError(f"save: only arrays can be saved, got {type(one).__name__}")
    _core.save(path_text("save", fname), arrays, names)


def _result(loaded):
    arrays, names = loaded
    return dict(zip(names, arrays)) if names else arrays


def load(fname):
    """The arrays of a file: a list, or a dict where they have names.

    Raises
    ------
    MXNetError
        For a file that is missing, broken or of another format.

    Examples
    --------
    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "net.params")
    ...     nd.save(path, {"weight": nd.array([1, 2])})
    ...     print(nd.load(path))
    {'weight':
    [1. 2.]
    <NDArray 2 @cpu(0)>}
    """
    return _result(_core.load(path_text("load", fname), False))


def load_frombuffer(buf):
    """The arrays of a file's contents, given as bytes. Raises TypeError for anything else.

    Examples
    --------
    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "net.params")
    ...     nd.save(path, [nd.array([1, 2])])
    ...     with open(path, "rb") as file:
    ...         content = file.read()
    >>> nd.load_frombuffer(content)
    [
    [1. 2.]
    <NDArray 2 @cpu(0)>]
    """
    if not isinstance(buf, (bytes, bytearray, memoryview)):
        raise TypeError(f"load_frombuffer: expected the bytes of a file, got {type(buf).__name__}")
    return _result(_core.load_frombuffer(bytes(buf), False))
