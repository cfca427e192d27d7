"""NumPy semantics: the two switches that MXNet programs set, and their scopes. `util` shows them to users."""

import functools
import threading
import types

__all__ = [
    "is_np_array",
    "is_np_shape",
    "set_np",
    "reset_np",
    "set_np_shape",
    "np_array",
    "np_shape",
    "use_np",
    "use_np_array",
    "use_np_shape",
]


class _State(threading.local):
    array = False
    shape = False


_state = _State()


def is_np_array():
    """Whether Gluon and friends work with ``np`` arrays in this thread.

    Examples
    --------
    >>> with mx.util.np_shape(True), mx.util.np_array(True):
    ...     print(npx.is_np_array())
    True
    """
    return _state.array


def is_np_shape():
    """Whether zero-dimensional and zero-size shapes mean what they mean in NumPy, in this thread.

    Examples
    --------
    >>> with mx.util.np_shape(True):
    ...     print(npx.is_np_shape())
    True
    """
    return _state.shape


def set_np_shape(active):
    """Switches NumPy shape semantics in this thread; returns the previous setting.

    Examples
    --------
    >>> previous = mx.util.set_np_shape(True)
    >>> mx.util.is_np_shape(), mx.util.set_np_shape(previous)
    (True, True)
    """
    if not active and _state.array:
        raise ValueError(
            "set_np_shape: NumPy array semantics need NumPy shape semantics; call reset_np() to end both"
        )
    previous, _state.shape = _state.shape, bool(active)
    return previous


def set_np(shape=True, array=True):
    """Switches this thread to NumPy semantics.

    Raises
    ------
    ValueError
        For ``shape=False, array=True``: np arrays need NumPy shapes.

    Examples
    --------
    >>> npx.set_np()
    >>> layer = nn.Dense(2, in_units=3)
    >>> layer.initialize()
    >>> layer(np.ones((1, 3))).shape, npx.is_np_array()
    ((1, 2), True)
    >>> npx.reset_np()
    """
    if array and not shape:
        raise ValueError("set_np: NumPy array semantics (array=True) need NumPy shape semantics (shape=True)")
    _state.array, _state.shape = bool(array), bool(shape)


def reset_np():
    """Back to MXNet's legacy semantics in this thread: nd arrays, and shapes in which 0 is unknown.

    Examples
    --------
    >>> npx.set_np()
    >>> npx.reset_np()
    >>> npx.is_np_array()
    False
    """
    set_np(shape=False, array=False)


class _Scope:
    """Sets some flags for a ``with`` block, or for calls of a decorated function or class."""

    def __init__(self, **flags):
        self._flags, self._saved = flags, []

    def __enter__(self):
        self._saved.append((_state.array, _state.shape))
        for name, value in self._flags.items():
            setattr(_state, name, value)
        return self

    def __exit__(self, *_):
        _state.array, _state.shape = self._saved.pop()

    def __call__(self, target):
        return _decorate(target, self._flags)


def _decorate(target, flags):
    if isinstance(target, type):
        for name, value in _methods(target).items():
            if isinstance(value, property):
                parts = (value.fget, value.fset, value.fdel)
                value = property(*(part and _decorate(part, flags) for part in parts), value.__doc__)
                setattr(target, name, value)
            elif isinstance(value, staticmethod):
                setattr(target, name, staticmethod(_decorate(value.__func__, flags)))
            else:
                setattr(target, name, _decorate(value, flags))
        return target
    if not callable(target):
        raise TypeError(f"expected a class or something callable to decorate, got {type(target).__name__}")

    @functools.wraps(target)
    def scoped(*args, **kwargs):
        with _Scope(**flags):
            return target(*args, **kwargs)

    return scoped


_WRAPPED = ("__init__", "__call__", "__getitem__", "__len__", "__iter__")


def _methods(target):
    """Functions, static ones too, and properties of a class by name, its own and those that it inherits."""
    found = {name: value for base in reversed(target.__mro__) for name, value in vars(base).items()}
    return {
        name: value
        for name, value in found.items()
        if isinstance(value, (types.FunctionType, staticmethod, property))
        and (not name.startswith("__") or name in _WRAPPED)
    }


def np_shape(active=True):
    """A ``with`` block with NumPy shape semantics on or off: whether () and 0 are a shape and an extent.

    Examples
    --------
    >>> with mx.util.np_shape(True):
    ...     print(nd.zeros((0, 3)).shape)
    (0, 3)
    """
    return _Scope(shape=bool(active))


def np_array(active=True):
    """A ``with`` block with NumPy array semantics on or off: whether Gluon gives np arrays.

    Examples
    --------
    >>> with mx.util.np_shape(True), mx.util.np_array(True):
    ...     print(mx.util.is_np_array())
    True
    >>> mx.util.is_np_array()
    False
    """
    return _Scope(array=bool(active))


def use_np_shape(func):
    """Decorates a function or class to run with NumPy shape semantics; see `np_shape`.

    Examples
    --------
    >>> @mx.util.use_np_shape
    ... def is_on():
    ...     return mx.util.is_np_shape()
    >>> is_on(), mx.util.is_np_shape()
    (True, False)
    """
    return _decorate(func, {"shape": True})


def use_np_array(func):
    """Decorates a function or class to run with NumPy array semantics; see `np_array`.

    Examples
    --------
    >>> @mx.util.use_np_array
    ... def is_on():
    ...     return mx.util.is_np_array()
    >>> is_on(), mx.util.is_np_array()
    (True, False)
    """
    return _decorate(func, {"array": True})


def use_np(func):
    """Decorates a function or class to run with NumPy semantics: np shapes and np arrays.

    Examples
    --------
    >>> @npx.use_np
    ... def is_on():
    ...     return npx.is_np_array()
    >>> is_on(), npx.is_np_array()
    (True, False)
    """
    return _decorate(func, {"shape": True, "array": True})
