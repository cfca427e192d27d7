"""Operators that make arrays, against NumPy."""

import math

import numpy
import pytest

from headrace import autograd, nd, np, npx


@pytest.mark.parametrize("name, value", [("zeros", 0), ("ones", 1)])
def test_constant_arrays(name, value):
    for module in (nd, np):
        function = getattr(module, name)
        assert function((2, 3)).dtype == numpy.float32
        array = function((2, 3), dtype="int64")
        assert array.dtype == numpy.int64 and array.asnumpy().tolist() == [[value] * 3] * 2
        assert function(4).shape == (4,)
    assert getattr(np, name)(()).shape == () and getattr(np, name)((0, 3)).shape == (0, 3)


@pytest.mark.parametrize(
    "dtype", ["float16", "bfloat16", "float64", "int8", "uint8", "int32", "uint64", "bool"]
)
def test_every_dtype_is_filled(dtype):
    filled = np.full((1000,), 1, dtype=dtype).astype("float64").asnumpy()
    assert filled.min() == filled.max() == 1
    assert np.arange(2, dtype=dtype).astype("float64").asnumpy().tolist() == [0, 1]


def test_full():
    assert nd.full((2,), 7).asnumpy().tolist() == [7, 7]
    assert nd.full(shape=(2,), val=1.5, dtype="int32").asnumpy().tolist() == [1, 1]
    assert np.full((2,), True).dtype == bool and np.full((2,), 3).dtype == numpy.float32
    assert np.full((2, 2), np.array([1.0, 2])).asnumpy().tolist() == [[1, 2], [1, 2]]
    assert np.full((), 4).item() == 4


def test_shapes_from_arrays_hold_whole_numbers():
    assert np.ones((np.array(2.0), 3)).shape == (2, 3)
    for shape in (np.array(2.5), np.array([2.7, 1.2]), np.array([math.nan])):
        with pytest.raises(TypeError, match="must hold integers"):
            np.ones(shape)


def test_like():
    x = np.ones((2, 3), dtype="int32")
    assert np.zeros_like(x).dtype == numpy.int32 and np.zeros_like(x).asnumpy().max() == 0
    assert np.ones_like(x, dtype="float64").dtype == numpy.float64
    assert np.full_like(x, 1.5).asnumpy().max() == 1
    assert np.full_like(np.zeros((2,), dtype="int64"), 2**60 + 1).asnumpy().tolist() == [2**60 + 1] * 2
    assert np.empty_like(x).shape == (2, 3)
    assert nd.zeros_like(nd.ones((2,))).asnumpy().tolist() == [0, 0]
    assert nd.ones((2,)).ones_like().asnumpy().tolist() == [1, 1]


@pytest.mark.parametrize("arguments", [(5,), (2, 6), (2, 6, 0.75), (5, 0, -1.5), (0,), (3, 1)])
def test_arange(arguments):
    expected = numpy.arange(*arguments, dtype="float32")
    for module in (nd, np):
        assert module.arange(*arguments).asnumpy().tolist() == expected.tolist()
    assert np.arange(*arguments, dtype="int32").dtype == numpy.int32


def test_arange_of_integers_begins_and_steps_by_integers():
    for module in (nd, np):
        for dtype in ("int32", "int64", "uint8"):
            assert module.arange(1.3, 9.6, 1.3, dtype=dtype).asnumpy().tolist() == [1, 2, 3, 4, 5, 6, 7]
            assert module.arange(5.7, -3.2, -1.6, dtype=dtype).asnumpy().tolist() == [5, 4, 3, 2, 1, 0]
            assert module.arange(2.5, 4.5, 0.5, dtype=dtype).asnumpy().tolist() == [2] * 4
    assert np.arange(1e300, 2e300, 1e300, dtype="int64").shape == (1,)


def test_arange_repeats_and_refuses_a_step_of_zero():
    assert nd.arange(2, 4, repeat=3).asnumpy().tolist() == [2, 2, 2, 3, 3, 3]
    with pytest.raises(ValueError, match="step"):
        np.arange(0, 3, 0)


def test_long_arange_is_exact():
    assert (np.arange(100_000, dtype="int64").asnumpy() == numpy.arange(100_000)).all()


@pytest.mark.parametrize(
    "arguments",
    [(2**53, 2**53 + 3), (-(2**53) - 3, -(2**53)), (2**62, 2**62 - 7, -2), (2**63 - 3, 2**63 - 1), (7, 2, 3)],
)
def test_integers_keep_all_digits(arguments):
    for module in (nd, np):
        assert module.arange(*arguments, dtype="int64").asnumpy().tolist() == [*range(*arguments)]
        assert module.full((2,), arguments[0], dtype="int64").asnumpy().tolist() == 2 * [arguments[0]]


@pytest.mark.parametrize("endpoint", [True, False])
@pytest.mark.parametrize("num", [0, 1, 2, 7, 1000])
def test_linspace_and_logspace(num, endpoint):
    numpy.testing.assert_allclose(
        np.linspace(-1, 2, num, endpoint).asnumpy(),
        numpy.linspace(-1, 2, num, endpoint),
        rtol=1e-6,
        atol=1e-6,
    )
    numpy.testing.assert_allclose(
        np.logspace(0, 2, num, endpoint, 2).asnumpy(), numpy.logspace(0, 2, num, endpoint, 2), rtol=1e-6
    )
    assert nd.linspace(-1, 2, num, endpoint).shape == (num,)


def test_linspace_tells_its_step():
    values, step = np.linspace(0, 1, 5, retstep=True)
    assert values.asnumpy().tolist() == [0, 0.25, 0.5, 0.75, 1]
    assert type(step) is float and step == 0.25
    assert np.linspace(0, 1, 4, endpoint=False, retstep=True)[1] == 0.25
    assert type(np.linspace(2, 3, 1, retstep=True)) is tuple and numpy.isnan(
        np.linspace(2, 3, 1, retstep=True)[1]
    )


@pytest.mark.parametrize("rows, columns, k", [(3, 3, 0), (2, 4, 1), (4, 2, -1), (3, 3, 5), (0, 3, 0)])
def test_eye(rows, columns, k):
    assert np.eye(rows, columns, k).asnumpy().tolist() == numpy.eye(rows, columns, k).tolist()
    assert nd.eye(3, 0, 1).asnumpy().tolist() == numpy.eye(3, k=1).tolist()
    assert np.identity(3, dtype="int32").asnumpy().tolist() == numpy.identity(3).tolist()
    for beyond in (-(2**63), 2**63 - 1):
        assert nd.eye(3, k=beyond).asnumpy().tolist() == numpy.zeros((3, 3)).tolist()


def test_indices():
    for shape in [(2, 3), (4,), (2, 0), (3, 1, 2)]:
        grid = np.indices(shape)
        assert grid.dtype == numpy.int32
        assert grid.asnumpy().tolist() == numpy.indices(shape).tolist()


@pytest.mark.parametrize("k", [-2, -1, 0, 1, 3])
def test_triangles(k):
    x = numpy.arange(24, dtype="float32").reshape(2, 3, 4)
    assert np.tril(np.array(x), k).asnumpy().tolist() == numpy.tril(x, k).tolist()
    assert np.triu(np.array(x), k).asnumpy().tolist() == numpy.triu(x, k).tolist()


@pytest.mark.parametrize("k", [-2, -1, 0, 1, 3])
@pytest.mark.parametrize("name", ["tril", "triu"])
def test_triangles_of_a_vector_have_it_in_every_row(name, k):
    x = np.array([1.0, 2.0, 3.0])
    x.attach_grad()
    with autograd.record():
        y = getattr(np, name)(x, k)
    assert y.asnumpy().tolist() == getattr(numpy, name)(x.asnumpy(), k).tolist()
    y.backward()
    assert x.grad.asnumpy().tolist() == getattr(numpy, name)(numpy.ones((3, 3)), k).sum(0).tolist()
    with pytest.raises(ValueError, match="at least one axis is needed"):
        getattr(np, name)(np.array(1.0))


def test_arange_like():
    x = np.zeros((2, 3))
    assert npx.arange_like(x).asnumpy().tolist() == [[0, 1, 2], [3, 4, 5]]
    assert npx.arange_like(x, start=1, step=2, axis=-1).asnumpy().tolist() == [1, 3, 5]
    with pytest.raises(ValueError, match="axis 2"):
        npx.arange_like(x, axis=2)


@pytest.mark.parametrize("name", ["hanning", "hamming", "blackman"])
def test_windows(name):
    for length in (0, 1, 2, 9):
        expected = getattr(numpy, name)(length)
        numpy.testing.assert_allclose(getattr(np, name)(length).asnumpy(), expected, atol=1e-6)


def test_bad_shapes_and_devices():
    with pytest.raises(ValueError, match="negative"):
        np.zeros((2, -1))
    with pytest.raises(ValueError, match="no device"):
        nd.zeros((2,), ctx="abacus(0)")
    with pytest.raises(MemoryError):
        np.zeros((1 << 40, 1 << 40))
    with pytest.raises(ValueError, match="order"):
        np.zeros((2,), order="F")
