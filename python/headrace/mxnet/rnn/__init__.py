"""`mx.rnn`: recurrent cells that are symbols, and batches of sentences, for MXNet's Module programs."""

from .io import *  # noqa: F403
from .rnn import *  # noqa: F403
from .rnn_cell import *  # noqa: F403
