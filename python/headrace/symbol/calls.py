"""Operators as functions of symbols: how a node of a graph gets its name and the texts of its attributes."""

import functools
import numbers
import re
import types

import numpy

from .. import _catalogue, _core
from ..attribute import AttrScope
from ..context import Context
from ..name import NameManager

__all__ = ["apply", "composed", "composed_namespace", "function", "functions", "namespace", "set_classes"]

_classes: dict = {}
_BFLOAT16 = numpy.dtype([("bfloat16", numpy.uint16)])  # how MXNet writes it
# What names of nodes leave out of operators' names: of np functions and of others.
_PREFIXES = {True: re.compile("^_(npi_|npx_|np_)?"), False: re.compile("^_(npi_|npx_|np_)")}

is_symbol = _core.is_symbol


def set_classes(legacy, np):
    """The symbol classes of the two front ends; `np` is a subclass of `legacy`."""
    _classes.update({False: legacy, True: np})
    _core.set_symbols(legacy, _compose)


def wrap(handle, np):
    """A symbol object of the np or the legacy class."""
    return _classes[np](handle)


def is_number(value):
    return isinstance(value, (numbers.Number, numpy.bool_)) and not isinstance(value, complex)


def to_text(value):
    """An attribute's value as symbol files write it: what str() gives; dtypes by name."""
    if isinstance(value, (type, numpy.dtype)):
        return "bfloat16" if value == _BFLOAT16 else _core.dtype_name(value)
    if isinstance(value, (list, tuple)):
        items = [to_text(item) for item in value]
        if isinstance(value, list):
            return "[" + ", ".join(items) + "]"
        return "(" + ", ".join(items) + (",)" if len(items) == 1 else ")")
    if isinstance(value, numpy.generic):
        return str(value.item())
    if isinstance(value, Context):
        return str(value)
    return str(value)


def _attribute_text(key, value):
    """As `to_text`; a dtype's other names ('float', '<f4') as its own."""
    if key == "dtype" and isinstance(value, str):
        try:
            return _core.dtype_name(value)
        except TypeError:
            return value  # the operator tells what it takes
    return to_text(value)


def apply(op, hint, inputs, attributes, np, name=None, attr=None):
    """A symbol of operator `op` on symbols (or None); `attributes` map names to values, `attr` to texts."""
    name = NameManager.current.get(name, hint)
    texts = {key: _attribute_text(key, value) for key, value in attributes.items()}
    handles = [None if one is None else one._handle for one in inputs]
    marks = {key: str(value) for key, value in AttrScope.current.get(attr).items()}
    return wrap(_core.SymbolHandle.apply(op, name, handles, texts, marks), np)


def with_number(op, hint, symbol, number, np, name=None, attr=None, attributes=None):
    """A symbol of an operator on a symbol and a number, the number spelt as the front end does."""
    spelt = {"scalar": number}
    if np:
        is_int = isinstance(number, (bool, numbers.Integral, numpy.bool_))
        spelt = {"scalar": float(number), "is_int": is_int}
    return apply(op, hint, [symbol], {**(attributes or {}), **spelt}, np, name, attr)


def _compose(op, hint, inputs, attributes, named, number, np, name, attr):
    """What calls of operators on symbols come to, their arguments sorted: see `set_symbols`."""
    hint = _PREFIXES[np].sub("", hint).lower()
    if number is not None:
        return with_number(op, hint + "_scalar", inputs[0], number, np, name, attr, attributes)
    made = apply(op, hint, inputs, attributes, np, name, attr)
    if named:
        made = made(**{f"{made.name}_{key}": value for key, value in named.items()})
    return list(made) if np and len(made) > 1 else made


def functions(prefix):
    """Name to function on symbols, of the operators under a path ('nd', 'np.random', 'NDArray')."""
    return {name: function.on_symbols for name, function in _catalogue.functions(prefix).items()}


def namespace(prefix):
    """An object whose attributes are the operators under a path, as functions on symbols."""
    return types.SimpleNamespace(**functions(prefix))


def function(op, np=False):
    """The function of a registered operator on symbols. MXNetError: there is none."""
    return _core.function(op, np).on_symbols


def composed(function):
    """A function of arrays or symbols as one that gives symbols, also where it is given neither."""

    @functools.wraps(function)
    def compose(*args, **kwargs):
        with _core.composing():
            return function(*args, **kwargs)

    return compose


def composed_namespace(module, prefix):
    """An object whose attributes are the functions of arrays or symbols that a module defines, and the
    operators under a path, as functions that give symbols.
    """
    own = {
        name: composed(function)
        for name, function in vars(module).items()
        if name in module.__all__
        and isinstance(function, types.FunctionType)
        and function.__module__ == module.__name__
    }
    return types.SimpleNamespace(**{**functions(prefix), **own})
