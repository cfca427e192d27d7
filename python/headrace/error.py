"""Errors by the names that MXNet's module has."""

from .base import InternalError, MXNetError

__all__ = ["InternalError", "MXNetError", "register", "register_error"]


def register_error(func_name=None, cls=None):
    """Class decorator that leaves an error class as it is: errors have their types without a registry.

    Called as `register_error(cls)`, `register_error(name)` or `register_error(name, cls)`.

    Examples
    --------
    >>> @mx.error.register_error
    ... class ShapeError(mx.base.MXNetError):
    ...     pass
    >>> ShapeError.__name__
    'ShapeError'
    """
    if isinstance(func_name, type):
        return func_name
    return (lambda made: made) if cls is None else cls


register = register_error
