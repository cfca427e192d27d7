"""Optimizers: how a gradient changes a weight."""

from ..ndarray import abs as NDabs  # MXNet's name of it here
from . import contrib
from .optimizer import *  # noqa: F403
from .optimizer import __all__
