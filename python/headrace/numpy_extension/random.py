"""Functions of ``npx.random``, from the catalogue."""

from .._catalogue import populate as _populate
from ..random import seed

__all__ = ["seed", *_populate(globals(), "npx.random")]
