"""Operators of nd and sym that cast what they are given."""

import functools
import logging
import numbers

from .... import ndarray as nd
from .... import symbol as sym
from ...._arrays import NpArray
from ...._catalogue import operator_descriptions
from ....ndarray import NDArray
from ....symbol import Symbol
from .lists.names import canonical

__all__ = ["wrap_loss_outputs", "wrap_operators"]

# What Python's operators compute beside a number.
_WITH_NUMBERS = {
    **dict.fromkeys(("__add__", "__radd__"), "_plus_scalar"),
    "__sub__": "_minus_scalar",
    "__rsub__": "_rminus_scalar",
    **dict.fromkeys(("__mul__", "__rmul__"), "_mul_scalar"),
    "__truediv__": "_div_scalar",
    "__rtruediv__": "_rdiv_scalar",
    "__mod__": "_mod_scalar",
    "__rmod__": "_rmod_scalar",
    "__eq__": "_equal_scalar",
    "__ne__": "_not_equal_scalar",
    "__lt__": "_lesser_scalar",
    "__le__": "_lesser_equal_scalar",
    "__gt__": "_greater_scalar",
    "__ge__": "_greater_equal_scalar",
}
# Functions of nd and sym that take a number, too.
_FUNCTIONS = {
    "add": "_plus_scalar",
    "subtract": "_minus_scalar",
    "multiply": "_mul_scalar",
    "divide": "_div_scalar",
    "modulo": "_mod_scalar",
    "maximum": "_maximum_scalar",
    "minimum": "_minimum_scalar",
    **{
        name: f"_{name}_scalar"
        for name in ("equal", "not_equal", "greater", "greater_equal", "lesser", "lesser_equal")
    },
    **{name: f"_{name}_scalar" for name in ("logical_and", "logical_or", "logical_xor")},
}

# As they are before anything is wrapped.
_cast_array, _cast_symbol = nd.amp_cast, sym.amp_cast
_multicast = sym.amp_multicast


def wrap_operators(low, low_ops, wide_ops, conditional_ops, widest_ops, stay_wide):
    """Replaces the functions of operators in nd and sym, and the methods of arrays and symbols.

    `low` is the name of the low dtype; of the operators in `stay_wide` the inputs named there are not cast.
    """
    for names, dtype in ((low_ops, low), (wide_ops, "float32")):
        for name in _unique(names):
            _replace(name, functools.partial(_casting, name, dtype, low, stay_wide.get(name, ()), None))
    for name, argument, values in conditional_ops:
        name, condition = canonical(name), (argument, values)
        _replace(name, functools.partial(_casting, name, "float32", low, (), condition))
    for name in _unique(widest_ops):
        _replace(name, functools.partial(_widening, low))
    wide = _unique(wide_ops)
    for owner in (NDArray, Symbol):
        for name, scalar_op in _WITH_NUMBERS.items():
            wrap = _widening_beside_numbers if canonical(scalar_op) in wide else _widening
            setattr(owner, name, wrap(low, getattr(owner, name)))
        if canonical("negative") in wide:
            owner.__neg__ = _casting("negative", "float32", low, (), None, owner.__neg__)
        for name in ("__pow__", "__rpow__"):
            setattr(owner, name, _casting("_power", "float32", low, (), None, getattr(owner, name)))
    for owner in (nd, sym):
        for name, scalar_op in _FUNCTIONS.items():
            if canonical(scalar_op) in wide and hasattr(owner, name):
                setattr(owner, name, _widening_beside_numbers(low, getattr(owner, name)))


def _unique(names):
    return dict.fromkeys(map(canonical, names))


def _replace(name, wrap):
    """Wraps an operator wherever programs find it."""
    paths = operator_descriptions()[name]["python"] if name in operator_descriptions() else ()
    for path in paths:
        place, _, attribute = path.rpartition(".")
        for owner in _owners(place):
            if callable(getattr(owner, attribute, None)):
                setattr(owner, attribute, wrap(getattr(owner, attribute)))


def _owners(place):
    """The modules or classes of a place of the catalogue, for arrays and for symbols."""
    if place == "NDArray":
        return NDArray, Symbol
    if place == "nd":
        return nd, nd.op, sym, sym.op
    if not place.startswith("nd."):
        return ()
    rest = place.removeprefix("nd.")
    return [getattr(module, rest) for module in (nd, sym) if hasattr(module, rest)]


def _is_legacy(value):
    """Whether a value is an array or symbol of nd: operators of np stay as they are."""
    if isinstance(value, Symbol):
        return not value._is_np
    return isinstance(value, NDArray) and not isinstance(value, NpArray)


def _casting(op, dtype, low, stay_wide, condition, function):
    """`function` of operator `op` with inputs of `dtype`, if `condition` (argument, values) holds."""
    description = operator_descriptions()[op]
    names = description["inputs"]
    fixed = {name for i, name in enumerate(names) if description["mutates"] >> i & 1 or name in stay_wide}

    def cast(value, name):
        if name in fixed or name == "out":
            return value
        if isinstance(value, (list, tuple)):
            return type(value)([cast(one, None) for one in value])
        return _cast(value, dtype, low)

    @functools.wraps(function)
    def wrapped(*args, **kwargs):
        if condition is not None and kwargs.get(condition[0]) not in condition[1]:
            return function(*args, **kwargs)
        cast_args = [cast(one, names[i] if i < len(names) else None) for i, one in enumerate(args)]
        made = function(*cast_args, **{name: cast(one, name) for name, one in kwargs.items()})
        if isinstance(made, Symbol) and not made._is_np:
            return _with_cast_variables(made, (*args, *kwargs.values()), fixed, dtype)
        return made

    return wrapped


def _cast(value, dtype, low):
    if not _is_legacy(value):
        return value
    if isinstance(value, Symbol):
        return _cast_symbol(value, dtype=dtype)
    return _cast_array(value, dtype=dtype) if value._dtype_name in (low, "float32") else value


def _with_cast_variables(made, given, fixed, dtype):
    """A symbol whose node casts the variables that it made for itself, too."""
    children = made.get_children()
    if children is None:
        return made
    kept = {*made.list_auxiliary_states(), *(f"{made.name}_{name}" for name in fixed)}
    kept.update(one.name for one in given if isinstance(one, Symbol))
    own = {
        child.name: _cast_symbol(child, dtype=dtype)
        for child in children
        if child.get_children() is None and child.name not in kept
    }
    return made(**own) if own else made


def _widening(low, function):
    """`function` with inputs of one dtype: float32 if one of them is."""

    @functools.wraps(function)
    def wrapped(*args, **kwargs):
        named = {name: value for name, value in kwargs.items() if name != "out"}
        operands = [*_operands(args), *_operands(named.values())]
        if any(isinstance(one, Symbol) for one in operands):
            if len(operands) > 1:
                cast = iter(_multicast(*operands, num_outputs=len(operands)))
                args = _replaced(args, lambda _: next(cast))
                kwargs.update({name: _replaced(value, lambda _: next(cast)) for name, value in named.items()})
        elif {"float32", low} <= {one._dtype_name for one in operands}:
            args = _replaced(args, lambda one: _cast(one, "float32", low))
            kwargs.update(
                {
                    name: _replaced(value, lambda one: _cast(one, "float32", low))
                    for name, value in named.items()
                }
            )
        return function(*args, **kwargs)

    return wrapped


def _widening_beside_numbers(low, function):
    """The same for a function of two operands, which computes in float32 beside a number."""
    widened = _widening(low, function)

    @functools.wraps(function)
    def wrapped(*args, **kwargs):
        if any(isinstance(one, numbers.Number) for one in args):
            return function(*(_cast(one, "float32", low) for one in args), **kwargs)
        return widened(*args, **kwargs)

    return wrapped


def _operands(values):
    """The arrays and symbols among values, and in lists among them."""
    for value in values:
        if isinstance(value, (list, tuple)):
            yield from _operands(value)
        elif _is_legacy(value):
            yield value


def _replaced(value, replace):
    """A value with its operands replaced, in their order."""
    if isinstance(value, (list, tuple)):
        return type(value)([_replaced(one, replace) for one in value])
    return replace(value) if _is_legacy(value) else value


def wrap_loss_outputs(names, scaler):
    """Lets gradients of output operators be scaled by `scaler`; those of symbols cannot, which is logged."""
    for name in names:
        for owner in (nd, nd.op):
            setattr(owner, name, _scaling(scaler, getattr(owner, name)))
        for owner in (sym, sym.op):
            setattr(owner, name, _warning(name, getattr(owner, name)))


def _scaling(scaler, function):
    @functools.wraps(function)
    def wrapped(*args, **kwargs):
        kwargs["grad_scale"] = kwargs.get("grad_scale", 1.0) * scaler.loss_scale
        return function(*args, **kwargs)

    return wrapped


def _warning(name, function):
    @functools.wraps(function)
    def wrapped(*args, **kwargs):
        logging.warning(
            "%s does not support dynamic loss scaling in symbolic and hybridized execution.", name
        )
        return function(*args, **kwargs)

    return wrapped
