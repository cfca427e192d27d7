"""Transforms of images; most also work on whole batches (see `docs/data.md`)."""

from .basic import *  # noqa: F403
from .basic import __all__ as _basic
from .color import *  # noqa: F403
from .color import __all__ as _color
from .geometry import *  # noqa: F403
from .geometry import __all__ as _geometry
from .rotation import *  # noqa: F403
from .rotation import __all__ as _rotation

__all__ = [*_basic, *_color, *_geometry, *_rotation]
