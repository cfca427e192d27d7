"""Products and linear algebra of matrices, with the standard's names."""

from typing import NamedTuple

import numpy as _numpy

from .. import numpy as _np
from ..base import ArrayValueError
from ..numpy import linalg as _linalg
from ..numpy.linalg import cholesky, det, inv, solve
from ._elementwise import common
from ._reductions import sum as _sum

__all__ = [
    "cholesky",
    "cross",
    "det",
    "diagonal",
    "eigh",
    "eigvalsh",
    "inv",
    "matmul",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "matrix_transpose",
    "outer",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "svd",
    "svdvals",
    "tensordot",
    "trace",
    "vecdot",
    "vector_norm",
]


class EighResult(NamedTuple):
    """Eigenvalues in ascending order, and eigenvectors as columns."""

    eigenvalues: object
    eigenvectors: object


class SlogdetResult(NamedTuple):
    """The sign of a determinant and the logarithm of its absolute value."""

    sign: object
    logabsdet: object


class SVDResult(NamedTuple):
    """The factors of matrices."""

    U: object
    S: object
    Vh: object


def matmul(x1, x2, /):
    """Products of matrices (..., n, k) and (..., k, m), in the dtype that both have in common."""
    return _np.matmul(*common(x1, x2))


def tensordot(x1, x2, /, *, axes=2):
    """Sums of products over axes of both; ``axes`` as of `np.tensordot`."""
    return _np.tensordot(*common(x1, x2), axes=axes)


def vecdot(x1, x2, /, *, axis=-1):
    """Sums of products along an axis, which goes; other axes broadcast.

    Examples
    --------
    >>> from headrace import array_api as xp
    >>> xp.vecdot(xp.asarray([[1, 2], [3, 4]]), xp.asarray([10, 1]))
    array([12, 34], dtype=int64)
    """
    x1, x2 = common(x1, x2)
    if not -min(x1.ndim, x2.ndim) <= axis < 0:
        raise ArrayValueError(f"vecdot: axis must be negative and one of both arrays, got {axis}")
    if x1.shape[axis] != x2.shape[axis]:
        raise ArrayValueError(f"vecdot: extents along axis {axis} differ: {x1.shape} and {x2.shape}")
    return _sum(x1 * x2, axis=axis, dtype=x1.dtype)


def matrix_transpose(x, /):
    """The last two axes change places: (..., m, n) becomes (..., n, m).

    Examples
    --------
    >>> from headrace import array_api as xp
    >>> xp.matrix_transpose(xp.ones((5, 2, 3))).shape
    (5, 3, 2)
    """
    if x.ndim < 2:
        raise ArrayValueError(f"matrix_transpose: at least two axes are needed, got shape {x.shape}")
    return _np.swapaxes(x, -1, -2)


def outer(x1, x2, /):
    """All products of an element of x1 with one of x2.

    Examples
    --------
    >>> from headrace import array_api as xp
    >>> xp.linalg.outer(xp.asarray([1, 2]), xp.asarray([10, 20, 30]))
    array([[10, 20, 30],
           [20, 40, 60]], dtype=int64)
    """
    x1, x2 = common(x1, x2)
    return x1.reshape((-1, 1)) * x2.reshape((1, -1))


def cross(x1, x2, /, *, axis=-1):
    """Cross products of vectors of three numbers along an axis.

    Examples
    --------
    >>> from headrace import array_api as xp
    >>> xp.linalg.cross(xp.asarray([1, 0, 0]), xp.asarray([0, 1, 0]))
    array([0, 0, 1], dtype=int64)
    """
    x1, x2 = common(x1, x2)
    if x1.shape[axis] != 3 or x2.shape[axis] != 3:
        raise ArrayValueError(f"cross: extents along axis {axis} must be 3, got {x1.shape} and {x2.shape}")
    a, b = _np.moveaxis(x1, axis, -1), _np.moveaxis(x2, axis, -1)
    parts = [a[..., i - 2] * b[..., i - 1] - a[..., i - 1] * b[..., i - 2] for i in range(3)]
    return _np.stack(parts, axis=axis)


def diagonal(x, /, *, offset=0):
    """Diagonals of matrices (..., m, n); ``offset`` is how far to the right of the main one.

    Examples
    --------
    >>> from headrace import array_api as xp
    >>> xp.linalg.diagonal(xp.asarray([[1, 2], [3, 4]]), offset=1)
    array([2], dtype=int64)
    """
    return _np.diagonal(x, offset, -2, -1)


def trace(x, /, *, offset=0, dtype=None):
    """Sums of diagonals of matrices (..., m, n).

    Examples
    --------
    >>> from headrace import array_api as xp
    >>> xp.linalg.trace(xp.asarray([[1, 2], [3, 4]]))
    array(5, dtype=int64)
    """
    return _sum(diagonal(x, offset=offset), axis=-1, dtype=dtype)


def eigh(x, /):
    """Eigenvalues (..., n), ascending, and eigenvectors (..., n, n), in columns, of symmetric matrices.

    Examples
    --------
    >>> from headrace import array_api as xp
    >>> values, vectors = xp.linalg.eigh(xp.asarray([[2.0, 1.0], [1.0, 2.0]]))
    >>> values, vectors.shape
    (array([1., 3.]), (2, 2))
    """
    return EighResult(*_linalg.eigh(x))


def eigvalsh(x, /):
    """Eigenvalues (..., n), ascending, of symmetric matrices (..., n, n).

    Examples
    --------
    >>> from headrace import array_api as xp
    >>> xp.linalg.eigvalsh(xp.asarray([[2.0, 1.0], [1.0, 2.0]]))
    array([1., 3.])
    """
    return _linalg.eigvalsh(x)


def slogdet(x, /):
    """Signs and logarithms of the absolute values of determinants of matrices (..., n, n).

    Examples
    --------
    >>> from headrace import array_api as xp
    >>> xp.linalg.slogdet(xp.asarray([[-1.0, 0.0], [0.0, 1.0]]))
    SlogdetResult(sign=array(-1.), logabsdet=array(0.))
    """
    return SlogdetResult(*_linalg.slogdet(x))


def svd(x, /, *, full_matrices=True):
    """Singular values and vectors; ValueError for full matrices of such that are not square.

    Examples
    --------
    >>> from headrace import array_api as xp
    >>> u, singular, vh = xp.linalg.svd(xp.asarray([[3.0, 0.0], [0.0, 2.0]]))
    >>> singular
    array([3., 2.])
    """
    if full_matrices and x.shape[-1] != x.shape[-2]:
        raise ArrayValueError(
            "svd: only reduced factors of matrices that are not square; full_matrices=False"
        )
    if x.shape[-2] > x.shape[-1]:  # np.linalg.svd takes wide ones
        left, values, right = _linalg.svd(matrix_transpose(x))
        return SVDResult(matrix_transpose(right), values, matrix_transpose(left))
    return SVDResult(*_linalg.svd(x))


def svdvals(x, /):
    """Singular values in descending order.

    Examples
    --------
    >>> from headrace import array_api as xp
    >>> xp.linalg.svdvals(xp.asarray([[3.0, 0.0], [0.0, 2.0]]))
    array([3., 2.])
    """
    return svd(x, full_matrices=False).S


def pinv(x, /, *, rtol=None):
    """Pseudo-inverses; singular values below rtol times the largest count as zero.

    Examples
    --------
    >>> from headrace import array_api as xp
    >>> xp.linalg.pinv(xp.asarray([[1.0, 0.0], [0.0, 2.0]]))
    array([[1. , 0. ],
           [0. , 0.5]])
    """
    return _linalg.pinv(x) if rtol is None else _linalg.pinv(x, rtol)


class QRResult(NamedTuple):
    """An orthogonal factor and an upper triangular one."""

    Q: object
    R: object


def qr(x, /, *, mode="reduced"):
    """The QR factors of matrices; "reduced" or "complete", computed by NumPy.

    Examples
    --------
    >>> from headrace import array_api as xp
    >>> a = xp.asarray([[3.0, 1.0], [4.0, 2.0]])
    >>> q, r = xp.linalg.qr(a)
    >>> np.allclose(xp.matmul(q, r), a)
    True
    """
    return QRResult(*_linalg.qr(x, mode))


def matrix_rank(x, /, *, rtol=None):
    """How many singular values are above rtol times the largest.

    Examples
    --------
    >>> from headrace import array_api as xp
    >>> xp.linalg.matrix_rank(xp.asarray([[1.0, 2.0], [2.0, 4.0]]))
    array(1, dtype=int64)
    """
    s = svdvals(x)
    rtol = max(x.shape[-2:]) * float(_numpy.finfo(x.dtype).eps) if rtol is None else rtol
    if isinstance(rtol, _np.ndarray):
        rtol = rtol.reshape((*rtol.shape, 1))
    return _sum((s > _np.max(s, axis=-1, keepdims=True) * rtol).astype("int64"), axis=-1)


def matrix_power(x, n, /):
    """A matrix times itself, n - 1 times; of the inverse if n is negative.

    Examples
    --------
    >>> from headrace import array_api as xp
    >>> xp.linalg.matrix_power(xp.asarray([[1.0, 1.0], [0.0, 1.0]]), 3)
    array([[1., 3.],
           [0., 1.]])
    """
    base = inv(x) if n < 0 else x
    result = _np.broadcast_to(_np.eye(x.shape[-1], dtype=x.dtype, ctx=x.ctx), x.shape)
    for _ in range(abs(n)):
        result = _np.matmul(result, base)
    return result


def matrix_norm(x, /, *, keepdims=False, ord="fro"):
    """Norms of matrices.

    Examples
    --------
    >>> from headrace import array_api as xp
    >>> xp.linalg.matrix_norm(xp.asarray([[3.0, 0.0], [0.0, 4.0]]))
    array(5.)
    """
    return _linalg.norm(x, ord=ord, axis=(-2, -1), keepdims=keepdims)


def vector_norm(x, /, *, axis=None, keepdims=False, ord=2):
    """Norms of vectors along an axis, or of all elements.

    Examples
    --------
    >>> from headrace import array_api as xp
    >>> xp.linalg.vector_norm(xp.asarray([3.0, 4.0]))
    array(5.)
    """
    if axis is None:
        result = _linalg.norm(x.reshape((-1,)), ord=ord, axis=0)
        return result.reshape((1,) * x.ndim) if keepdims else result
    return _linalg.norm(x, ord=ord, axis=axis, keepdims=keepdims)
