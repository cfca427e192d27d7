"""Well-known networks."""

from . import vision
from .vision import get_model

__all__ = ["get_model", "vision"]
