"""Whether results are equal, or nearly so, and where they differ most when they are not."""

import numpy as np

from ...ndarray import NDArray
from .tolerances import get_atol, get_etol, get_rtol, get_tols

__all__ = [
    "almost_equal",
    "assert_allclose",
    "assert_almost_equal",
    "assert_almost_equal_ignore_nan",
    "assert_almost_equal_with_err",
    "assert_exception",
    "checkShapes",
    "compare_ndarray_tuple",
    "locationError",
    "same",
    "same_array",
]


def _host(value):
    return value.asnumpy() if isinstance(value, NDArray) else value


def same(a, b):
    """Whether two arrays have the same shape and equal elements.

    Examples
    --------
    >>> from headrace.mxnet import test_utils
    >>> a = nd.array([1, 2])
    >>> test_utils.same(a, a.copy()), test_utils.same(a, nd.array([[1, 2]]))
    (True, False)
    """
    return np.array_equal(_host(a), _host(b))


def same_array(array1, array2):
    """Whether two nd arrays share their memory: a change of one is seen in the other.

    Examples
    --------
    >>> from headrace.mxnet import test_utils
    >>> x = nd.array([1, 2, 3])
    >>> test_utils.same_array(x[:2], x[:2]), test_utils.same_array(x, x.copy())
    (True, False)
    """
    before = array1.copy()
    array1[:] = array1 + 1
    changed = same(array1, array2)
    array1[:] = before
    return changed and same(array1, array2)


def checkShapes(a, b):  # noqa: N802
    """AssertionError unless two arrays have one shape.

    Examples
    --------
    >>> from headrace.mxnet import test_utils
    >>> test_utils.checkShapes(nd.ones((2, 3)), nd.ones((3, 2)))
    Traceback (most recent call last):
        ...
    AssertionError: a.shape = (2, 3) and b.shape = (3, 2) are not equal
    """
    assert a.shape == b.shape, f"a.shape = {a.shape} and b.shape = {b.shape} are not equal"


def almost_equal(a, b, rtol=None, atol=None, equal_nan=False, use_broadcast=True):
    """Whether |a - b| <= atol + rtol * |b| everywhere: a bool; shapes may broadcast unless `use_broadcast`
    is off.

    Tolerances that are None are those of float64.

    Examples
    --------
    >>> from headrace.mxnet import test_utils
    >>> test_utils.almost_equal(nd.array([1, 2]), nd.array([1, 2.1]))
    False
    >>> test_utils.almost_equal(nd.array([1, 2]), nd.array([1, 2.1]), rtol=0.1)
    True
    """
    if not use_broadcast:
        checkShapes(a, b)
    return np.allclose(_host(a), _host(b), rtol=get_rtol(rtol), atol=get_atol(atol), equal_nan=equal_nan)


def locationError(a, b, index, names, maxError=False):  # noqa: N802, N803
    """A line of text about the elements at an index of two arrays.

    Examples
    --------
    >>> import numpy
    >>> from headrace.mxnet import test_utils
    >>> got, wanted = numpy.array([1.0, 2.0]), numpy.array([1.0, 2.5])
    >>> test_utils.locationError(got, wanted, (1,), names=("got", "wanted"))
    'Location of error: (1,), got=2.00000000, wanted=2.50000000'
    """
    kind = "maximum error" if maxError else "error"
    return f"Location of {kind}: {index}, {names[0]}={a[index]:.8f}, {names[1]}={b[index]:.8f}"


def assert_almost_equal(
    a,
    b,
    rtol=None,
    atol=None,
    names=("a", "b"),
    equal_nan=False,
    use_broadcast=True,
    mismatches=(10, 10),
):
    """Raises AssertionError unless |a - b| <= atol + rtol * |b| everywhere.

    a, b : nd, np or NumPy arrays, or numbers; shapes may broadcast unless `use_broadcast` is off
    rtol, atol : numbers, dictionaries by dtype, or None: those of the less precise of the two dtypes
    mismatches : how many of the largest errors are printed, and how many are counted (0: all)

    Examples
    --------
    >>> from headrace.mxnet import test_utils
    >>> test_utils.assert_almost_equal(nd.array([1, 2]), nd.array([1, 2.1]), rtol=0.1)
    >>> test_utils.assert_almost_equal(nd.array([1, 2]), nd.array([1, 2.1]))
    Traceback (most recent call last):
        ...
    AssertionError: ...
    """
    if not use_broadcast:
        checkShapes(a, b)
    rtol, atol = get_tols(a, b, rtol, atol)
    a, b = np.asarray(_host(a)), np.asarray(_host(b))
    if a.dtype == b.dtype == np.bool_:
        np.testing.assert_equal(a, b)
    elif not almost_equal(a, b, rtol, atol, equal_nan=equal_nan):
        raise AssertionError(_describe(a, b, rtol, atol, names, equal_nan, mismatches))


def assert_allclose(a, b, rtol=1e-07, atol=0, equal_nan=True):
    """assert_almost_equal with NumPy's defaults.

    Examples
    --------
    >>> from headrace.mxnet import test_utils
    >>> test_utils.assert_allclose(nd.array([1]), nd.array([1.01]), rtol=0.1)
    >>> test_utils.assert_allclose(nd.array([1]), nd.array([1.01]))
    Traceback (most recent call last):
        ...
    AssertionError: ...
    """
    assert_almost_equal(a, b, rtol=rtol, atol=atol, equal_nan=equal_nan)


def assert_almost_equal_with_err(
    a, b, rtol=None, atol=None, etol=None, names=("a", "b"), equal_nan=False, mismatches=(10, 10)
):
    """assert_almost_equal that allows a share `etol` (0 to 1) of the elements to be further apart.

    Examples
    --------
    >>> from headrace.mxnet import test_utils
    >>> a, b = nd.array([1, 2, 3, 4]), nd.array([1, 2, 3, 9])
    >>> test_utils.assert_almost_equal_with_err(a, b, etol=0.25)
    >>> test_utils.assert_almost_equal_with_err(a, b, etol=0.2)
    Traceback (most recent call last):
        ...
    AssertionError: ...
    """
    etol = get_etol(etol)
    if etol <= 0:
        assert_almost_equal(a, b, rtol, atol, names, equal_nan, mismatches=mismatches)
        return
    rtol, atol = get_tols(a, b, rtol, atol)
    a, b = np.asarray(_host(a)), np.asarray(_host(b))
    close = np.isclose(a, b, rtol=rtol, atol=atol, equal_nan=equal_nan)
    if 1 - np.count_nonzero(close) / max(close.size, 1) > etol:
        raise AssertionError(_describe(a, b, rtol, atol, names, equal_nan, mismatches))


def assert_almost_equal_ignore_nan(a, b, rtol=None, atol=None, names=("a", "b")):
    """assert_almost_equal of the elements that are nan in neither array.

    Examples
    --------
    >>> from headrace.mxnet import test_utils
    >>> test_utils.assert_almost_equal_ignore_nan(nd.array([1, np.nan]), nd.array([1, 2]))
    >>> test_utils.assert_almost_equal_ignore_nan(nd.array([3, np.nan]), nd.array([1, 2]))
    Traceback (most recent call last):
        ...
    AssertionError: ...
    """
    a, b = np.array(_host(a)), np.array(_host(b))
    ignored = np.isnan(a) | np.isnan(b)
    a[ignored] = b[ignored] = 0
    assert_almost_equal(a, b, rtol, atol, names)


def assert_exception(f, exception_type, *args, **kwargs):
    """Raises AssertionError unless `f(*args, **kwargs)` raises `exception_type`.

    Examples
    --------
    >>> from headrace.mxnet import test_utils
    >>> test_utils.assert_exception(int, ValueError, "three")
    >>> test_utils.assert_exception(int, ValueError, "3")
    Traceback (most recent call last):
        ...
    AssertionError: <class 'int'> raised no <class 'ValueError'>
    """
    try:
        f(*args, **kwargs)
    except exception_type:
        return
    raise AssertionError(f"{f} raised no {exception_type}")


def compare_ndarray_tuple(t1, t2, rtol=None, atol=None):
    """assert_almost_equal of arrays in nested tuples; what is None in either is left out.

    Examples
    --------
    >>> from headrace.mxnet import test_utils
    >>> test_utils.compare_ndarray_tuple((nd.array([1]), None), (nd.array([1]), nd.array([2])))
    >>> test_utils.compare_ndarray_tuple((nd.array([1]), nd.array([3])), (nd.array([1]), nd.array([2])))
    Traceback (most recent call last):
        ...
    AssertionError: ...
    """
    if t1 is None or t2 is None:
        return
    if isinstance(t1, tuple):
        for one, other in zip(t1, t2):
            compare_ndarray_tuple(one, other, rtol, atol)
    else:
        assert_almost_equal(t1, t2, rtol=rtol, atol=atol)


def _describe(a, b, rtol, atol, names, equal_nan, mismatches):
    """Prints the largest errors and makes the text of the AssertionError."""
    summary = {"threshold": 4, "suppress": True, "edgeitems": 3}
    try:
        a, b = np.broadcast_arrays(a, b)
    except ValueError:
        return f"{names[0]} of shape {a.shape} and {names[1]} of shape {b.shape} do not broadcast"
    violation = _violation(a, b, rtol, atol, equal_nan)
    printed, counted = mismatches
    order = np.argsort(-violation, axis=None, kind="stable")
    places = [tuple(map(int, np.unravel_index(i, violation.shape))) for i in order[: max(printed, 1)]]
    wrong = np.count_nonzero(violation > 1)
    print(f"\n*** Maximum errors for vector of size {a.size}:  rtol={rtol}, atol={atol}\n")
    for number, place in enumerate(places[: min(printed, wrong)], 1):
        print(f"{number:3d}: Error {violation[place]:f}  {locationError(a, b, place, names)}")
    share = f"at least {100 * counted / a.size:f}" if 0 < counted < wrong else f"{100 * wrong / a.size:f}"
    with np.printoptions(**summary):
        return (
            f"Error {violation[places[0]]:f} exceeds tolerance rtol={rtol:e}, atol={atol:e} "
            f"(mismatch {share}%).\n{locationError(a, b, places[0], names, maxError=True)}\n"
            f" {names[0]}: {a!r}\n {names[1]}: {b!r}"
        )


def _violation(a, b, rtol, atol, equal_nan):
    """|a - b| in tolerances, element by element: above 1 where it is too large, infinite where one is nan."""
    with np.errstate(all="ignore"):
        a, b = (x.astype(np.float64) if x.dtype.kind in "biuf" else x for x in (a, b))
        equal = (a == b) | (np.isnan(a) & np.isnan(b) if equal_nan else False)
        violation = np.abs(a - b) / (atol + rtol * np.abs(b) + 1e-20)
        return np.where(equal, 0.0, np.where(np.isnan(violation), np.inf, violation))
