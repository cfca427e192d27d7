"""np functions of arrays or symbols that contract axes as their arguments describe."""

from .. import _core

__all__ = ["einsum", "tensordot"]

_einsum = _core.function("_npi_einsum", True)
_by_axes = _core.function("_npi_tensordot", True)
_by_count = _core.function("_npi_tensordot_int_axes", True)


def einsum(subscripts, *operands, out=None, optimize=False):
    """Sums of products by Einstein's convention: ``einsum('ij,jk->ik', a, b)`` is the matrix product.

    Labels name the axes of each array; those that the part after -> does not name are summed. Without -> the
    result has the labels that appear once, in alphabetical order; '...' stands for axes that are broadcast.
    ``optimize`` is accepted; arrays are contracted from left to right.

    Raises
    ------
    ValueError
        When labels and arrays do not fit.

    Examples
    --------
    >>> a, b = np.array([[1, 2], [3, 4]]), np.array([[1, 0], [0, 2]])
    >>> np.einsum("ij,jk->ik", a, b)
    array([[1., 4.],
           [3., 8.]])
    >>> np.einsum("ii", a)
    array(5.)
    """
    return _einsum(*operands, subscripts=subscripts, optimize=int(bool(optimize)), out=out)


def tensordot(a, b, axes=2):
    """The sum of products over pairs of axes.

    ``axes`` is a number (that many last axes of ``a`` with the first of ``b``) or a pair of axes or
    sequences of axes. The result has the other axes of ``a``, then those of ``b``.

    Raises
    ------
    ValueError
        When the axes do not pair up.

    Examples
    --------
    >>> a, b = np.ones((2, 3, 4)), np.ones((3, 4, 5))
    >>> np.tensordot(a, b).shape, np.tensordot(a, b, axes=([1], [0])).shape
    ((2, 5), (2, 4, 4, 5))
    """
    if hasattr(axes, "__index__"):
        return _by_count(a, b, axes=axes)
    left, right = ((one,) if hasattr(one, "__index__") else tuple(one) for one in axes)
    return _by_axes(a, b, a_axes_summed=left, b_axes_summed=right)
