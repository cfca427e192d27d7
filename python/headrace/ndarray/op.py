"""All operators of ``nd`` under the name MXNet programs know them by: ``nd.op.dot``."""

from .._catalogue import populate as _populate

__all__ = _populate(globals(), "nd")
