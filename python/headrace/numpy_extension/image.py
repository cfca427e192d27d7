"""Operators of ``npx.image``, from the catalogue."""

from .._catalogue import populate as _populate

__all__ = _populate(globals(), "npx.image")
