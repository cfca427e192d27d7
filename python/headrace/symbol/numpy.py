"""Symbols whose operators follow NumPy: what `F.np` is in a traced np block."""

import sys

from . import calls
from .calls import apply
from .symbol import Symbol

__all__ = ["_Symbol"]


class _Symbol(Symbol):
    """A symbol of the NumPy front end: operators broadcast, indexing is NumPy's basic indexing."""

    __slots__ = ()
    _is_np = True

    def __neg__(self):
        return apply("_npi_negative", "negative", [self], {}, True)

    def __matmul__(self, other):
        return apply("_npi_matmul", "matmul", [self, other], {}, True)

    def __getitem__(self, key):
        if isinstance(key, str) or len(self) > 1:
            return super().__getitem__(key)
        key = key if isinstance(key, tuple) else (key,)
        return _indexed(self, key)

    def __iter__(self):
        if len(self) == 1:
            raise TypeError(
                f"iteration over the entries of symbol {self.name} is not possible: its shape is not known"
            )
        return (self[i] for i in range(len(self)))

    def astype(self, dtype, order="K", casting="unsafe", subok=True, copy=True):
        """The values converted to `dtype`."""
        return apply("Cast", "cast", [self], {"dtype": dtype}, True)

    def reshape(self, *shape, order="C"):
        """The same elements in another shape; -1 is worked out."""
        shape = tuple(shape[0]) if len(shape) == 1 and not isinstance(shape[0], int) else shape
        return apply("_np_reshape", "reshape", [self], {"newshape": shape, "order": order}, True)

    @property
    def T(self):
        """The axes reversed."""
        return self.transpose()


def _indexed(symbol, key):
    """Basic indexing with integers, slices, None and an Ellipsis before nothing else."""
    begin, end, step, dropped, added = [], [], [], [], []
    axis = place = 0
    for one in key:
        if one is None:
            added.append(place)
            place += 1
            continue
        if one is Ellipsis:
            if any(rest is not None for rest in key[key.index(Ellipsis) + 1 :]):
                raise IndexError(
                    "indexing a symbol: an Ellipsis must stand last, the number of axes is not known"
                )
            continue
        if isinstance(one, slice):
            begin.append(one.start)
            end.append(one.stop)
            step.append(one.step)
            place += 1
        elif isinstance(one, int):
            begin.append(one)
            end.append(one + 1 if one != -1 else None)
            step.append(None)
            dropped.append(axis)
        else:
            raise TypeError(
                f"indexing a symbol takes integers, slices and None, got {type(one).__name__}; use take"
            )
        axis += 1
    if any(one is not None for one in (*begin, *end, *step)):
        limits = {"begin": tuple(begin), "end": tuple(end)}
        if any(one is not None for one in step):
            limits["step"] = tuple(step)
        symbol = apply("slice", "slice", [symbol], limits, True)
    if dropped:
        symbol = apply("_np_squeeze", "squeeze", [symbol], {"axis": tuple(dropped)}, True)
    for one in added:
        symbol = apply("expand_dims", "expand_dims", [symbol], {"axis": one}, True)
    return symbol


for _name, _function in calls.functions("ndarray", True).items():
    if _name not in vars(_Symbol) and _name not in ("astype", "reshape"):
        setattr(_Symbol, _name, _function)
calls.set_classes(Symbol, _Symbol)

from . import numpy_functions  # noqa: E402  (needs the symbol classes)
from . import numpy_random as random  # noqa: E402

_names = {name: getattr(numpy_functions, name) for name in numpy_functions.__all__}
for _name, _function in {**calls.functions("np", True), **_names}.items():
    setattr(sys.modules[__name__], _name, _function)
    __all__.append(_name)

linalg = calls.namespace("np.linalg", True)
__all__ += ["linalg", "random"]
