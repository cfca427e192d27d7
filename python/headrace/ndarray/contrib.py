"""Operators of ``nd.contrib``, from the catalogue; loops and branches over arrays."""

from .._catalogue import populate as _populate
from .control_flow import cond, foreach, while_loop

__all__ = [*_populate(globals(), "nd.contrib"), "cond", "foreach", "while_loop"]
