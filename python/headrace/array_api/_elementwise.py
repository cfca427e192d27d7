"""Functions of single elements: those of np, with the standard's names and common dtypes."""

import numpy as _numpy

from .. import numpy as _np
from ..base import ArrayTypeError
from ._dtypes import _KINDS, default_dtype, result_type

_ONE = {
    "abs": "abs",
    "acos": "arccos",
    "acosh": "arccosh",
    "asin": "arcsin",
    "asinh": "arcsinh",
    "atan": "arctan",
    "atanh": "arctanh",
    "bitwise_invert": "invert",
    **{
        name: name
        for name in ("cos", "cosh", "exp", "expm1", "isfinite", "isinf", "isnan", "log", "log10", "log1p")
    },
    **{name: name for name in ("log2", "logical_not", "negative", "sign", "signbit", "sin", "sinh", "sqrt")},
    **{name: name for name in ("reciprocal", "square", "tan", "tanh")},
}
_ROUNDING = {"ceil": "ceil", "floor": "floor", "trunc": "trunc", "round": "rint"}  # of integers: nothing
_TWO = {
    "atan2": "arctan2",
    "bitwise_and": "bitwise_and",
    "bitwise_left_shift": "left_shift",
    "bitwise_or": "bitwise_or",
    "bitwise_right_shift": "right_shift",
    "bitwise_xor": "bitwise_xor",
    "pow": "power",
    **{
        name: name
        for name in ("add", "copysign", "divide", "equal", "floor_divide", "greater", "greater_equal")
    },
    **{name: name for name in ("hypot", "less", "less_equal", "logaddexp", "logical_and", "logical_or")},
    **{name: name for name in ("logical_xor", "maximum", "minimum", "multiply", "not_equal", "remainder")},
    "subtract": "subtract",
}
_FLOATS_ONLY = frozenset(["atan2", "copysign", "divide", "hypot", "logaddexp"])

__all__ = [*_ONE, *_ROUNDING, *_TWO, "clip", "conj", "imag", "nextafter", "positive", "real", "where"]


def common(*values):
    """Arrays of the dtype that arrays and Python numbers have in common, on the device of the first array."""
    arrays = [value for value in values if isinstance(value, _np.ndarray)]
    if not arrays:
        raise ArrayTypeError("at least one argument must be an array")
    dtype = result_type(*values)
    return [
        (value if value.dtype == dtype else value.astype(dtype))
        if isinstance(value, _np.ndarray)
        else _np.array(_numpy.asarray(value, dtype), dtype=dtype, ctx=arrays[0].ctx)
        for value in values
    ]


def _of_one(name, older):
    compute = getattr(_np, older)

    def function(x, /):
        return compute(x)

    return _named(function, name, older)


def _rounding(name, older):
    compute = getattr(_np, older)

    def function(x, /):
        return compute(x) if x.dtype.kind == "f" else x.copy()

    return _named(function, name, older)


def _of_two(name, older):
    compute = getattr(_np, older)

    def function(x1, x2, /):
        x1, x2 = common(x1, x2)
        if name in _FLOATS_ONLY and x1.dtype.name not in _KINDS["real floating"]:
            raise ArrayTypeError(f"{name}: arrays of float32 or float64 are needed, got {x1.dtype}")
        return compute(x1, x2)

    return _named(function, name, older)


def _named(function, name, older):
    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"`np.{older}` with the standard's dtypes."
    return function


globals().update({name: _of_one(name, older) for name, older in _ONE.items()})
globals().update({name: _rounding(name, older) for name, older in _ROUNDING.items()})
globals().update({name: _of_two(name, older) for name, older in _TWO.items()})


def positive(x, /):
    """A copy of the array."""
    return x.copy()


conj = real = _named(lambda x, /: x, "real", "real")


def imag(x, /):
    """Zeros: there are no complex numbers."""
    return _np.zeros_like(x)


def nextafter(x1, x2, /):
    """The number beside x1 on the way to x2; computed by NumPy, in host memory.

    Examples
    --------
    >>> from headrace import array_api as xp
    >>> xp.nextafter(xp.asarray([1.0]), xp.asarray([2.0])) > 1
    array([ True])
    """
    x1, x2 = common(x1, x2)
    return _np.array(_numpy.nextafter(x1.asnumpy(), x2.asnumpy()), dtype=x1.dtype, ctx=x1.ctx)


def clip(x, /, min=None, max=None):
    """Elements below min become min, those above max become max; both may be arrays.

    Examples
    --------
    >>> from headrace import array_api as xp
    >>> xp.clip(xp.arange(5), 1, 3), xp.clip(xp.arange(5), min=xp.asarray([2, 2, 2, 4, 4]))
    (array([1, 1, 2, 3, 3], dtype=int64), array([2, 2, 2, 4, 4], dtype=int64))
    """
    for bound, limit in ((min, _np.maximum), (max, _np.minimum)):
        if bound is None:
            continue
        if not isinstance(bound, _np.ndarray):
            bound = _np.array(_numpy.asarray(bound, x.dtype), dtype=x.dtype, ctx=x.ctx)
        x = limit(x, bound.astype(x.dtype))
    return x.copy() if min is None and max is None else x


def where(condition, x1, x2, /):
    """Elements of x1 where the condition holds, otherwise of x2, in the dtype that both have in common.

    Shapes broadcast; one of the two may be a number.

    Examples
    --------
    >>> from headrace import array_api as xp
    >>> xp.where(xp.asarray([True, False]), xp.asarray([1, 2]), 0.5)
    array([1. , 0.5])
    """
    if not isinstance(x1, _np.ndarray) and not isinstance(x2, _np.ndarray):
        x1 = _np.array(x1, dtype=default_dtype(x1), ctx=condition.ctx)
    return _np.where(condition, *common(x1, x2))
