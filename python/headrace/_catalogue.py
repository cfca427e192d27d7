"""The catalogue of operators: their descriptions, and their functions, put where it says users find them."""

import functools

from . import _core


@functools.cache
def operator_descriptions():
    """Name to description of every operator."""
    return {description["name"]: description for description in _core.catalogue()}


@functools.cache
def _by_prefix():
    found = {}
    for path, function in _core.functions():
        prefix, _, name = path.rpartition(".")
        found.setdefault(prefix, {})[name] = function
    return found


def functions(prefix):
    """Name to callable, of the operators whose path is ``prefix`` + '.' + name."""
    return _by_prefix().get(prefix, {})


def find_function(op, name, is_np, on_symbols):
    """The callable that a pickled or copied one stands for."""
    function = _by_meaning().get((op, name, is_np)) or _core.function(op, is_np)
    return function.on_symbols if on_symbols else function


@functools.cache
def _by_meaning():
    found = {}
    for functions_of_prefix in _by_prefix().values():
        for function in functions_of_prefix.values():
            found.setdefault((function.op_name, function.__name__, function.is_np), function)
    return found


def populate(namespace, prefix):
    """Puts the operators of ``prefix`` into a module's globals, keeping names that are defined there.

    Returns the names that were added, for ``__all__``.
    """
    added = []
    for name, function in functions(prefix).items():
        if name not in namespace:
            namespace[name] = function
            if not name.startswith("_"):
                added.append(name)
    return added


class _NoMethod:
    """A method of a base class that the class does not have."""

    def __init__(self, name):
        self._name = name

    def __get__(self, instance, owner=None):
        homes = [home for home in ("np", "npx") if self._name in functions(home)]
        remedy = f"{homes[0]}.{self._name}(x)" if homes else f"x.as_nd_ndarray().{self._name}()"
        raise AttributeError(f"np arrays have no method {self._name}; write {remedy}")


def hide_methods(cls, prefix):
    """Takes from a class the operators of ``prefix`` that only a base class of it has as methods."""
    for name, function in functions(prefix).items():
        holder = next((base for base in cls.__mro__ if name in vars(base)), None)
        if holder is not cls and holder is not None and vars(holder)[name] is function:
            setattr(cls, name, _NoMethod(name))


def add_methods(cls, prefix):
    """Makes the operators of ``prefix`` methods of a class, the array being the first input."""
    for name, function in functions(prefix).items():
        if name not in vars(cls):
            setattr(cls, name, function)
