"""Automatic mixed precision: float16 or bfloat16 where it is safe, float32 elsewhere."""

from . import amp, lists, loss_scaler
from .amp import *  # noqa: F403

__all__ = amp.__all__
