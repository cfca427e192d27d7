"""Random NumPy matrices with known properties."""

import numpy as np

__all__ = [
    "new_matrix_with_real_eigvals_2d",
    "new_matrix_with_real_eigvals_nd",
    "new_orthonormal_matrix_2d",
    "new_sym_matrix_with_real_eigvals_2d",
    "new_sym_matrix_with_real_eigvals_nd",
]


def new_matrix_with_real_eigvals_2d(n):
    """A NumPy matrix (n, n) with real eigenvalues from -10 to 10 and well-conditioned eigenvectors.

    Examples
    --------
    >>> import numpy
    >>> from headrace.mxnet import test_utils
    >>> values = numpy.linalg.eigvals(test_utils.new_matrix_with_real_eigvals_2d(3))
    >>> values.shape, bool(numpy.isreal(values).all())
    ((3,), True)
    """
    while True:
        scales = np.diag(np.random.uniform(-1.0, 1.0, n))
        normal = np.random.uniform(-1.0, 1.0, (n, 1))
        normal = normal / np.linalg.norm(normal)
        vectors = (np.eye(n) - 2 * normal @ normal.T) @ scales  # a reflection, scaled
        if np.linalg.cond(vectors, 2) < 3:
            break
    return np.linalg.inv(vectors) @ np.diag(np.random.uniform(-10.0, 10.0, n)) @ vectors


def new_matrix_with_real_eigvals_nd(shape):
    """A NumPy array of such matrices, see `new_matrix_with_real_eigvals_2d`: the last two axes of `shape`.

    Examples
    --------
    >>> from headrace.mxnet import test_utils
    >>> test_utils.new_matrix_with_real_eigvals_nd((4, 3, 3)).shape
    (4, 3, 3)
    """
    return _batch(new_matrix_with_real_eigvals_2d, shape)


def new_orthonormal_matrix_2d(n):
    """A NumPy matrix Q (n, n) with Q.T @ Q = 1.

    Examples
    --------
    >>> from headrace.mxnet import test_utils
    >>> import numpy
    >>> q = test_utils.new_orthonormal_matrix_2d(3)
    >>> numpy.allclose(q.T @ q, numpy.eye(3))
    True
    """
    drawn = np.random.randn(n, n)
    return np.linalg.qr(drawn.T @ drawn)[0]


def new_sym_matrix_with_real_eigvals_2d(n):
    """A symmetric NumPy matrix (n, n) with eigenvalues from -10 to 10.

    Examples
    --------
    >>> from headrace.mxnet import test_utils
    >>> import numpy
    >>> matrix = test_utils.new_sym_matrix_with_real_eigvals_2d(3)
    >>> numpy.allclose(matrix, matrix.T)
    True
    """
    vectors = new_orthonormal_matrix_2d(n)
    return vectors.T @ np.diag(np.random.uniform(-10.0, 10.0, n)) @ vectors


def new_sym_matrix_with_real_eigvals_nd(shape):
    """A NumPy array of such matrices, see `new_sym_matrix_with_real_eigvals_2d`: the last two axes of
    `shape`.

    Examples
    --------
    >>> from headrace.mxnet import test_utils
    >>> test_utils.new_sym_matrix_with_real_eigvals_nd((4, 3, 3)).shape
    (4, 3, 3)
    """
    return _batch(new_sym_matrix_with_real_eigvals_2d, shape)


def _batch(new, shape):
    count = int(np.prod(shape[:-2]))
    return np.array([new(shape[-1]) for _ in range(count)]).reshape(shape)
