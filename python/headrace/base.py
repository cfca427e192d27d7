"""Errors and small types that every module shares."""

import os as _os
import threading as _threading

import numpy as _numpy


class MXNetError(RuntimeError):
    """Base of the errors that operations raise. An error that is also a ValueError, TypeError, IndexError ...
    by nature derives from both, so either ``except`` clause catches it.

    Examples
    --------
    >>> try:
    ...     nd.ones((2,)) + nd.ones((3,))
    ... except mx.MXNetError as error:
    ...     isinstance(error, ValueError)
    True
    """


class InternalError(MXNetError):
    """Something that should not happen, whatever the user does.

    Examples
    --------
    >>> issubclass(mx.base.InternalError, mx.base.MXNetError)  # what catches errors catches this one
    True
    """


class ArrayValueError(MXNetError, ValueError):
    """A value or shape that does not fit.

    Examples
    --------
    >>> nd.ones((2, 3)).expand_dims(7)
    Traceback (most recent call last):
        ...
    headrace.base.ArrayValueError: expand_dims: axis 7 is out of range ...
    """


class ArrayTypeError(MXNetError, TypeError):
    """An argument of the wrong type or dtype.

    Examples
    --------
    >>> mx.kvstore.create(7)
    Traceback (most recent call last):
        ...
    headrace.base.ArrayTypeError: kvstore create: name must be a string, got int
    """


class ArrayIndexError(MXNetError, IndexError):
    """An index out of bounds.

    Examples
    --------
    >>> nd.array([1, 2])[5]
    Traceback (most recent call last):
        ...
    headrace.base.ArrayIndexError: index 5 is out of bounds for axis 0 with size 2
    """


class ArrayKeyError(MXNetError, KeyError):
    """A name that is not known.

    Examples
    --------
    >>> net = sym.relu(sym.var("data"))
    >>> net(pixels=sym.var("image"))
    Traceback (most recent call last):
        ...
    headrace.base.ArrayKeyError: compose: Keyword argument name pixels not found...
    Candidate arguments:
        [0]data
    """

    __str__ = RuntimeError.__str__


class ArrayAttributeError(MXNetError, AttributeError):
    """An attribute that is not there.

    Examples
    --------
    >>> issubclass(mx.base.ArrayAttributeError, AttributeError)
    True
    >>> issubclass(mx.base.ArrayAttributeError, mx.base.MXNetError)
    True
    """


class ArrayNotImplementedError(MXNetError, NotImplementedError):
    """An operation that has no implementation for these arguments.

    Examples
    --------
    >>> np.ones((2, 2)).copy(order="F")
    Traceback (most recent call last):
        ...
    headrace.base.ArrayNotImplementedError: copy: only order='C', row-major, is there, got 'F'
    """


class ArrayMemoryError(MXNetError, MemoryError):
    """Not enough memory for a result.

    Examples
    --------
    >>> mx.sim.configure(gpus=1, memory="1MB")
    >>> nd.zeros((1024, 1024), ctx=mx.gpu(0)).wait_to_read()
    Traceback (most recent call last):
        ...
    headrace.base.ArrayMemoryError: zeros: gpu(0): out of memory: 4194304 bytes are needed, ...
    >>> mx.sim.configure(gpus=0, memory=0)
    """


class ArrayOSError(MXNetError, OSError):
    """A file or device that cannot be used.

    Examples
    --------
    >>> mx.plan.load("no_machine")
    Traceback (most recent call last):
        ...
    headrace.base.ArrayOSError: topology: 'no_machine' is neither a preset ...
    """

    __str__ = RuntimeError.__str__


class ArrayFileNotFoundError(ArrayOSError, FileNotFoundError):
    """There is no such file.

    Examples
    --------
    >>> mx.image.imread("no.jpg")
    Traceback (most recent call last):
        ...
    headrace.base.ArrayFileNotFoundError: imread: [Errno 2] No such file or directory: 'no.jpg'
    """


class NotSupportedForSparseNDArray(MXNetError):
    """An operation that sparse arrays do not have.

    Examples
    --------
    >>> nd.sparse.zeros("csr", (2, 2)).reshape((4,))
    Traceback (most recent call last):
        ...
    headrace.base.NotSupportedForSparseNDArray: reshape: a csr array has one shape; ...
    """


class NotImplementedForSymbol(ArrayNotImplementedError):
    """Something that arrays have and symbols, which have no values, do not.

    Examples
    --------
    >>> sym.var("x").asnumpy()
    Traceback (most recent call last):
        ...
    headrace.base.NotImplementedForSymbol: Function asnumpy is not implemented for Symbol ...
    """


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
    """The str of bytes, as callbacks get names.

    Examples
    --------
    >>> mx.base.py_str(b"fc_weight")
    'fc_weight'
    """
    return x.decode("utf-8")


def data_dir():
    """The folder of data sets and networks: `$MXNET_HOME`, by default `~/.mxnet`.

    Examples
    --------
    >>> from unittest import mock
    >>> with mock.patch.dict("os.environ", MXNET_HOME="/data/mxnet"):
    ...     print(mx.base.data_dir())
    /data/mxnet
    """
    return _os.environ.get("MXNET_HOME") or _os.path.join(_os.path.expanduser("~"), ".mxnet")


class _InnermostScope:
    """What programs of MXNet read, and set, the innermost scope of a thread by: an attribute `value` that is
    the attribute `name` of the class of scopes.
    """

    def __init__(self, kind, name):
        self._kind, self._name = kind, name

    @property
    def value(self):
        """The innermost scope of this thread."""
        return getattr(self._kind, self._name)

    @value.setter
    def value(self, scope):
        setattr(self._kind, self._name, scope)


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
            cls._current = _InnermostScope(cls, "current")

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

    def enter(cls, scope):
        """Makes a scope, which may be so already, the innermost one of this thread until `leave`."""
        cls._thread.__dict__.setdefault("outer", []).append(cls.current)
        cls.current = scope

    def leave(cls):
        """Goes back to the scope outside of the one that was entered last."""
        cls.current = cls._thread.outer.pop()
