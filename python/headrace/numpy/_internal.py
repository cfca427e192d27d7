"""Operators of np arrays that programs reach by this name alone."""

from .. import _core

__all__ = ["Custom"]

Custom = _core.function("_npi_Custom", True)
