"""Functions of ``np.linalg``: from the catalogue, and those that NumPy computes on the host (``host``)."""

import numpy as _numpy

from .._catalogue import populate as _populate
from .host import on_host as _on_host

_ON_HOST = ["cond", "lstsq", "matrix_power", "matrix_rank", "multi_dot", "qr"]

__all__ = [*_populate(globals(), "np.linalg"), *_ON_HOST]

globals().update({name: _on_host(getattr(_numpy.linalg, name)) for name in _ON_HOST})
