"""What MXNet called experimental."""

from ...ndarray import contrib as ndarray
from ...symbol import contrib as symbol
from . import amp, autograd, io, onnx, svrg_optimization, tensorboard, text

nd, sym = ndarray, symbol
