"""Errors and small types that every module shares."""

import os as _os
import threading as _threading

import numpy as _numpy


class MXNetError(RuntimeError):
    """Base of the errors that operations raise. An error that is also a ValueError, TypeError, IndexError
    ... by nature
    derives from both, so either ``except`` clause catches it.

    Examples
    --------
    >>> try:
    ...     nd.ones((2,)) + nd.ones((3,))
    ... except mx.MXNetError as error:
    ...     isinstance(error, ValueError)
    True
    """


class InternalError(MXNetError):
    """Something that should not happen, whatever the user does."""


class ArrayValueError(MXNetError, ValueError):
    """A value or shape that does not fit."""


class ArrayTypeError(MXNetError, TypeError):
    """An argument of the wrong type or dtype."""


class ArrayIndexError(MXNetError, IndexError):
    """An index out of bounds."""


class ArrayKeyError(MXNetError, KeyError):
    """A name that is not known."""

    __str__ = RuntimeError.__str__


class ArrayAttributeError(MXNetError, AttributeError):
    """An attribute that is not there."""


class ArrayNotImplementedError(MXNetError, NotImplementedError):
    """An operation that has no implementation for these arguments."""


class ArrayMemoryError(MXNetError, MemoryError):
    """Not enough memory for a result."""


class ArrayOSError(MXNetError, OSError):
    """A file or device that cannot be used."""

    __str__ = RuntimeError.__str__


class ArrayFileNotFoundError(ArrayOSError, FileNotFoundError):
    """There is no such file."""


class NotSupportedForSparseNDArray(MXNetError):
    """An operation that sparse arrays do not have."""


class NotImplementedForSymbol(ArrayNotImplementedError):
    """Something that arrays have and symbols, which have no values, do not."""


# In the order of headrace::ErrorKind (include/headrace/error.hpp).
error_types = (
    MXNetError,
    ArrayValueError,
    ArrayTypeError,
    ArrayIndexError,
    ArrayKeyError,
    ArrayAttributeError,
    ArrayNotImplementedError,
    ArrayMemoryError,
    ArrayOSError,
)

numeric_types = (float, int, _numpy.generic)
integer_types = (int, _numpy.int32, _numpy.int64)
string_types = (str,)
mx_real_t = _numpy.float32


def py_str(x):
    """The str of bytes, as callbacks get names."""
    return x.decode("utf-8")


def data_dir():
    """The folder of data sets and networks: `$MXNET_HOME`, by default `~/.mxnet`."""
    return _os.environ.get("MXNET_HOME") or _os.path.join(_os.path.expanduser("~"), ".mxnet")


class PerThread(type):
    """Metaclass of scopes: `current` is the innermost one of a thread, which may be set, too.

    Examples
    --------
    >>> class Drawer(metaclass=mx.base.PerThread):
    ...     label = "first"
    >>> Drawer.current.label = "second"
    >>> Drawer.current.label
    'second'
    """

    def __new__(mcs, name, bases, namespace):
        of_instances = property(lambda scope: type(scope).current)
        return super().__new__(mcs, name, bases, {**namespace, "current": of_instances})

    def __init__(cls, name, bases, namespace):
        super().__init__(name, bases, namespace)
        if not any(isinstance(base, PerThread) for base in bases):
            cls._thread, cls._outermost = _threading.local(), cls

    @property
    def current(cls):
        """The innermost scope of this thread."""
        scope = getattr(cls._thread, "scope", None)
        if scope is None:
            scope = cls._thread.scope = cls._outermost()
        return scope

    @current.setter
    def current(cls, scope):
        cls._thread.scope = scope
