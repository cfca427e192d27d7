"""Functions of ``np.linalg``, of arrays or symbols; and those that NumPy computes on the host (``host``)."""

import functools as _functools

import numpy as _numpy

from .. import _core
from .._catalogue import populate as _populate
from ._operands import is_symbol as _is_symbol
from .host import of_numpy as _of_numpy

_ON_HOST = {  # and an example of each
    "cond": """
    >>> float(np.linalg.cond(np.array([[1, 0], [0, 4]])))
    4.0
    """,
    "lstsq": """
    >>> a = np.array([[0, 1], [1, 1], [2, 1]])
    >>> solution, residuals, rank, singular_values = np.linalg.lstsq(a, np.array([1, 3, 5]), rcond=None)
    >>> solution.round(3)
    array([2., 1.])
    """,
    "matrix_power": """
    >>> np.linalg.matrix_power(np.array([[1, 1], [0, 1]]), 3)
    array([[1., 3.],
           [0., 1.]])
    """,
    "matrix_rank": """
    >>> int(np.linalg.matrix_rank(np.array([[1, 2], [2, 4]])))
    1
    """,
    "multi_dot": """
    >>> np.linalg.multi_dot([np.ones((2, 3)), np.ones((3, 4)), np.ones((4, 1))])
    array([[12.],
           [12.]])
    """,
    "qr": """
    >>> a = np.array([[3, 1], [4, 2]])
    >>> q, r = np.linalg.qr(a)
    >>> np.allclose(np.dot(q, r), a), r.shape
    (True, (2, 2))
    """,
}

__all__ = ["eig", "eigh", "pinv", "slogdet", "svd", "tensorsolve", *_ON_HOST]

_eig = _core.function("_npi_eig", True)
_eigh = _core.function("_npi_eigh", True)
_pinv = _core.function("_npi_pinv", True)
_pinv_number = _core.function("_npi_pinv_scalar_rcond", True)
_slogdet = _core.function("_npi_slogdet", True)
_svd = _core.function("_npi_svd", True)
_tensorsolve = _core.function("_npi_tensorsolve", True)

globals().update(
    {name: _of_numpy(getattr(_numpy.linalg, name), example) for name, example in _ON_HOST.items()}
)


@_functools.cache
def _result_type(function):
    """What NumPy's function gives: a tuple, from NumPy 1.25 on one whose parts have names."""
    return type(getattr(_numpy.linalg, function)(_numpy.eye(1)))


def _as_numpy_gives(function, parts):
    make = getattr(_result_type(function), "_make", tuple)
    return parts if _is_symbol(parts) else make(parts)


def eig(a):
    """Eigenvalues and eigenvectors of square matrices whose eigenvalues are real.

    The matrices (..., n, n) are in the last two axes. Gives a tuple of the eigenvalues (..., n), in no
    special order, and the eigenvectors, of length 1, as the columns of (..., n, n). Results are float32 for
    float32, otherwise float64. The gradient is 0.

    Raises
    ------
    MXNetError
        For other shapes, for float16 and, when a result is waited for, for eigenvalues that are complex and
        for elements that are NaN or infinite.

    Examples
    --------
    >>> values, vectors = np.linalg.eig(np.array([[2, 0], [0, 3]]))
    >>> sorted(values.tolist())
    [2.0, 3.0]
    """
    return _as_numpy_gives("eig", _eig(a))


def eigh(a, UPLO="L"):
    """Eigenvalues and eigenvectors of symmetric matrices.

    The matrices (..., n, n) are in the last two axes; of each, only the triangle that ``UPLO`` names ('L' or
    'U') is read. Gives a tuple of the eigenvalues (..., n), in ascending order, and the eigenvectors as the
    columns of (..., n, n); in each the element that is farthest from 0 is positive. Results are float32 for
    float32, otherwise float64. The gradient is that of symmetric matrices.

    Raises
    ------
    MXNetError
        For other shapes and for float16.

    Examples
    --------
    >>> values, vectors = np.linalg.eigh(np.array([[2, 1], [1, 2]]))
    >>> values.round(3)
    array([1., 3.])
    """
    return _as_numpy_gives("eigh", _eigh(a, UPLO))


def pinv(a, rcond=1e-15, hermitian=False):
    """Moore-Penrose pseudo-inverses of the matrices ``a`` (..., m, n), as (..., n, m).

    Parameters
    ----------
    rcond : float or ndarray
        Singular values up to this share of the largest one are taken for 0; an array has one for each matrix.

    Raises
    ------
    NotImplementedError
        For ``hermitian=True``.
    MXNetError
        For arrays without matrices, and for float16.

    Examples
    --------
    >>> a = np.array([[1, 0], [0, 2], [0, 0]])
    >>> np.linalg.pinv(a)
    array([[1. , 0. , 0. ],
           [0. , 0.5, 0. ]])
    """
    if hermitian:
        raise NotImplementedError("linalg.pinv: hermitian=True is not there; leave it away")
    if _numpy.isscalar(rcond):
        return _pinv_number(a, rcond=rcond, hermitian=False)
    return _pinv(a, rcond, hermitian=False)


def slogdet(a):
    """Sign and logarithm of the absolute value of the determinants of the matrices ``a`` (..., n, n).

    Both have the shape (...); of a singular matrix they are 0 and -inf. The gradient is that of the
    logarithm alone.

    Raises
    ------
    MXNetError
        For other shapes, and for dtypes other than float32 and float64.

    Examples
    --------
    >>> sign, logarithm = np.linalg.slogdet(np.array([[0, 1], [1, 0]]))
    >>> float(sign), float(logarithm)
    (-1.0, 0.0)
    """
    return _as_numpy_gives("slogdet", _slogdet(a))


def svd(a):
    """Singular values and vectors of the matrices ``a`` (..., m, n), m <= n: a = ut @ diag(l) @ v.

    Gives ut (..., m, m), l (..., m), in descending order, and v (..., m, n). In each row of v the element
    that is farthest from 0 is positive. The gradient needs singular values that differ, and are not 0, where
    it comes from ut or v.

    Raises
    ------
    MXNetError
        For more rows than columns, and for dtypes other than float32 and float64.

    Examples
    --------
    >>> a = np.array([[3, 0, 0], [0, 2, 0]])
    >>> ut, singular, v = np.linalg.svd(a)
    >>> singular, np.allclose(np.dot(ut * singular, v), a)
    (array([3., 2.]), True)
    """
    return _as_numpy_gives("svd", _svd(a))


def tensorsolve(a, b, axes=None):
    """The x of ``tensordot(a, x, x.ndim) = b``.

    Parameters
    ----------
    a : ndarray
        Of shape ``b.shape + x.shape``, after ``axes`` were moved to its end.

    Raises
    ------
    MXNetError
        For other shapes, for float16 and, when the result is waited for, where there is no one solution.

    Examples
    --------
    >>> np.linalg.tensorsolve(np.array([[2, 0], [0, 4]]), np.array([1, 2]))
    array([0.5, 0.5])
    """
    return _tensorsolve(a, b) if axes is None else _tensorsolve(a, b, a_axes=axes)


__all__ += _populate(globals(), "np.linalg")
