"""What MXNet called experimental."""

from ...ndarray import contrib as ndarray
from ...symbol import contrib as symbol
from . import autograd, io, tensorboard

nd, sym = ndarray, symbol
