"""Additions to Gluon that MXNet keeps under `gluon.contrib`."""

from . import data

__all__ = ["data"]
