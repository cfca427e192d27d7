"""Python's operators on symbols, and the functions of two symbols or a symbol and a number."""

import math
import operator

from . import calls
from .calls import apply, is_number, is_symbol, with_number

__all__ = ["hypot", "maximum", "minimum", "pow", "power"]


class _Operator:
    """One Python operator on symbols: the operator on two symbols, and those with a number on either side."""

    def __init__(self, legacy, np):
        self._forms = {False: legacy, True: np}

    def __call__(self, a, b, swapped=False):
        np = a._is_np
        (both, both_hint), (right, right_hint), (left, left_hint) = self._forms[np]
        if is_number(b):
            op, hint = (left, left_hint) if swapped else (right, right_hint)
            return with_number(op, hint, a, b, np)
        if is_symbol(b):
            return apply(both, both_hint, [b, a] if swapped else [a, b], {}, np)
        return NotImplemented


def _arithmetic(legacy, hint, np, right=None, left=None, left_hint=None):
    right = right or f"_{hint.strip('_')}_scalar"
    left = left or right
    return _Operator(
        ((legacy, hint), (right, hint + "scalar"), (left, left_hint or hint + "scalar")),
        (
            (f"_npi_{np}", np),
            (f"_npi_{np}_scalar", np + "_scalar"),
            (f"_npi_{'' if left == right else 'r'}{np}_scalar", f"{'' if left == right else 'r'}{np}_scalar"),
        ),
    )


def _comparison(legacy, np, mirror, np_mirror):
    return _Operator(
        (
            (legacy, legacy),
            (legacy + "_scalar", legacy + "_scalar"),
            (mirror + "_scalar", mirror + "_scalar"),
        ),
        (
            (f"_npi_{np}", np),
            (f"_npi_{np}_scalar", np + "_scalar"),
            (f"_npi_{np_mirror}_scalar", np_mirror + "_scalar"),
        ),
    )


_add = _arithmetic("elemwise_add", "_plus", "add")
_subtract = _arithmetic(
    "elemwise_sub", "_minus", "subtract", left="_rminus_scalar", left_hint="_rminusscalar"
)
_multiply = _arithmetic("elemwise_mul", "_mul", "multiply")
_divide = _arithmetic("elemwise_div", "_div", "true_divide", left="_rdiv_scalar", left_hint="_rdivscalar")
_mod = _arithmetic("_mod", "_mod", "mod", left="_rmod_scalar", left_hint="_rmodscalar")
_power = _arithmetic("_power", "_power", "power", left="_rpower_scalar", left_hint="_rpower_scalar")
_equal = _comparison("_equal", "equal", "_equal", "equal")
_not_equal = _comparison("_not_equal", "not_equal", "_not_equal", "not_equal")
_greater = _comparison("_greater", "greater", "_lesser", "less")
_greater_equal = _comparison("_greater_equal", "greater_equal", "_lesser_equal", "less_equal")
_lesser = _comparison("_lesser", "less", "_greater", "greater")
_lesser_equal = _comparison("_lesser_equal", "less_equal", "_greater_equal", "greater_equal")


def _function(name, on_symbols, of_numbers, text=None):
    """A function of two symbols, or of a symbol and a number; `text` is its docstring."""

    def function(left, right):
        if is_symbol(left):
            made = on_symbols(left, right)
        elif is_symbol(right):
            made = on_symbols(right, left, True)
        elif is_number(left) and is_number(right):
            return of_numbers(left, right)
        else:
            made = NotImplemented
        if made is NotImplemented:
            raise TypeError(f"{name}: types ({type(left)}, {type(right)}) not supported")
        return made

    function.__name__ = function.__qualname__ = name
    function.__doc__ = text
    return function


_power_function = _arithmetic("_power", "_power", "power", left="_rpower_scalar", left_hint="_rpowerscalar")
maximum = _function(
    "maximum",
    _arithmetic("_maximum", "_maximum", "maximum"),
    max,
    """The larger one of each two elements; either may be a number. TypeError: neither symbol nor number.

    Examples
    --------
    >>> sym.maximum(sym.var("x"), 2).eval(x=nd.array([1, 2, 3]))[0]
    [2. 2. 3.]
    <NDArray 3 @cpu(0)>
    """,
)
minimum = _function(
    "minimum",
    _arithmetic("_minimum", "_minimum", "minimum"),
    min,
    """The smaller one of each two elements; either may be a number. TypeError: neither symbol nor number.

    Examples
    --------
    >>> sym.minimum(sym.var("x"), 2).eval(x=nd.array([1, 2, 3]))[0]
    [1. 2. 2.]
    <NDArray 3 @cpu(0)>
    """,
)
hypot = _function(
    "hypot",
    _arithmetic("_hypot", "_hypot", "hypot"),
    math.hypot,
    """`sqrt(left^2 + right^2)`; either may be a number. TypeError: neither symbol nor number.

    Examples
    --------
    >>> sym.hypot(sym.var("x"), 4).eval(x=nd.array([3, 0]))[0]
    [5. 4.]
    <NDArray 2 @cpu(0)>
    """,
)


_power_of = _function("power", _power_function, operator.pow)


def power(base, exp):
    """`base` to the power `exp`; either may be a number.

    Examples
    --------
    >>> sym.power(sym.var("x"), 2).eval(x=nd.array([1, 2, 3]))[0]
    [1. 4. 9.]
    <NDArray 3 @cpu(0)>
    """
    return _power_of(base, exp)


pow = power


class Arithmetic:
    """Base of symbols: operators on two symbols, or a symbol and a number."""

    __slots__ = ()

    def __add__(self, other):
        return _add(self, other)

    def __radd__(self, other):
        return _add(self, other, True)

    def __sub__(self, other):
        return _subtract(self, other)

    def __rsub__(self, other):
        return _subtract(self, other, True)

    def __mul__(self, other):
        return _multiply(self, other)

    def __rmul__(self, other):
        return _multiply(self, other, True)

    def __truediv__(self, other):
        return _divide(self, other)

    def __rtruediv__(self, other):
        return _divide(self, other, True)

    __div__, __rdiv__ = __truediv__, __rtruediv__  # Python 2's names, which programs call

    def __mod__(self, other):
        return _mod(self, other)

    def __rmod__(self, other):
        return _mod(self, other, True)

    def __pow__(self, other):
        return _power(self, other)

    def __rpow__(self, other):
        return _power(self, other, True)

    def __neg__(self):
        return with_number("_mul_scalar", "_mulscalar", self, -1.0, False)

    def __abs__(self):
        return calls.function("abs", self._is_np)(self)

    def __eq__(self, other):
        return _equal(self, other)

    def __ne__(self, other):
        return _not_equal(self, other)

    def __gt__(self, other):
        return _greater(self, other)

    def __ge__(self, other):
        return _greater_equal(self, other)

    def __lt__(self, other):
        return _lesser(self, other)

    def __le__(self, other):
        return _lesser_equal(self, other)

    __hash__ = object.__hash__
