"""Optimizers on their way to servers: as JSON where they have a name and plain attributes, else as pickles.

In JSON numbers, texts, None and lists are what they are. Whatever else there is is an object with one member
that says what it is: `{"tuple": [...]}`, `{"dict": [[key, value], ...]}`, `{"number": [dtype, value]}` of a
number of NumPy, `{"scheduler": [class, {attribute: value}]}` and, outside of all,
`{"optimizer": [module, class, {attribute: value}]}`.
"""

import importlib
import json
import os
import pickle

import numpy as np

from .. import lr_scheduler
from ..base import MXNetError
from ..optimizer.base import Optimizer
from .settings import PLAIN
from .unpickling import unpickled

__all__ = ["packed", "unpacked"]

_OWN_REDUCTIONS = ("__reduce__", "__reduce_ex__", "__getnewargs__", "__getnewargs_ex__")


class _NotPlain(Exception):
    """A value has no form in JSON."""


def packed(optimizer):
    """The optimizer as bytes; the same for equal ones of one version of the package."""
    try:
        return json.dumps(_form_of(optimizer), sort_keys=True).encode()
    except (_NotPlain, RecursionError, ValueError):  # of json: too deep; a number of thousands of digits
        return pickle.dumps(optimizer)


def unpacked(data):
    """The optimizer of what `packed` gave.

    MXNetError: it is of a class that this process does not know, or that is not taken from whoever has no
    certificate. ValueError: broken bytes.
    """
    return _optimizer_of(data) if data[:1] == b"{" else unpickled(data)


# --- to JSON ---


def _form_of(optimizer):
    klass = type(optimizer)
    if _registered(klass.__name__, klass.__module__) is not klass:
        raise _NotPlain
    if any(getattr(klass, name, None) is not getattr(object, name, None) for name in _OWN_REDUCTIONS):
        raise _NotPlain
    return {"optimizer": [klass.__module__, klass.__name__, _attributes(optimizer.__getstate__())]}


def _attributes(held):
    if type(held) is not dict or not all(type(name) is str for name in held):
        raise _NotPlain
    return {name: _plain(value) for name, value in held.items()}


def _plain(value):
    kind = type(value)
    if kind in PLAIN:
        return value
    if kind is list:
        return [_plain(one) for one in value]
    if kind is tuple:
        return {"tuple": [_plain(one) for one in value]}
    if kind is dict:
        return {"dict": [[_plain(key), _plain(one)] for key, one in value.items()]}
    if isinstance(value, np.generic) and isinstance(value.item(), (bool, int, float)):
        return {"number": [value.dtype.name, value.item()]}
    if _scheduler(kind.__name__) is kind:
        return {"scheduler": [kind.__name__, _attributes(vars(value))]}
    raise _NotPlain


# --- and back ---


def _optimizer_of(data):
    try:
        module, name, attributes = json.loads(data)["optimizer"]
        state = {str(key): _value_of(value) for key, value in attributes.items()}
    except MXNetError:
        raise
    except Exception as error:
        raise ValueError(f"kvstore set_optimizer: broken bytes ({type(error).__name__}: {error})") from None
    klass = _class_of(str(module), str(name))
    made = klass.__new__(klass)
    made.__setstate__(state)
    return made


def _class_of(module, name):
    klass, why = _registered(name, module), None
    if klass is None and os.environ.get("HEADRACE_CERTIFICATES"):  # from a process of the job
        try:
            _import(module)
        except ImportError as error:
            why = error
        klass = _registered(name, module)
    if klass is None:
        raise MXNetError(
            f"kvstore set_optimizer: this server knows no optimizer {name} of {module}"
            f"{f', which it cannot import ({why})' if why else ''}; servers know those of Headrace and, in a "
            "job with certificates (`python -m headrace.launch` without --plain), those that a module "
            "registers which they can import"
        ) from why
    return klass


def _import(module):
    """Imports a module of a program, to which `mxnet` may be Headrace."""
    try:
        importlib.import_module(module)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "mxnet":
            raise
        importlib.import_module("headrace.mxnet").take_name()
        importlib.import_module(module)


def _value_of(form):
    if type(form) is list:
        return [_value_of(one) for one in form]
    if type(form) is not dict:
        return form
    ((what, content),) = form.items()
    return _MAKERS[what](content)


def _scheduler_of(content):
    name, attributes = content
    klass = _scheduler(name)
    if klass is None:
        raise ValueError(f"there is no scheduler {name}")
    made = klass.__new__(klass)
    vars(made).update({str(key): _value_of(value) for key, value in attributes.items()})
    return made


def _number_of(content):
    dtype, value = content
    kind = np.dtype(dtype).type
    if not issubclass(kind, (np.number, np.bool_)):  # one of bytes may be as large as it says
        raise ValueError(f"{dtype} is no number")
    return kind(value)


_MAKERS = {
    "tuple": lambda content: tuple(_value_of(content)),
    "dict": lambda content: {_value_of(key): _value_of(value) for key, value in content},
    "number": _number_of,
    "scheduler": _scheduler_of,
}


# --- names ---


def _registered(name, module):
    """The class of that name and module that the registry knows, or None."""
    found = Optimizer.opt_registry.get(name.lower())
    return found if found is not None and (found.__module__, found.__name__) == (module, name) else None


def _scheduler(name):
    return getattr(lr_scheduler, name) if name in lr_scheduler.__all__ else None
