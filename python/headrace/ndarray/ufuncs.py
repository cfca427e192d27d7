"""NumPy's ufuncs on nd arrays: where Python's operators use them the array decides, others see copies."""

import numpy

from .. import _core
from ..base import MXNetError

# Name of a ufunc to the methods of the array on the left and on the right.
_ARITHMETIC = {
    "add": ("__add__", "__radd__"),
    "subtract": ("__sub__", "__rsub__"),
    "multiply": ("__mul__", "__rmul__"),
    "divide": ("__truediv__", "__rtruediv__"),
    "remainder": ("__mod__", "__rmod__"),
    "power": ("__pow__", "__rpow__"),
}
_COMPARISONS = {
    "equal": ("__eq__", "__eq__"),
    "not_equal": ("__ne__", "__ne__"),
    "less": ("__lt__", "__gt__"),
    "less_equal": ("__le__", "__ge__"),
    "greater": ("__gt__", "__lt__"),
    "greater_equal": ("__ge__", "__le__"),
}
_OPERATORS = {**_ARITHMETIC, **_COMPARISONS}


def apply_ufunc(array_class, ufunc, method, inputs, out, kwargs):
    """What a ufunc, or one of its methods, gives for inputs with arrays of `array_class` among them.

    Operators give arrays, as do those in place (`x += array` for an array of NumPy), everything else arrays
    of NumPy, computed of copies.
    """
    names = _OPERATORS.get(ufunc.__name__)
    if names and method == "__call__" and not kwargs and (out is None or out[0] is inputs[0]):
        left, right = inputs
        if ufunc.__name__ in _COMPARISONS and isinstance(left, numpy.ndarray) and left.ndim == 0:
            left = left[()]  # what NumPy makes of a scalar of its own that is compared
        is_left = isinstance(left, array_class)
        result = getattr(left, names[0])(right) if is_left else getattr(right, names[1])(left)
        if result is not NotImplemented:
            return result
    function = ufunc if method == "__call__" else getattr(ufunc, method)
    return call_with_copies(function, inputs, kwargs if out is None else {**kwargs, "out": out})


def _to_host(value, name):
    if isinstance(value, _core.Array):
        if value._on_tape and _core.is_recording():
            raise MXNetError(
                f"{name}: NumPy computes this function, so the gradient is not known, but one of its arrays "
                "is being recorded; call it outside of autograd.record(), or on array.detach()"
            )
        return value.asnumpy()
    if isinstance(value, (list, tuple)):
        return type(value)(_to_host(item, name) for item in value)
    return value


def call_with_copies(function, args, kwargs):
    """What a NumPy function, or a method of a ufunc, gives for copies of the arrays.

    ``out``, an array or a tuple of one for each result, receives the results and is given back; arrays of
    NumPy among them are NumPy's to fill.
    """
    name = function.__name__
    kwargs = {key: value if key == "out" else _to_host(value, name) for key, value in kwargs.items()}
    args = _to_host(args, name)
    out = kwargs.pop("out", None)
    if out is None:
        return function(*args, **kwargs)
    targets = out if isinstance(out, tuple) else (out,)
    if not any(isinstance(target, _core.Array) for target in targets):
        return function(*args, **kwargs, out=out)
    result = function(*args, **kwargs)
    for target, value in zip(targets, result if isinstance(result, tuple) else (result,)):
        if target is not None:
            target[...] = value
    return targets[0] if len(targets) == 1 else targets
