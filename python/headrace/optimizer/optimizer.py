"""The module path under which MXNet keeps its optimizers."""

from . import *  # noqa: F403
from . import __all__  # noqa: F401
