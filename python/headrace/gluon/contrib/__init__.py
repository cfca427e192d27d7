"""Additions to Gluon that MXNet keeps under `gluon.contrib`."""

from . import data, estimator, nn, rnn

__all__ = ["data", "estimator", "nn", "rnn"]
