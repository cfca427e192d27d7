"""Operators of ``nd.image``, from the catalogue."""

from .._catalogue import populate as _populate

__all__ = _populate(globals(), "nd.image")
