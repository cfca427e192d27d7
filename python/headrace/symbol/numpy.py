"""Symbols whose operators follow NumPy: what `F.np` is in a traced np block."""

from ..numpy import _internal as _internal
from ..numpy import _older, differences, functions, parts, products, statistics
from ..numpy import linalg as _linalg
from ..numpy import random as _random
from . import calls
from .calls import apply
from .indexing import indexed
from .symbol import Symbol

__all__ = ["_Symbol"]


class _Symbol(Symbol):
    """A symbol of the NumPy front end: operators broadcast, indexing is NumPy's basic indexing."""

    __slots__ = ()
    _is_np = True

    def __neg__(self):
        return apply("_npi_negative", "negative", [self], {}, True)

    def __matmul__(self, other):
        if not calls.is_symbol(other):
            return NotImplemented
        return apply("_npi_matmul", "matmul", [self, other], {}, True)

    def __getitem__(self, key):
        if isinstance(key, str) or len(self) > 1:
            return super().__getitem__(key)
        key = key if isinstance(key, tuple) else (key,)
        return indexed(self, key)

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

    def transpose(self, *axes):
        """The axes in another order, given as one tuple or one by one; reversed when none are given."""
        if len(axes) == 1 and not hasattr(axes[0], "__index__"):
            axes = axes[0]
        return apply("_np_transpose", "transpose", [self], {"axes": tuple(axes) if axes else None}, True)

    @property
    def T(self):
        """The axes reversed."""
        return self.transpose()


for _name, _function in calls.functions("ndarray").items():
    if _name not in vars(_Symbol) and _name not in ("astype", "reshape"):
        setattr(_Symbol, _name, _function)
calls.set_classes(Symbol, _Symbol)

_functions = {
    name: calls.composed(getattr(module, name))
    for module in (differences, functions, parts, products, statistics)
    for name in module.__all__
}
_names = {**calls.functions("np"), **_functions}
globals().update(_names)
globals().update({older: _names[name] for older, name in _older.NAMES.items()})
__all__ += [*_names, *_older.NAMES]

linalg = calls.composed_namespace(_linalg, "np.linalg")
random = calls.composed_namespace(_random, "np.random")
__all__ += ["linalg", "random"]
