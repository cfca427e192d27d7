"""Additions to Gluon that MXNet keeps under `gluon.contrib`."""

from . import data, nn, rnn

__all__ = ["data", "nn", "rnn"]
