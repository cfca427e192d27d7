"""np functions of neighbours and polynomials, and older names of others, against NumPy."""

import numpy
import pytest

from headrace import autograd, cpu, np, sym

RNG = numpy.random.RandomState(3)


def check(got, expected):
    got, expected = got.asnumpy(), numpy.asarray(expected)
    assert got.shape == expected.shape
    numpy.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-6)


def gradient_of(function, x):
    x = np.array(x)
    x.attach_grad()
    with autograd.record():
        y = function(x)
    y.backward()
    return x.grad.asnumpy()


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("n", [0, 1, 3, 5])
@pytest.mark.parametrize("dtype", ["float32", "int32"])
def test_diff(dtype, n, axis):
    x = RNG.uniform(-9, 9, (4, 5)).astype(dtype)
    got = np.diff(np.array(x), n=n, axis=axis)
    assert got.dtype == dtype
    check(got, numpy.diff(x, n=n, axis=axis))


def test_diff_of_more():
    x = RNG.uniform(-1, 1, (2, 3)).astype("float32")
    row = numpy.ones((1, 3), "float32")
    check(
        np.diff(np.array(x), axis=0, prepend=2, append=np.array(row)),
        numpy.diff(x, axis=0, prepend=2, append=row),
    )
    check(np.diff(np.array([True, True, False], dtype="bool")).astype("int32"), [0, 1])
    check(np.diff(np.zeros((0, 3))), numpy.diff(numpy.zeros((0, 3))))
    check(np.diff(np.array([5, 7], dtype="int64"), prepend=1), [4, 2])
    check(np.diff(np.ones(3), n=0, prepend=1), numpy.ones(3))
    numpy.testing.assert_array_equal(gradient_of(lambda a: np.diff(a, n=2), [1.0, 4.0, 9.0]), [1, -2, 1])
    for wrong in ({"a": np.array(1)}, {"a": np.ones(3), "n": -1}, {"a": np.ones(3), "axis": 1}):
        with pytest.raises(ValueError, match="diff"):
            np.diff(**wrong)


def test_ediff1d():
    x = RNG.uniform(-1, 1, (2, 3)).astype("float32")
    check(np.ediff1d(np.array(x)), numpy.ediff1d(x))
    check(np.ediff1d(np.array(x), to_end=[8, 9], to_begin=-1), numpy.ediff1d(x, to_end=[8, 9], to_begin=-1))
    assert np.ediff1d(np.array([1, 4], dtype="int32"), to_end=9).dtype == "int32"


def test_trapz():
    y, x = RNG.uniform(-1, 1, (4, 5)).astype("float32"), RNG.uniform(-1, 1, 5).astype("float32")
    integral = getattr(numpy, "trapezoid", None) or numpy.trapz
    check(np.trapz(np.array(y)), integral(y))
    check(np.trapz(np.array(y), dx=0.5, axis=0), integral(y, dx=0.5, axis=0))
    check(np.trapz(np.array(y), np.array(x)), integral(y, x))
    check(np.trapz(np.array(y), np.array(y), axis=0), integral(y, y, axis=0))
    numpy.testing.assert_array_equal(gradient_of(lambda a: np.trapz(a, dx=2), numpy.ones(4)), [1, 2, 2, 1])


def test_polyval():
    p, x = [2, -1, 0.5], RNG.uniform(-1, 1, (2, 3)).astype("float32")
    check(np.polyval(p, np.array(x)), numpy.polyval(p, x))
    check(np.polyval(np.array([]), np.array(x)), numpy.polyval([], x))
    numpy.testing.assert_allclose(gradient_of(lambda a: np.polyval(a, np.array([3.0])), p), [9, 3, 1])
    with pytest.raises(ValueError, match="one dimension"):
        np.polyval(np.ones((2, 2)), 1.0)


def test_broadcast_arrays():
    a, b = np.broadcast_arrays(np.ones((3, 1)), [1, 2])
    assert a.shape == b.shape == (3, 2)
    with pytest.raises(ValueError):
        np.broadcast_arrays(np.ones(3), np.ones(2))


@pytest.mark.parametrize("options", [{}, {"indexing": "ij"}, {"sparse": True}])
@pytest.mark.parametrize("extents", [(3, 2), (2,), (2, 1, 3), (0,), (2, 0), (0, 2)])
def test_meshgrid(extents, options):
    axes = [RNG.uniform(size=extent).astype("float32") for extent in extents]
    got, expected = np.meshgrid(*map(np.array, axes), **options), numpy.meshgrid(*axes, **options)
    assert len(got) == len(expected)
    for one, other in zip(got, expected):
        check(one, other)


@pytest.mark.parametrize("shape", [(4, 4), (2, 1), 5, (0, 3), ()])
def test_resize(shape):
    x = RNG.uniform(-1, 1, (2, 3)).astype("float32")
    check(np.resize(np.array(x), shape), numpy.resize(x, shape))
    assert np.resize(np.array([], dtype="int32"), (2,)).asnumpy().tolist() == [0, 0]


def test_what_is_given_beside_an_array_goes_where_the_array_is():
    x = np.array([1, 4, 9], ctx=cpu(1))
    results = np.diff(x, prepend=0), np.ediff1d(x, to_end=[3]), np.trapz(x, [0, 1, 3]), np.polyval([1, 2], x)
    assert [r.ctx for r in results] == [cpu(1)] * 4
    for r, expected in zip(results, ([1, 3, 5], [3, 5, 3], 15.5, [3, 6, 11])):
        check(r, expected)


@pytest.mark.parametrize("dtype", ["int32", "int64", "uint8", "bool"])
def test_trapz_of_integers(dtype):
    y = numpy.array([[1, 0, 1, 0], [0, 3, 4, 1]], dtype)
    integral = getattr(numpy, "trapezoid", None) or numpy.trapz
    for keywords in ({}, {"dx": 0.5}, {"axis": 0}, {"x": numpy.array([0, 1, 3, 4])}):
        given = {key: np.array(value) if key == "x" else value for key, value in keywords.items()}
        wanted = integral(y.astype("float32"), **keywords)
        numpy.testing.assert_allclose(np.trapz(np.array(y, dtype=dtype), **given).asnumpy(), wanted)


def test_trapz_of_a_wrong_axis():
    for wrong in ({"y": np.ones((2, 3)), "axis": 2}, {"y": np.array(1.0)}):
        with pytest.raises(ValueError, match="trapz: axis"):
            np.trapz(**wrong)


def test_older_names():
    x = RNG.uniform(-1, 1, (3, 3)).astype("float32")
    a = np.array(x)
    check(np.msort(a), numpy.sort(x, axis=0))
    check(np.row_stack([a, a]), numpy.vstack([x, x]))
    check(np.product(a, axis=1), numpy.prod(x, axis=1))
    assert np.alltrue(a < 2).item() and not np.sometrue(a > 2).item()
    assert np.in1d(np.array([1, 2, 3]), np.array([3, 1])).asnumpy().tolist() == [True, False, True]


def test_places_of_the_diagonal():
    for shape in ((2, 2), (4, 4, 4)):
        places = np.diag_indices_from(np.zeros(shape))
        assert isinstance(places, tuple)
        check(np.stack(places), numpy.stack(numpy.diag_indices_from(numpy.zeros(shape))))
        (rows,) = sym.np.diag_indices_from(sym.var("x")).eval(x=np.zeros(shape))
        check(rows, numpy.stack(numpy.diag_indices_from(numpy.zeros(shape))))
    for shape in ((3,), (2, 3)):
        with pytest.raises(ValueError, match="one extent"):
            np.diag_indices_from(np.zeros(shape))


def test_resize_of_a_symbol():
    (found,) = sym.np.resize(sym.var("x"), (2, 2)).eval(x=np.array([1, 2, 3]))
    assert found.tolist() == [[1, 2], [3, 1]]
    assert gradient_of(lambda x: np.resize(x, (5,)), [1, 2, 3]).tolist() == [2, 2, 1]


def test_coordinates_of_one_place():
    row, column = np.unravel_index(np.array(7, dtype="int32"), (3, 4))
    assert isinstance(row, np.ndarray) and (row.item(), column.item()) == (1, 3)
    assert np.unravel_index(7, (3, 4)) == (1, 3)


def test_any_number_of_values_goes_before_one_place():
    x = numpy.arange(5.0)
    for places in (slice(1, 2), slice(-1, None), slice(None, None, 5), slice(0, 4, 2)):
        check(np.insert(np.array(x), places, np.array([7, 8])), numpy.insert(x, places, [7, 8]))


def test_places_of_parts_may_be_an_array():
    x = RNG.uniform(size=(2, 3, 6)).astype("float32")
    for got, expected in zip(np.dsplit(np.array(x), np.array([1, 4])), numpy.dsplit(x, [1, 4])):
        check(got, expected)


def test_pad_takes_a_list():
    check(np.pad([1, 2], 1), numpy.pad([1, 2], 1))


def test_bins_by_name_are_refused():
    with pytest.raises(NotImplementedError, match="bins must be a number or edges"):
        np.histogram(np.ones(3), bins="auto")


def test_meshgrid_of_a_number():
    grids = np.meshgrid(np.array([1, 2]), 3)
    assert [grid.asnumpy().tolist() for grid in grids] == [[[1, 2]], [[3, 3]]]
