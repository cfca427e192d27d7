"""Training loops with handlers of their events, which MXNet keeps under `gluon.contrib.estimator`."""

from . import batch_processor, estimator, event_handler, utils
from .batch_processor import *  # noqa: F403
from .estimator import *  # noqa: F403
from .event_handler import *  # noqa: F403

__all__ = [*batch_processor.__all__, *estimator.__all__, *event_handler.__all__]
