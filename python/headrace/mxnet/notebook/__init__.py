"""Callbacks for Jupyter."""

from . import callback
