"""`mx.rnn`: recurrent cells that are symbols, and batches of sentences, for MXNet's Module programs."""

from ... import initializer as init
from ... import ndarray, symbol
from ..._checkpoint import load_checkpoint, save_checkpoint
from ...io import DataBatch, DataDesc, DataIter
from .io import *  # noqa: F403
from .rnn import *  # noqa: F403
from .rnn_cell import *  # noqa: F403
