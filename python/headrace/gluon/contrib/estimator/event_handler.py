"""The events of training, and the handlers that come with the Estimator."""

from .checkpoint_handler import CheckpointHandler
from .early_stopping import EarlyStoppingHandler
from .events import BatchBegin, BatchEnd, EpochBegin, EpochEnd, EventHandler, TrainBegin, TrainEnd  # noqa: F401
from .logging_handler import LoggingHandler
from .training_handlers import GradientUpdateHandler, MetricHandler, StoppingHandler, ValidationHandler

__all__ = [
    "BatchBegin",
    "BatchEnd",
    "CheckpointHandler",
    "EarlyStoppingHandler",
    "EpochBegin",
    "EpochEnd",
    "GradientUpdateHandler",
    "LoggingHandler",
    "MetricHandler",
    "StoppingHandler",
    "TrainBegin",
    "TrainEnd",
    "ValidationHandler",
]
