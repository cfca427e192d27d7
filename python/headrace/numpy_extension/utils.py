"""Saving and loading np arrays in MXNet's file format."""

from .. import _core
from .._file import path_text
from ..ndarray.utils import _result
from ..numpy.multiarray import ndarray

__all__ = ["save", "load"]


def save(file, arr):
    """Writes one np array, a list of them or a dict of them to a file.

    Raises
    ------
    ValueError
        When ``arr`` is none of these.
    TypeError
        For an entry that is not an np array, or a key that is not a string.

    Examples
    --------
    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "arrays.npy")
    ...     npx.save(path, [np.array([1, 2]), np.array([3])])
    ...     print(npx.load(path))
    [array([1., 2.]), array([3.])]
    """
    if isinstance(arr, ndarray):
        names, arrays = [], [arr]
    elif isinstance(arr, (list, tuple)):
        names, arrays = [], list(arr)
    elif isinstance(arr, dict):
        names, arrays = list(arr), list(arr.values())
    else:
        raise ValueError(f"save: an array, a list or a dict of arrays is needed, got {type(arr).__name__}")
    for name in names:
        if not isinstance(name, str):
            raise TypeError(f"save: the keys of a dict must be strings, got {type(name).__name__}")
    for one in arrays:
        if not isinstance(one, ndarray):
            raise TypeError(f"save: only np arrays can be saved here, got {type(one).__name__}")
    _core.save(path_text("save", file), arrays, names)


def load(file):
    """The arrays of a file as np arrays: a list, or a dict where they have names.

    Raises
    ------
    MXNetError
        For a file that is missing, broken or of another format.

    Examples
    --------
    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "arrays.npy")
    ...     npx.save(path, {"weight": np.array([1, 2])})
    ...     print(npx.load(path))
    {'weight': array([1., 2.])}
    """
    return _result(_core.load(path_text("load", file), True))
