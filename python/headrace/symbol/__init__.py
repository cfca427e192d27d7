"""Symbols: graphs of operators that are composed first and run later.

Functions come from the operator catalogue, with the arguments of their `nd` counterparts; what is left out of
an operator's inputs becomes a variable.
"""

import functools as _functools

from ..ndarray.parts import histogram, split_v2
from . import _internal, arithmetic, calls, symbol
from .arithmetic import *  # noqa: F403
from .symbol import *  # noqa: F403
from .symbol import Symbol
from . import numpy, numpy_extension
from . import contrib, image, linalg, op, random, sparse

np, npx = numpy, numpy_extension


def _taking_inplace(function):
    @_functools.wraps(function)
    def method(self, *args, inplace=False, **kwargs):
        return function(self, *args, **kwargs)

    return method


for _name, _function in calls.functions("NDArray").items():
    if _name in ("expand_dims", "flatten", "squeeze"):  # graphs decide by themselves where memory is shared
        _function = _taking_inplace(_function)
    if not hasattr(Symbol, _name):
        setattr(Symbol, _name, _function)
Symbol.split_v2 = split_v2  # type: ignore[attr-defined]
_names = calls.functions("nd")
for _name, _function in _names.items():
    globals().setdefault(_name, _function)

_modules = ["contrib", "image", "linalg", "op", "random", "sparse"]
__all__ = [*symbol.__all__, *arithmetic.__all__, *sorted(_names), *_modules, "histogram", "split_v2"]


def zeros(shape, dtype=None, **kwargs):
    """A symbol of zeros in a shape; float32 unless `dtype` says otherwise.

    Examples
    --------
    >>> sym.zeros((2, 2)).eval()[0]
    [[0. 0.]
     [0. 0.]]
    <NDArray 2x2 @cpu(0)>
    """
    return calls.function("_zeros")(shape=shape, dtype=dtype or "float32", **kwargs)


def ones(shape, dtype=None, **kwargs):
    """A symbol of ones in a shape; float32 unless `dtype` says otherwise.

    Examples
    --------
    >>> sym.ones((2, 2)).eval()[0]
    [[1. 1.]
     [1. 1.]]
    <NDArray 2x2 @cpu(0)>
    """
    return calls.function("_ones")(shape=shape, dtype=dtype or "float32", **kwargs)


def arange(start, stop=None, step=1.0, repeat=1, infer_range=False, name=None, dtype=None, **kwargs):
    """A symbol of start, start + step, ... before stop (0 to start without stop), each `repeat` times.

    With `infer_range` and no stop the end follows from the shape that the result must have.

    Examples
    --------
    >>> sym.arange(1, 4, repeat=2).eval()[0]
    [1. 1. 2. 2. 3. 3.]
    <NDArray 6 @cpu(0)>
    """
    rest = {"step": step, "repeat": repeat, "infer_range": infer_range, "dtype": dtype or "float32", **kwargs}
    return calls.function("_arange")(start=start, stop=stop, name=name, **rest)


def linspace(start, stop, num, endpoint=True, name=None, dtype=None, **kwargs):
    """A symbol of `num` numbers in equal steps from start to stop, with stop or without it.

    Examples
    --------
    >>> sym.linspace(0, 1, 5).eval()[0]
    [0.   0.25 0.5  0.75 1.  ]
    <NDArray 5 @cpu(0)>
    """
    return calls.function("_linspace")(start=start, stop=stop, num=num, endpoint=endpoint, name=name,
                                       dtype=dtype or "float32", **kwargs)  # fmt: skip


def eye(N, M=0, k=0, dtype=None, **kwargs):  # noqa: N803
    """A symbol of ones on the k-th diagonal of N rows and M (0: N) columns, zeros elsewhere.

    Examples
    --------
    >>> sym.eye(2, 3, k=1).eval()[0]
    [[0. 1. 0.]
     [0. 0. 1.]]
    <NDArray 2x3 @cpu(0)>
    """
    return calls.function("_eye")(N=N, M=M, k=k, dtype=dtype or "float32", **kwargs)


def cumsum(a, axis=None, dtype=None, **kwargs):
    """A symbol of the sums of the elements up to each, along an axis, or of all of them one after another.

    Examples
    --------
    >>> sym.cumsum(sym.var("x"), axis=0).eval(x=nd.array([1, 2, 3]))[0]
    [1. 3. 6.]
    <NDArray 3 @cpu(0)>
    """
    given = {key: value for key, value in (("axis", axis), ("dtype", dtype)) if value is not None}
    return calls.function("_np_cumsum")(a, **given, **kwargs)


def full(shape, val, dtype=None, **kwargs):
    """A symbol of `val` in all places of a shape; float32 unless `dtype` says otherwise.

    Examples
    --------
    >>> sym.full((2, 2), 7).eval()[0]
    [[7. 7.]
     [7. 7.]]
    <NDArray 2x2 @cpu(0)>
    """
    return calls.function("_full")(shape=shape, value=float(val), dtype=dtype or "float32", **kwargs)
