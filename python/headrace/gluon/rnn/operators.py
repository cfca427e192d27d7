"""The operators that cells and layers are written in, for both front ends."""

from ... import _arrays as arrays
from ... import symbol
from ..._semantics import is_np_array

__all__ = ["activation", "operators"]


def _each(function, value):
    """`function` of an array or symbol, or of each in a list; other values as they are."""
    if isinstance(value, (arrays.NDArray, symbol.Symbol)):
        return function(value)
    return [_each(function, one) for one in value] if isinstance(value, list) else value


class _OnNp:
    """The operators of `nd` or `sym`, taking and giving np arrays or symbols."""

    def __init__(self, F):
        self._F = F

    def __getattr__(self, name):
        function = getattr(self._F, name)
        if not callable(function):  # a module of further operators
            setattr(self, name, _OnNp(function))
            return getattr(self, name)

        def call(*args, **kwargs):
            args = [_each(lambda one: one.as_nd_ndarray(), value) for value in args]
            kwargs = {key: _each(lambda one: one.as_nd_ndarray(), value) for key, value in kwargs.items()}
            return _each(lambda one: one.as_np_ndarray(), function(*args, **kwargs))

        setattr(self, name, call)
        return call


_on_np = {}


def operators(F):
    """The operators of `F` (`nd` or `sym`) under their nd names, on what blocks get in the current mode."""
    if not is_np_array() or isinstance(F, _OnNp):
        return F
    return _on_np.setdefault(F.__name__, _OnNp(F))


def activation(ops, kind):
    """The operator of an activation, as a function of a value and a name."""
    return lambda x, name: ops.Activation(x, act_type=kind, name=name)
