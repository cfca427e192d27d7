"""Initializers of parameters (MXNet spells the module `init` as well)."""

from .base import *  # noqa: F403
from .base import __all__ as _base
from .fillers import *  # noqa: F403
from .fillers import __all__ as _fillers
from .fused_rnn import FusedRNN

__all__ = [*_base, *_fillers, "FusedRNN"]
