"""Optimizers: how a gradient changes a weight."""

from . import contrib
from .optimizer import *  # noqa: F403
from .optimizer import __all__
