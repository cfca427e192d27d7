"""The convolutional cells under the name of MXNet's module."""

from .conv_cells import *  # noqa: F403
from .conv_cells import __all__  # noqa: F401
