"""Convolutions that MXNet keeps under `gluon.contrib.cnn`."""

from . import conv_layers  # noqa: F401
from .conv_layers import *  # noqa: F403
from .conv_layers import __all__  # noqa: F401
