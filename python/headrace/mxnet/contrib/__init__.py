"""What MXNet called experimental."""

from ...ndarray import contrib as ndarray
from ...symbol import contrib as symbol
from . import amp, autograd, io, onnx, quantization, svrg_optimization, tensorboard, text

nd, sym, quant = ndarray, symbol, quantization
