"""New arrays."""

import builtins

import numpy as _numpy

from .. import numpy as _np
from ..base import ArrayValueError
from ._dtypes import default_dtype, float32, int64

__all__ = [
    "arange",
    "asarray",
    "empty",
    "empty_like",
    "eye",
    "from_dlpack",
    "full",
    "full_like",
    "linspace",
    "meshgrid",
    "ones",
    "ones_like",
    "tril",
    "triu",
    "zeros",
    "zeros_like",
]


def asarray(obj, /, *, dtype=None, device=None, copy=None):
    """An array of numbers, sequences of them, arrays, or what has the buffer protocol or DLPack.

    ``copy``: True always copies, False never does, None if need be. ValueError: it must not copy and has to.
    """
    if isinstance(obj, _np.ndarray):
        changes = dtype is not None and obj.dtype != dtype
        moves = device is not None and obj.ctx != device
        if copy is False and (changes or moves):
            raise ArrayValueError("asarray: another dtype or device needs a copy, and copy=False forbids it")
        result = obj.as_in_context(device) if moves else obj
        result = result.astype(dtype) if changes else result
        return result.copy() if copy and result is obj else result
    if copy is False and not hasattr(obj, "__dlpack__") and not isinstance(obj, memoryview):
        raise ArrayValueError("asarray: Python numbers have to be copied, and copy=False forbids it")
    values = _numpy.asarray(obj)
    if dtype is None and not hasattr(obj, "dtype"):
        dtype = float32 if values.dtype.kind == "f" else None
    return _np.array(values, dtype=values.dtype if dtype is None else dtype, ctx=device)


def arange(start, /, stop=None, step=1, *, dtype=None, device=None):
    """Numbers from start to before stop; int64 if all are whole numbers, otherwise float32.

    Examples
    --------
    >>> from headrace import array_api as xp
    >>> xp.arange(4), xp.arange(0, 1, 0.25)
    (array([0, 1, 2, 3], dtype=int64), array([0.  , 0.25, 0.5 , 0.75]))
    """
    if stop is None:
        start, stop = 0, start
    if dtype is None:
        whole = builtins.all(isinstance(number, int) for number in (start, stop, step))
        dtype = int64 if whole else float32
    return _np.array(_numpy.arange(start, stop, step).astype(dtype), dtype=dtype, ctx=device)


def linspace(start, stop, /, num, *, dtype=None, device=None, endpoint=True):
    """``num`` numbers at equal distances from start to stop, with stop or without it; float32 by default.

    Examples
    --------
    >>> from headrace import array_api as xp
    >>> xp.linspace(0, 1, 5)
    array([0.  , 0.25, 0.5 , 0.75, 1.  ])
    """
    values = _numpy.linspace(start, stop, num, endpoint=endpoint, dtype=dtype or float32)
    return _np.array(values, dtype=values.dtype, ctx=device)


def eye(n_rows, n_cols=None, /, *, k=0, dtype=None, device=None):
    """Ones on the k-th diagonal of n_rows rows and n_cols (None: as many) columns, zeros elsewhere.

    Examples
    --------
    >>> from headrace import array_api as xp
    >>> xp.eye(2, 3, k=1)
    array([[0., 1., 0.],
           [0., 0., 1.]])
    """
    return _np.eye(n_rows, n_cols, k, dtype=dtype or float32, ctx=device)


def empty(shape, *, dtype=None, device=None):
    """An array of a shape whose elements are to be written; float32 unless ``dtype`` says otherwise."""
    return _np.empty(shape, dtype=dtype or float32, ctx=device)


def zeros(shape, *, dtype=None, device=None):
    """Zeros in a shape; float32 unless ``dtype`` says otherwise."""
    return _np.zeros(shape, dtype=dtype or float32, ctx=device)


def ones(shape, *, dtype=None, device=None):
    """Ones in a shape; float32 unless ``dtype`` says otherwise."""
    return _np.ones(shape, dtype=dtype or float32, ctx=device)


def full(shape, fill_value, *, dtype=None, device=None):
    """One number everywhere in a shape; without ``dtype`` int64 for an int, float32 for a float, or bool."""
    kind = dtype or default_dtype(fill_value)
    return _np.broadcast_to(_np.array(_numpy.asarray(fill_value, kind), dtype=kind, ctx=device), shape).copy()


def _like(make):
    def function(x, /, *, dtype=None, device=None):
        return make(x.shape, dtype=dtype or x.dtype, device=device or x.ctx)

    function.__name__ = function.__qualname__ = make.__name__ + "_like"
    function.__doc__ = make.__doc__[:-1] + " with the shape, dtype and device of another array."
    return function


empty_like, zeros_like, ones_like = _like(empty), _like(zeros), _like(ones)


def full_like(x, /, fill_value, *, dtype=None, device=None):
    """One number everywhere, with the shape, dtype and device of another array."""
    return full(x.shape, fill_value, dtype=dtype or x.dtype, device=device or x.ctx)


def from_dlpack(x, /, *, device=None, copy=None):
    """The memory of another library's array; a copy on another device, or if ``copy`` is True."""
    return asarray(_np.from_dlpack(x), device=device, copy=copy)


def meshgrid(*arrays, indexing="xy"):
    """Coordinate arrays of a grid; with "xy" the first array runs along the second axis."""
    if indexing not in ("xy", "ij"):
        raise ArrayValueError(f"meshgrid: indexing must be 'xy' or 'ij', got {indexing!r}")
    places = list(range(len(arrays)))
    if indexing == "xy" and len(arrays) > 1:
        places[:2] = [1, 0]
    shape = [1] * len(arrays)
    for place, array in zip(places, arrays):
        shape[place] = array.size
    grids = []
    for place, array in zip(places, arrays):
        along = [1] * len(arrays)
        along[place] = array.size
        grids.append(_np.broadcast_to(array.reshape(along), shape).copy())
    return grids


def _triangle(name):
    def function(x, /, *, k=0):
        keep = getattr(_numpy, name)(_numpy.ones(x.shape[-2:], bool), k)
        return _np.where(_np.array(keep, dtype="bool", ctx=x.ctx), x, zeros_like(x))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"The {'lower' if name == 'tril' else 'upper'} triangles of matrices, zeros elsewhere."
    return function


tril, triu = _triangle("tril"), _triangle("triu")
