"""Names: automatic ones by a counter per kind of block, one manager per thread; how parameters' names end."""

from .base import PerThread

__all__ = ["NameManager", "Prefix"]

# Ends of the names that layers give to their parameters.
PARAMETER_SUFFIXES = (
    *("_weight", "_bias", "_gamma", "_beta"),
    *("_moving_mean", "_moving_var", "_running_mean", "_running_var"),
)


class NameManager(metaclass=PerThread):
    """Gives out `hint0`, `hint1`, ...; `with NameManager():` starts fresh counters for the enclosed code.

    Examples
    --------
    >>> with mx.name.NameManager():
    ...     sym.relu(sym.var("x")).name
    'relu0'
    """

    def __init__(self):
        self._counter = {}

    def get(self, name, hint):
        """Returns `name` when it is given, else `hint` with the next free number."""
        if name:
            return name
        count = self._counter.get(hint, 0)
        self._counter[hint] = count + 1
        return f"{hint}{count}"

    def __enter__(self):
        NameManager.enter(self)
        return self

    def __exit__(self, exc_type, exc_value, traceback):
        NameManager.leave()


class Prefix(NameManager):
    """A NameManager that puts `prefix` before every name.

    Examples
    --------
    >>> with mx.name.Prefix("net_"):
    ...     sym.relu(sym.var("x"), name="act").name
    'net_act'
    """

    def __init__(self, prefix):
        super().__init__()
        self._prefix = prefix

    def get(self, name, hint):
        return self._prefix + super().get(name, hint)
