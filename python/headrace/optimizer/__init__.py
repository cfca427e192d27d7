"""Optimizers: how a gradient changes a weight."""

from .base import *  # noqa: F403
from .base import __all__ as _base
from .fused import *  # noqa: F403
from .fused import __all__ as _fused
from .updater import *  # noqa: F403
from .updater import __all__ as _updater

__all__ = [*_base, *_fused, *_updater]
