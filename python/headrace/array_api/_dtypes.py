"""Data types of the standard: which there are, which is common to several, and what a device has."""

import numpy as _numpy

from .. import numpy as _np
from ..base import ArrayTypeError, ArrayValueError
from ..context import cpu as _cpu
from ..context import current_context as _current_context
from ..context import gpu as _gpu
from ..context import num_gpus as _num_gpus
from ..numpy import (
    bool,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    uint8,
    uint16,
    uint32,
    uint64,
)

__all__ = [
    "__array_namespace_info__",
    "astype",
    "bool",
    "can_cast",
    "finfo",
    "float32",
    "float64",
    "iinfo",
    "int8",
    "int16",
    "int32",
    "int64",
    "isdtype",
    "result_type",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
]

_KINDS = {
    "bool": ("bool",),
    "signed integer": ("int8", "int16", "int32", "int64"),
    "unsigned integer": ("uint8", "uint16", "uint32", "uint64"),
    "real floating": ("float32", "float64"),
    "complex floating": (),
}
_KINDS["integral"] = _KINDS["signed integer"] + _KINDS["unsigned integer"]
_KINDS["numeric"] = _KINDS["integral"] + _KINDS["real floating"]
_ALL = ("bool", *_KINDS["numeric"])
_BUILTIN = {"bool": _numpy.bool_, "int": _numpy.int64, "float": _numpy.float32}


def default_dtype(value):
    """The standard's dtype of a Python number."""
    return _BUILTIN.get(type(value).__name__)


def _dtype_of(one):
    return one.dtype if isinstance(one, _np.ndarray) else _numpy.dtype(one)


def result_type(*arrays_and_dtypes):
    """The dtype that arrays, dtypes and Python numbers have in common.

    TypeError: there is none, as of integers and floats or of uint64 and int64, or nothing but numbers.

    Examples
    --------
    >>> from headrace import array_api as xp
    >>> xp.result_type(xp.int8, xp.uint8), xp.result_type(xp.ones(2), 3)
    (dtype('int16'), dtype('float32'))
    """
    numbers = [one for one in arrays_and_dtypes if type(one).__name__ in _BUILTIN]
    known = [_dtype_of(one) for one in arrays_and_dtypes if type(one).__name__ not in _BUILTIN]
    if not known:
        raise ArrayTypeError("result_type: at least one array or dtype is needed")
    common = known[0]
    for dtype in known[1:]:
        wider = _numpy.promote_types(common, dtype)
        if common != dtype and (_kind(common) != _kind(dtype) or wider.kind == "f" != common.kind):
            raise ArrayTypeError(
                f"result_type: {common} and {dtype} have no common dtype; convert with astype"
            )
        common = wider
    if any(isinstance(number, float) for number in numbers) and common.kind in "iu":
        return _numpy.dtype(float32)
    return common


def _kind(dtype):
    return "i" if dtype.kind in "iu" else dtype.kind


def isdtype(dtype, kind):
    """Whether a dtype is another one or of a kind ("bool", "signed integer", "unsigned integer", "integral",
    "real floating", "complex floating", "numeric"), or of one in a tuple of these. ValueError: unknown kind.

    Examples
    --------
    >>> from headrace import array_api as xp
    >>> xp.isdtype(xp.float32, "real floating"), xp.isdtype(xp.int8, ("bool", "unsigned integer"))
    (True, False)
    """
    if isinstance(kind, tuple):
        return any(isdtype(dtype, one) for one in kind)
    if not isinstance(kind, str):
        return _numpy.dtype(dtype) == _numpy.dtype(kind)
    if kind not in _KINDS:
        raise ArrayValueError(f"isdtype: kind must be a dtype or one of {', '.join(_KINDS)}, got {kind!r}")
    return _numpy.dtype(dtype).name in _KINDS[kind]


def can_cast(from_, to, /):
    """Whether the standard promotes a dtype, or that of an array, to another.

    Examples
    --------
    >>> from headrace import array_api as xp
    >>> xp.can_cast(xp.int8, xp.int16), xp.can_cast(xp.float64, xp.float32)
    (True, False)
    """
    try:
        return result_type(from_, to) == _numpy.dtype(to)
    except TypeError:
        return False


def astype(x, dtype, /, *, copy=True, device=None):
    """The array in another dtype; with ``copy=False`` the array itself if it has that.

    Examples
    --------
    >>> from headrace import array_api as xp
    >>> xp.astype(xp.arange(3), xp.float32)
    array([0., 1., 2.])
    """
    if device is not None:
        x = x.as_in_context(device)
    return x.astype(dtype, copy=copy)


class finfo:
    """What a floating-point dtype, or that of an array, can hold: bits, eps, max, min, smallest_normal.

    Examples
    --------
    >>> info = np.array([1.0]).__array_namespace__().finfo("float32")
    >>> info.bits, info.max > 1e38
    (32, True)
    """

    def __init__(self, type, /):
        found = _numpy.finfo(_dtype_of(type))
        self.bits = found.bits
        self.eps, self.max, self.min = (builtin_float(v) for v in (found.eps, found.max, found.min))
        self.smallest_normal = builtin_float(found.smallest_normal)
        self.dtype = _numpy.dtype(found.dtype)


class iinfo:
    """What an integer dtype, or that of an array, can hold: bits, max, min.

    Examples
    --------
    >>> np.array([1.0]).__array_namespace__().iinfo("int8").max
    127
    """

    def __init__(self, type, /):
        found = _numpy.iinfo(_dtype_of(type))
        self.bits, self.max, self.min, self.dtype = found.bits, found.max, found.min, found.dtype


builtin_float = float


class _Info:
    """Which devices and dtypes there are."""

    def capabilities(self):
        """Boolean masks and shapes that depend on values are there; arrays have up to 32 axes."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 32}

    def default_device(self):
        """The context that arrays are made on."""
        return _current_context()

    def default_dtypes(self, *, device=None):
        """Of numbers without one."""
        return {
            "real floating": _numpy.dtype(float32),
            "complex floating": None,
            "integral": _numpy.dtype(int64),
            "indexing": _numpy.dtype(int64),
        }

    def dtypes(self, *, device=None, kind=None):
        """By name; of a kind or a tuple of kinds."""
        return {
            name: _numpy.dtype(name) for name in _ALL if kind is None or isdtype(_numpy.dtype(name), kind)
        }

    def devices(self):
        """The contexts of this process."""
        return [_cpu(0), *(_gpu(i) for i in range(_num_gpus()))]


def __array_namespace_info__():
    """Inspection, as the standard has it: devices, dtypes, defaults, capabilities."""
    return _Info()
