"""Additions to Gluon that MXNet keeps under `gluon.contrib`."""

from . import data, nn

__all__ = ["data", "nn"]
