"""Well-known networks."""

from . import vision

__all__ = ["vision"]
