"""How far apart two results may be, by dtype."""

import numbers

import numpy as np

__all__ = [
    "default_atols",
    "default_dtype",
    "default_numeric_eps",
    "default_rtols",
    "effective_dtype",
    "get_atol",
    "get_etol",
    "get_rtol",
    "get_tolerance",
    "get_tols",
]

# Floating dtype to (relative tolerance, absolute tolerance, step of finite differences). Steps are powers of
# two: adding one to an input drops no bits.
_FLOATS = {"float16": (1e-2, 1e-1, 2**-6), "float32": (1e-4, 1e-3, 2**-9), "float64": (1e-5, 1e-20, 2**-14)}
_EXACT = ("bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")


def _by_dtype(column):
    return {np.dtype(name): values[column] for name, values in _FLOATS.items()}


def default_dtype():
    """The dtype of test data: float32.

    Examples
    --------
    >>> from headrace.mxnet import test_utils
    >>> test_utils.default_dtype()
    <class 'numpy.float32'>
    """
    return np.float32


def default_rtols():
    """A dictionary of dtype to relative tolerance; integers must be equal.

    Examples
    --------
    >>> from headrace.mxnet import test_utils
    >>> import numpy
    >>> test_utils.default_rtols()[numpy.dtype("float16")]
    0.01
    """
    return {**_by_dtype(0), **{np.dtype(name): 0 for name in _EXACT}}


def default_atols():
    """A dictionary of dtype to absolute tolerance; integers must be equal.

    Examples
    --------
    >>> from headrace.mxnet import test_utils
    >>> import numpy
    >>> test_utils.default_atols()[numpy.dtype("float32")]
    0.001
    """
    return {**_by_dtype(1), **{np.dtype(name): 0 for name in _EXACT}}


def default_numeric_eps():
    """A dictionary of dtype to the step of finite differences.

    Examples
    --------
    >>> from headrace.mxnet import test_utils
    >>> import numpy
    >>> test_utils.default_numeric_eps()[numpy.dtype("float64")]
    6.103515625e-05
    """
    return _by_dtype(2)


def effective_dtype(dat):
    """The dtype whose tolerance fits an array: its own, that of Python's float or int for numbers.

    Examples
    --------
    >>> from headrace.mxnet import test_utils
    >>> test_utils.effective_dtype(nd.ones((2,), dtype="float16")), test_utils.effective_dtype(1.5)
    (dtype('float16'), dtype('float64'))
    """
    return np.dtype(dat.dtype) if hasattr(dat, "dtype") else np.asarray(dat).dtype


def get_tolerance(dat, tol, default_tol):
    """The tolerance for `dat`: `tol` if it is a number, else its entry for the dtype, else the default's.

    Examples
    --------
    >>> import numpy
    >>> from headrace.mxnet import test_utils
    >>> by_dtype = {numpy.dtype("float32"): 0.1, numpy.dtype("float64"): 0.01}
    >>> test_utils.get_tolerance(nd.ones((2,)), None, by_dtype)
    0.1
    >>> test_utils.get_tolerance(nd.ones((2,)), 0.5, by_dtype)
    0.5
    """
    if isinstance(tol, numbers.Number):
        return tol
    dtype = effective_dtype(dat)
    if tol is not None and dtype in tol:
        return tol[dtype]
    return default_tol[dtype]


def get_tols(x, y, rtol, atol):
    """(rtol, atol) to compare two arrays or numbers with: of each the larger one of the two.

    Examples
    --------
    >>> from headrace.mxnet import test_utils
    >>> test_utils.get_tols(nd.ones((2,)), nd.ones((2,), dtype="float16"), rtol=None, atol=0.5)
    (0.01, 0.5)
    """
    return tuple(
        max(get_tolerance(one, given, defaults) for one in (x, y))
        for given, defaults in ((rtol, default_rtols()), (atol, default_atols()))
    )


def get_atol(atol=None, dtype=np.dtype(np.float64)):  # noqa: B008
    """`atol`, or the default of a dtype when it is None.

    Examples
    --------
    >>> from headrace.mxnet import test_utils
    >>> test_utils.get_atol(0.5), test_utils.get_atol(dtype="float16")
    (0.5, 0.1)
    """
    return default_atols()[np.dtype(dtype)] if atol is None else atol


def get_rtol(rtol=None, dtype=np.dtype(np.float64)):  # noqa: B008
    """`rtol`, or the default of a dtype when it is None.

    Examples
    --------
    >>> from headrace.mxnet import test_utils
    >>> test_utils.get_rtol(0.5), test_utils.get_rtol(dtype="float16")
    (0.5, 0.01)
    """
    return default_rtols()[np.dtype(dtype)] if rtol is None else rtol


def get_etol(etol=None):
    """`etol`, the share of elements that may differ, or 0 when it is None.

    Examples
    --------
    >>> from headrace.mxnet import test_utils
    >>> test_utils.get_etol(), test_utils.get_etol(0.1)
    (0, 0.1)
    """
    return 0 if etol is None else etol
