"""Samplers that MXNet keeps under `gluon.contrib.data`."""

from . import sampler
from .sampler import IntervalSampler

__all__ = ["sampler", "IntervalSampler"]
