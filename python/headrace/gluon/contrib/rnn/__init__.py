"""Recurrent cells that MXNet keeps under `gluon.contrib.rnn`."""

from . import cells, conv_cells, conv_rnn_cell, rnn_cell  # noqa: F401
from .cells import *  # noqa: F403
from .conv_cells import *  # noqa: F403

__all__ = [*cells.__all__, *conv_cells.__all__]
