"""Functions of ``np.linalg``, of arrays or symbols; and those that NumPy computes on the host (``host``)."""

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

__all__ = ["eig", "eigh", "pinv", "svd", "tensorsolve", *_populate(globals(), "np.linalg"), *_ON_HOST]

_eig = _core.function("_npi_eig", True)
_eigh = _core.function("_npi_eigh", True)
_pinv = _core.function("_npi_pinv", True)
_pinv_number = _core.function("_npi_pinv_scalar_rcond", True)
_svd = _core.function("_npi_svd", True)
_tensorsolve = _core.function("_npi_tensorsolve", True)

globals().update(
    {name: _of_numpy(getattr(_numpy.linalg, name), example) for name, example in _ON_HOST.items()}
)


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
    return tuple(_eig(a))


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
    return tuple(_eigh(a, UPLO))


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
    parts = _svd(a)
    return parts if _is_symbol(parts) else tuple(parts)


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
