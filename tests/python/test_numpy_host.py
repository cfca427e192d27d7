"""Functions that NumPy computes on the host: the same results, as np arrays."""

import numpy
import pytest

from headrace import autograd, cpu, np
from headrace._catalogue import functions
from headrace.base import MXNetError
from headrace.numpy import differences, host

X = numpy.array([[1.0, 2.5, -3.0], [4.0, numpy.nan, 6.0]], "float32")
Y = numpy.array([3.0, 1.0, 2.0, 1.0], "float32")
I = numpy.array([2, 0, 1, 1], "int64")  # noqa: E741
ROW, COLUMN = numpy.array([7, 8, 9], "float32"), numpy.array([[7], [8]], "float32")
BITS = numpy.array([1, 0, 1], "uint8")

# Calls by name: positional arguments, and those by name.
CALLS = {
    "apply_along_axis": [(lambda row: row.sum(), 0, X)],
    "apply_over_axes": [(lambda a, axis: a.sum(axis, keepdims=True), X, [0, 1])],
    "argpartition": [(Y, 2)],
    "array_equiv": [(Y, Y), (X, Y[:3])],
    "choose": [(I % 2, [Y, -Y])],
    "compress": [([True, False, True, True], Y)],
    "corrcoef": [(Y, Y * I)],
    "correlate": [(Y, Y[:2])],
    "cov": [(Y,), (numpy.stack([Y, Y * I]),)],
    "digitize": [(Y, numpy.array([1.5, 2.5], "float32"))],
    "divmod": [(Y, 2)],
    "extract": [(Y > 1, Y)],
    "frexp": [(Y,)],
    "genfromtxt": [(["1 2", "3 4"],)],
    "histogram2d": [(Y, Y)],
    "histogram_bin_edges": [(Y, {"bins": 3})],
    "histogramdd": [(Y[:, None], {"bins": 3})],
    "i0": [(Y,)],
    "imag": [(Y,)],
    "interp": [(Y, Y[[1, 2, 0]], Y[:3])],
    "intersect1d": [(Y, Y[:2])],
    "isclose": [(X, X), (X, X, {"equal_nan": True})],
    "isin": [(Y, [1, 2])],
    "ix_": [(I, I[:2])],
    "lexsort": [((Y, Y * I),)],
    "min_scalar_type": [(10,)],
    "modf": [(Y / 2,)],
    "nanargmax": [(X, {"axis": 1})],
    "nanargmin": [(X,)],
    "nancumprod": [(X,)],
    "nancumsum": [(X, {"axis": 0})],
    "nanmax": [(X,), (X, {"axis": 1})],
    "nanmean": [(X,), (X, {"axis": 1, "keepdims": True})],
    "nanmedian": [(X, {"axis": 0})],
    "nanmin": [(X,)],
    "nanpercentile": [(X, 30)],
    "nanquantile": [(X, 0.3, {"axis": 0})],
    "nanstd": [(X,)],
    "nanvar": [(X, {"axis": 1})],
    "packbits": [(BITS,)],
    "partition": [(Y, 1)],
    "piecewise": [(Y, [Y < 2, Y >= 2], [-1, 1])],
    "poly": [(Y,)],
    "polyadd": [(Y, Y[:2])],
    "polydiv": [(Y, Y[:2])],
    "polyfit": [(I[:3].astype("float32"), Y[:3], 1)],
    "polyint": [(Y,)],
    "polymul": [(Y, Y)],
    "polysub": [(Y, Y[:2])],
    "promote_types": [("float32", "int64")],
    "real": [(Y,)],
    "roots": [([1, -3, 2],), ([1, 0, 1],)],
    "searchsorted": [([1.0, 2.0, 3.0], Y)],
    "select": [([Y < 2, Y > 2], [Y, -Y])],
    "setdiff1d": [(Y, Y[1:2])],
    "setxor1d": [(Y, Y[:2])],
    "spacing": [(Y,)],
    "take_along_axis": [(Y, I, 0)],
    "tril_indices_from": [(numpy.ones((3, 3), "float32"),)],
    "trim_zeros": [(numpy.array([0, 1, 0, 2, 0], "float32"),)],
    "triu_indices_from": [(numpy.ones((2, 3), "float32"),)],
    "union1d": [(Y, I)],
    "unpackbits": [(BITS,)],
    "unwrap": [(Y * 4,)],
    "vander": [(Y,)],
}


def both_ways(value):
    """np arrays in place of NumPy's."""
    if isinstance(value, numpy.ndarray):
        return np.array(value)
    return type(value)(map(both_ways, value)) if isinstance(value, (list, tuple)) else value


def check(got, expected):
    if isinstance(expected, (tuple, list)):
        assert isinstance(got, type(expected)) and len(got) == len(expected)
        for g, e in zip(got, expected):
            check(g, e)
    elif isinstance(expected, numpy.ndarray) and expected.dtype.kind != "c":
        assert isinstance(got, np.ndarray) and got.dtype == expected.dtype
        numpy.testing.assert_array_equal(got.asnumpy(), expected)
    else:
        assert type(got) is type(expected)
        numpy.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize(
    "arguments",
    [
        *[(X, place, axis) for place in (1, -1, [0], [1, 0], [], slice(None, None, 2)) for axis in (0, 1)],
        *[(Y, place, None) for place in (0, [0, 2], numpy.array([True, False, True, False]), slice(1, None))],
    ],
)
def test_delete(arguments):
    check(np.delete(*map(both_ways, arguments)), numpy.delete(*arguments))


@pytest.mark.parametrize(
    "arguments",
    [
        *[
            (X, place, value, axis)
            for place in (1, [1], [0, 1])
            for value in (9, ROW, COLUMN)
            for axis in (0, 1)
        ],
        (Y, [1], numpy.array([7, 8], "float32"), None),
        (Y, 1, numpy.array([7, 8], "float32"), None),
        (Y, slice(0, 2), 5, None),
        (X, slice(0, 2), 5, 0),
        (Y, [], 5, None),
        (Y, 1, numpy.array([[[7]]], "float32"), None),
        (X, 1, numpy.array([[ROW]]), 0),
    ],
)
def test_insert(arguments):
    try:
        expected = numpy.insert(*arguments)
    except ValueError:
        with pytest.raises(ValueError):
            np.insert(*map(both_ways, arguments)).asnumpy()
    else:
        check(np.insert(*map(both_ways, arguments)), expected)


def test_places_in_arrays_of_floats():
    assert np.delete(np.arange(6), np.array([1, 3, 5]), None).tolist() == [0, 2, 4]
    with pytest.raises(TypeError, match="places must be integers"):
        np.delete(np.arange(6), np.array([1.5]))


@pytest.mark.parametrize("name", ["nonzero", "flatnonzero", "argwhere"])
def test_places_of_what_is_not_0_in_lists(name):
    check(getattr(np, name)([[1, 0], [0, 2]]), getattr(numpy, name)([[1, 0], [0, 2]]))


def test_places_out_of_range_or_of_no_integers():
    for function in (
        lambda place: np.delete(np.array(Y), place),
        lambda place: np.insert(np.array(Y), place, 1),
    ):
        for place in (99, [99], -99):
            with pytest.raises(IndexError):
                function(place).asnumpy()
        with pytest.raises(TypeError, match="places must be integers"):
            function([1.5])


def test_unravel_index():
    check(np.unravel_index(np.array(I), (2, 2)), numpy.unravel_index(I, (2, 2)))
    check(np.unravel_index(3, (2, 2), order="F"), numpy.unravel_index(3, (2, 2), order="F"))
    with pytest.raises(ValueError):
        np.unravel_index(np.array(I), (1, 1))


def test_every_function_has_a_call():
    assert set(CALLS) | {"finfo", "set_printoptions"} == set(host.__all__)


def test_no_operator_does_the_same():
    """An operator runs where its arrays are, and has a gradient."""
    assert not set(functions("np")) & {*host.__all__, *differences.__all__}
    assert not set(functions("np.linalg")) & set(OF_MATRICES)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", CALLS)
def test_results_are_those_of_numpy(name):
    for call in CALLS[name]:
        keywords = call[-1] if isinstance(call[-1], dict) else {}
        positional = call[: len(call) - bool(keywords)]
        got = getattr(np, name)(*both_ways(positional), **keywords)
        check(got, getattr(numpy, name)(*positional, **keywords))


SQUARE = numpy.array([[2, 1], [1, 3]], "float32")
OF_MATRICES = {
    "cond": (SQUARE,),
    "lstsq": (SQUARE, Y[:2], None),
    "matrix_power": (SQUARE, 3),
    "matrix_rank": (SQUARE,),
    "multi_dot": ([SQUARE, SQUARE, Y[:2]],),
    "qr": (SQUARE,),
}


@pytest.mark.parametrize("name", OF_MATRICES)
def test_linear_algebra(name):
    got = getattr(np.linalg, name)(*both_ways(OF_MATRICES[name]))
    expected = getattr(numpy.linalg, name)(*OF_MATRICES[name])
    check(got, tuple(expected) if isinstance(expected, tuple) else expected)
    assert name in np.linalg.__all__


def test_what_is_recorded_is_refused():
    x = np.ones((3,))
    x.attach_grad()
    with autograd.record():
        assert np.nanmax(np.ones((3,))) == 1  # nothing leads from here to x
        with pytest.raises(MXNetError, match="nanmax: .*gradient is not known"):
            np.nanmax(x * 2)
        with pytest.raises(MXNetError, match="select: .*gradient is not known"):
            np.select([x > 0], [[x * 2]])
        assert np.nanmax((x * 2).detach()) == 2


def test_results_go_where_the_arrays_are():
    x = np.ones((3,), ctx=cpu(1))
    assert np.isclose(1, x).ctx == cpu(1)
    assert np.modf(x)[0].ctx == cpu(1)
    assert numpy.lexsort((x, x)).ctx == cpu(1)


def test_out():
    out = np.zeros((3,))
    assert np.nancumsum(np.array([1, numpy.nan, 2]), out=out) is out
    assert out.asnumpy().tolist() == [1, 1, 3]
    assert numpy.spacing(np.ones((3,)), out=out) is out
    assert out.asnumpy().tolist() == [numpy.spacing(numpy.float32(1))] * 3
    parts = np.zeros((1,)), np.zeros((1,))
    np.modf(np.array([1.25]), out=parts)
    assert [part.item() for part in parts] == [0.25, 1]


def test_print_options():
    before = numpy.get_printoptions()
    try:
        np.set_printoptions(precision=2)
        assert repr(np.array([1.23456])) == "array([1.23])"
    finally:
        numpy.set_printoptions(**before)
