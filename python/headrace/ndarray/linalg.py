"""Operators of ``nd.linalg``, from the catalogue."""

from .._catalogue import populate as _populate

__all__ = _populate(globals(), "nd.linalg")
