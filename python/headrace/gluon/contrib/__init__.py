"""Additions to Gluon that MXNet keeps under `gluon.contrib`."""

from . import cnn, data, estimator, nn, rnn

__all__ = ["cnn", "data", "estimator", "nn", "rnn"]
