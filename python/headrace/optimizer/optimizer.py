"""All optimizers in one module, with the name that MXNet gives it: `optimizer.optimizer`."""

from .adaptive import *  # noqa: F403
from .adaptive import __all__ as _adaptive
from .base import *  # noqa: F403
from .base import __all__ as _base
from .fused import *  # noqa: F403
from .fused import __all__ as _fused
from .layerwise import *  # noqa: F403
from .layerwise import __all__ as _layerwise
from .updater import *  # noqa: F403
from .updater import __all__ as _updater

__all__ = [*_adaptive, *_base, *_fused, *_layerwise, *_updater]
