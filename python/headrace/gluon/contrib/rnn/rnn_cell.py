"""The cells under the name of MXNet's module."""

from .cells import *  # noqa: F403
from .cells import __all__  # noqa: F401
