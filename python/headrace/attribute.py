"""AttrScope: texts that every symbol made inside gets."""

from collections import defaultdict

from .base import PerThread

__all__ = ["AttrScope"]


class AttrScope(metaclass=PerThread):
    """`with AttrScope(ctx_group='dev1'):` symbols made inside carry these attributes, all of them strings.

    ValueError: a value is no string.

    Examples
    --------
    >>> with mx.AttrScope(ctx_group="dev1"):
    ...     x = sym.var("x")
    >>> x.attr("ctx_group")
    'dev1'
    """

    # Name to how many bodies of loops and branches have had it.
    _subgraph_names: dict[str, int] = defaultdict(int)

    def __init__(self, **attributes):
        for name, value in attributes.items():
            if not isinstance(value, str):
                raise ValueError(f"AttrScope: attribute {name} must be a string, got {type(value).__name__}")
        self._attr = attributes
        self._own = []  # what the scope had each time that it was entered

    def get(self, attr):
        """This scope's attributes, with `attr` (a dictionary or None) on top."""
        return {**self._attr, **(attr or {})}

    def __enter__(self):
        self._own.append(self._attr)
        self._attr = {**AttrScope.current._attr, **self._attr}
        AttrScope.enter(self)
        return self

    def __exit__(self, exc_type, exc_value, traceback):
        AttrScope.leave()
        self._attr = self._own.pop()
