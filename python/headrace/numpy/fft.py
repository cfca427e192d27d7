"""Functions of ``np.fft``, which NumPy computes on copies of the arrays in host memory.

Complex results are NumPy's arrays: np arrays hold real numbers.
"""

import numpy as _numpy

from .host import of_numpy as _of_numpy

_EXAMPLES = {
    "fft": """
    >>> np.fft.fft(np.array([1, 0, 0, 0])).tolist()
    [(1+0j), (1+0j), (1+0j), (1+0j)]
    """,
    "fft2": """
    >>> np.fft.fft2(np.array([[1, 0], [0, 0]])).tolist()
    [[(1+0j), (1+0j)], [(1+0j), (1+0j)]]
    """,
    "fftfreq": """
    >>> np.fft.fftfreq(4, d=0.5)
    array([ 0. ,  0.5, -1. , -0.5], dtype=float64)
    """,
    "fftn": """
    >>> np.fft.fftn(np.ones((2, 2, 2)))[0, 0, 0].item()  # the sum of all elements
    (8+0j)
    """,
    "fftshift": """
    >>> np.fft.fftshift(np.fft.fftfreq(4))
    array([-0.5 , -0.25,  0.  ,  0.25], dtype=float64)
    """,
    "hfft": """
    >>> np.fft.hfft(np.array([1, 2, 3])).tolist()
    [8.0, -2.0, 0.0, -2.0]
    """,
    "ifft": """
    >>> np.fft.ifft(np.fft.fft(np.array([1, 2, 3]))).real.round(3).tolist()
    [1.0, 2.0, 3.0]
    """,
    "ifft2": """
    >>> np.fft.ifft2(np.fft.fft2(np.array([[1, 2], [3, 4]]))).real.round(3).tolist()
    [[1.0, 2.0], [3.0, 4.0]]
    """,
    "ifftn": """
    >>> np.fft.ifftn(np.fft.fftn(np.array([[1, 2], [3, 4]]))).real.round(3).tolist()
    [[1.0, 2.0], [3.0, 4.0]]
    """,
    "ifftshift": """
    >>> np.fft.ifftshift(np.array([-2, -1, 0, 1])).tolist()
    [0.0, 1.0, -2.0, -1.0]
    """,
    "ihfft": """
    >>> np.fft.ihfft(np.fft.hfft(np.array([1, 2, 3]))).real.round(3).tolist()
    [1.0, 2.0, 3.0]
    """,
    "irfft": """
    >>> np.fft.irfft(np.fft.rfft(np.array([1, 2, 3, 4]))).round(3).tolist()
    [1.0, 2.0, 3.0, 4.0]
    """,
    "irfft2": """
    >>> np.fft.irfft2(np.fft.rfft2(np.array([[1, 2], [3, 4]]))).round(3).tolist()
    [[1.0, 2.0], [3.0, 4.0]]
    """,
    "irfftn": """
    >>> np.fft.irfftn(np.fft.rfftn(np.array([[1, 2], [3, 4]]))).round(3).tolist()
    [[1.0, 2.0], [3.0, 4.0]]
    """,
    "rfft": """
    >>> np.fft.rfft(np.array([1, 0, 0, 0])).tolist()  # half of what fft gives
    [(1+0j), (1+0j), (1+0j)]
    """,
    "rfft2": """
    >>> np.fft.rfft2(np.ones((2, 4))).shape
    (2, 3)
    """,
    "rfftfreq": """
    >>> np.fft.rfftfreq(4, d=0.5)
    array([0. , 0.5, 1. ], dtype=float64)
    """,
    "rfftn": """
    >>> np.fft.rfftn(np.ones((2, 2, 4))).shape
    (2, 2, 3)
    """,
}

__all__ = [*_EXAMPLES]

globals().update({name: _of_numpy(getattr(_numpy.fft, name), example) for name, example in _EXAMPLES.items()})
