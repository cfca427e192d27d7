"""`from d2l import mxnet as d2l`."""

from . import Benchmark, Timer

__all__ = ["Benchmark", "Timer"]
