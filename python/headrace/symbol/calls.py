"""Calling operators on symbols: positional and keyword arguments sorted into inputs and attribute texts."""

import functools
import numbers
import types

import numpy

from .. import _core
from .._catalogue import operator_descriptions
from ..attribute import AttrScope
from ..base import ArrayTypeError, MXNetError
from ..context import Context
from ..name import NameManager

__all__ = ["SymbolFunction", "apply", "function", "functions", "namespace", "set_classes"]

_classes = {}


def set_classes(legacy, np):
    """The symbol classes of the two front ends."""
    _classes.update({False: legacy, True: np})


def wrap(handle, np):
    """A symbol object of the np or the legacy class."""
    return _classes[np](handle)


def is_symbol(value):
    return isinstance(value, _classes[False])


def is_number(value):
    return isinstance(value, (numbers.Number, numpy.bool_)) and not isinstance(value, complex)


def to_text(value):
    """An attribute's value as symbol files write it: what str() gives; dtypes by name."""
    if isinstance(value, (type, numpy.dtype)):
        return _core.dtype_name(value)
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


@functools.cache
def _by_path():
    found = {}
    for description in operator_descriptions().values():
        for path in description["python"]:
            prefix, _, name = path.rpartition(".")
            found.setdefault(prefix, {})[name] = description
    return found


@functools.cache
def _by_name():
    found = dict(operator_descriptions())
    for description in operator_descriptions().values():
        for alias in description["aliases"]:
            found.setdefault(alias, description)
    return found


def apply(op, hint, inputs, attributes, np, name=None, attr=None):
    """A symbol of operator `op` on symbols (or None); `attributes` map names to values, `attr` to texts."""
    name = NameManager.current.get(name, hint)
    texts = {key: to_text(value) for key, value in attributes.items()}
    handles = [None if one is None else one._handle for one in inputs]
    return wrap(_core.SymbolHandle.apply(op, name, handles, texts, AttrScope.current.get(attr)), np)


class SymbolFunction:
    """An operator as a function of symbols, with the arguments of its nd or np counterpart."""

    def __init__(self, description, name, np):
        self.__name__ = name
        self.__doc__ = description["doc"]
        self._description = description
        self._np = np
        names = description["np_inputs"] if np and description["np_inputs"] else description["inputs"]
        self._inputs = {**{n: i for i, n in enumerate(description["inputs"])}, **dict(zip(names, range(99)))}
        self._fields = [field["name"] for field in description["fields"] if not field["of_files"]]

    def __repr__(self):
        return f"<symbol operator {self.__name__}>"

    def __get__(self, instance, owner=None):
        return self if instance is None else functools.partial(self, instance)

    def __call__(self, *args, name=None, attr=None, out=None, **kwargs):
        description = self._description
        if description["variadic"]:
            inputs, rest = self._variadic(args, kwargs)
        else:
            inputs, rest = self._positional(args)
        attributes, named = {}, {}
        for field, value in zip(self._fields, rest):
            self._set(attributes, field, value)
        if len(rest) > len(self._fields):
            raise ArrayTypeError(
                f"{self.__name__}: {len(rest) - len(self._fields)} positional arguments too many"
            )
        for key, value in kwargs.items():
            if key in self._fields:
                self._set(attributes, key, value)
            elif key in self._inputs and not description["variadic"]:
                self._set_input(inputs, self._inputs[key], value)
            elif description["variadic"] and is_symbol(value):
                named[key] = value
            else:  # a text of the node ("lr_mult", "__mood__"), or nothing: then the operator says so
                attributes[key] = value
        if description["scalar_forms"] and len(inputs) == 2 and any(map(is_number, inputs)):
            return self._with_number(inputs, attributes, name, attr)
        for value in inputs:
            if value is not None and not is_symbol(value):
                raise ArrayTypeError(
                    f"{self.__name__}: inputs must be symbols, got {type(value).__name__}; arrays become "
                    "part of a graph as variables"
                )
        if named and "num_args" in self._fields:
            attributes.setdefault("num_args", len(inputs) + len(named))
        made = apply(description["name"], self.__name__.lower(), inputs, attributes, self._np, name, attr)
        return made(**{f"{made.name}_{key}": value for key, value in named.items()}) if named else made

    def _variadic(self, args, kwargs):
        keyword = self._description["inputs"][-1]
        if keyword in kwargs:
            return list(kwargs.pop(keyword)), args
        if args and isinstance(args[0], (list, tuple)):
            return list(args[0]), args[1:]
        count = next((i for i, value in enumerate(args) if not is_symbol(value)), len(args))
        inputs = [one for value in args[:count] for one in (value if len(value) > 1 else (value,))]
        return inputs, args[count:]

    def _positional(self, args):
        inputs, optional = [], self._description["optional_inputs"]
        limit = len(self._description["inputs"])
        for value in args[:limit]:
            is_input = value is None or is_symbol(value) or len(inputs) < limit - optional
            if not is_input:
                break
            inputs.append(value)
        return inputs, args[len(inputs) :]

    def _set_input(self, inputs, index, value):
        inputs.extend([None] * (index + 1 - len(inputs)))
        if inputs[index] is not None:
            raise ArrayTypeError(
                f"{self.__name__}: argument '{self._description['inputs'][index]}' is given twice"
            )
        inputs[index] = value

    def _set(self, attributes, field, value):
        if (
            value is not None
            or next(f for f in self._description["fields"] if f["name"] == field)["nullable"]
        ):
            attributes[field] = value

    def _with_number(self, inputs, attributes, name, attr):
        right, left = self._description["scalar_forms"]
        form, array, number = (
            (right, inputs[0], inputs[1]) if is_number(inputs[1]) else (left, inputs[1], inputs[0])
        )
        hint = self.__name__.lower() + "_scalar"
        return with_number(form, hint, array, number, self._np, name, attr, attributes)


def with_number(op, hint, symbol, number, np, name=None, attr=None, attributes=None):
    """A symbol of an operator on a symbol and a number, the number spelt as the front end does."""
    spelt = {"scalar": number}
    if np:
        is_int = isinstance(number, (bool, numbers.Integral, numpy.bool_))
        spelt = {"scalar": float(number), "is_int": is_int}
    return apply(op, hint, [symbol], {**(attributes or {}), **spelt}, np, name, attr)


def functions(prefix, np):
    """Name to function of the operators under a path ('nd', 'np.random', 'NDArray')."""
    return {
        name: SymbolFunction(description, name, np)
        for name, description in _by_path().get(prefix, {}).items()
    }


def namespace(prefix, np):
    """An object whose attributes are the operators under a path."""
    return types.SimpleNamespace(**functions(prefix, np))


def function(op, name=None, np=False):
    """The function of a registered operator. MXNetError: there is none."""
    description = _by_name().get(op)
    if description is None:
        raise MXNetError(f"symbol: there is no operator {op}")
    return SymbolFunction(description, name or op, np)
