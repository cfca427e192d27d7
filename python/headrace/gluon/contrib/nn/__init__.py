"""Layers that MXNet keeps under `gluon.contrib.nn`."""

from .basic_layers import *  # noqa: F403
from .basic_layers import __all__  # noqa: F401
