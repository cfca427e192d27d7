"""Functions of ``np.fft``, which NumPy computes on copies of the arrays in host memory.

Complex results are NumPy's arrays: np arrays hold real numbers.
"""

import numpy as _numpy

from .host import on_host as _on_host

_NAMES = [
    "fft",
    "fft2",
    "fftfreq",
    "fftn",
    "fftshift",
    "hfft",
    "ifft",
    "ifft2",
    "ifftn",
    "ifftshift",
    "ihfft",
    "irfft",
    "irfft2",
    "irfftn",
    "rfft",
    "rfft2",
    "rfftfreq",
    "rfftn",
]

__all__ = [*_NAMES]

globals().update({name: _on_host(getattr(_numpy.fft, name)) for name in _NAMES})
