"""Functions of ``np.random``, from the catalogue."""

from .._catalogue import populate as _populate

__all__ = _populate(globals(), "np.random")
