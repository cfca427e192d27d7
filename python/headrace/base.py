"""Errors and small types that every module shares."""

import numpy as _numpy


class MXNetError(RuntimeError):
    """Base of the errors that operations raise. An error that is also a ValueError, TypeError, IndexError
    ... by nature
    derives from both, so either ``except`` clause catches it."""


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
