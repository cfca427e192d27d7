"""All cells under the name of MXNet's module."""

from .base import *  # noqa: F403
from .composite_cells import *  # noqa: F403
from .conv_cells import *  # noqa: F403
from .dropout_cell import *  # noqa: F403
from .fused_cell import *  # noqa: F403
from .gated_cells import *  # noqa: F403
from .modifier_cells import *  # noqa: F403
