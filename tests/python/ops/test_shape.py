"""Shape operators against NumPy: values, views, gradients, empty arrays, errors."""

import numpy
import pytest

from headrace import _core, autograd, nd, np, npx, sym
from headrace.base import MXNetError

X = numpy.arange(24, dtype="float32").reshape(2, 3, 4)

SAME_AS_NUMPY = {
    "transpose": lambda m, x: m.transpose(x, (2, 0, 1)),
    "swapaxes": lambda m, x: m.swapaxes(x, 0, -1),
    "moveaxis": lambda m, x: m.moveaxis(x, (0, 1), (-1, 0)),
    "rollaxis": lambda m, x: m.rollaxis(x, 2, 1),
    "reshape": lambda m, x: m.reshape(x, (4, -1)),
    "expand_dims": lambda m, x: m.expand_dims(x, -1),
    "squeeze": lambda m, x: m.squeeze(m.expand_dims(x, 1), 1),
    "ravel of a transposed array": lambda m, x: m.ravel(m.transpose(x)),
    "flip": lambda m, x: m.flip(x, (0, 2)),
    "flip all": lambda m, x: m.flip(x),
    "flipud": lambda m, x: m.flipud(x),
    "fliplr": lambda m, x: m.fliplr(x),
    "rot90": lambda m, x: m.rot90(x, 3, (1, 2)),
    "roll": lambda m, x: m.roll(x, (1, -2), (0, 2)),
    "roll flat": lambda m, x: m.roll(x, 5),
    "roll far": lambda m, x: m.roll(x, -(2**63)),
    "tile": lambda m, x: m.tile(x, (2, 1, 1, 2)),
    "repeat": lambda m, x: m.repeat(x, 2, 1),
    "repeat flat": lambda m, x: m.repeat(x, 3),
    "broadcast_to": lambda m, x: m.broadcast_to(x, (2, 2, 3, 4)),
    "concatenate": lambda m, x: m.concatenate([x, x[:, :1]], axis=1),
    "concatenate flat": lambda m, x: m.concatenate([x, x], axis=None),
    "append": lambda m, x: m.append(x, x),
    "stack": lambda m, x: m.stack([x, x], axis=-1),
    "vstack": lambda m, x: m.vstack([x, x]),
    "hstack": lambda m, x: m.hstack([x, x]),
    "dstack": lambda m, x: m.dstack([x, x]),
    "column_stack": lambda m, x: m.column_stack([x[0, 0], x[0, 1]]),
    "diagonal": lambda m, x: m.diagonal(x, 1, 1, 2),
    "diag": lambda m, x: m.diag(x[0], -1),
    "diag of a vector": lambda m, x: m.diag(x[0, 0], 2),
    "diagflat": lambda m, x: m.diagflat(x[0], 1),
    "trace": lambda m, x: m.trace(x, 1, 0, 2),
    "tril": lambda m, x: m.tril(x, 1),
    "triu": lambda m, x: m.triu(x, -1),
    "pad": lambda m, x: m.pad(x, 1, mode="constant", constant_values=7),
    "pad edge": lambda m, x: m.pad(x, ((1, 0), (2, 1), (0, 3)), mode="edge"),
    "pad reflect far": lambda m, x: m.pad(x, ((0, 3), (4, 4), (7, 1)), mode="reflect"),
    "pad symmetric": lambda m, x: m.pad(x, ((0, 1), (2, 2), (5, 6)), mode="symmetric"),
    "pad wrap": lambda m, x: m.pad(x, ((0, 1), (4, 2), (5, 6)), mode="wrap"),
    "pad minimum": lambda m, x: m.pad(x, ((1, 1), (0, 2), (1, 0)), mode="minimum"),
}


def slope(function, x, head, step=0.5):
    """Directional derivatives of sum(function(x) * head); all functions here are linear."""
    result = numpy.zeros_like(x)
    for index in numpy.ndindex(x.shape):
        up, down = x.copy(), x.copy()
        up[index] += step
        down[index] -= step
        result[index] = ((function(up) - function(down)) * head).sum() / (2 * step)
    return result


@pytest.mark.parametrize("name", SAME_AS_NUMPY)
def test_values_and_gradients_are_those_of_numpy(name):
    function = SAME_AS_NUMPY[name]
    if name == "pad wrap" and numpy.lib.NumpyVersion(numpy.__version__) < "1.25.0":
        pytest.skip("NumPy before 1.25 wraps wrongly when the padding is longer than the array")
    expected = function(numpy, X)
    x = np.array(X)
    x.attach_grad()
    with autograd.record():
        y = function(np, x)
    assert y.shape == expected.shape
    numpy.testing.assert_array_equal(y.asnumpy(), expected)
    if "minimum" in name:
        return
    head = numpy.random.RandomState(0).uniform(-1, 1, expected.shape).astype("float32")
    y.backward(np.array(head))
    numpy.testing.assert_allclose(
        x.grad.asnumpy(), slope(lambda v: function(numpy, v), X.astype("float64"), head), atol=1e-5
    )


@pytest.mark.parametrize(
    "name", ["transpose", "swapaxes", "expand_dims", "squeeze", "flip", "diagonal", "rot90", "reshape"]
)
def test_views_share_memory(name):
    x = np.array(X)
    assert np.shares_memory(x, SAME_AS_NUMPY[name](np, x))


@pytest.mark.parametrize(
    ("extents", "shape", "expected"),
    [((5,), (3, 4, -2), (3, 4, 5)), ((1, 0), (2, -2, -2), (2, 1, 0)), ((3, 4), (1, 0, -2, 4), (1, 0, 3, 4))],
)
def test_extents_to_broadcast_to_may_be_those_of_the_array(extents, shape, expected):
    x = np.ones(extents)
    x.attach_grad()
    with autograd.record():
        y = np.broadcast_to(x, shape)
    assert y.shape == expected
    y.backward()
    assert x.grad.shape == extents
    with pytest.raises(ValueError, match="cannot be broadcast"):
        np.broadcast_to(x, (-2,) * (len(extents) + 1))


def test_broadcast_to_adds_axes_in_front():
    x = nd.array([[1], [2]])
    x.attach_grad()
    with autograd.record():
        y = x.broadcast_to((3, 0, 2))
    y.backward()
    assert y.asnumpy().tolist() == [[[1, 1], [2, 2]]] * 3
    assert x.grad.asnumpy().tolist() == [[6], [6]]
    with pytest.raises(ValueError, match="as many axes"):
        x.broadcast_to((2,))


@pytest.mark.parametrize(("source", "destination"), [((0, 1), (1, 1)), ((0, -3), (0, 1))])
def test_moved_axes_differ(source, destination):
    for module in (nd, np):
        with pytest.raises(ValueError):
            module.moveaxis(module.array(X), source, destination)


OWN_MEMORY = {
    "transpose": lambda x: x.transpose(),
    "T": lambda x: x.T,
    "swapaxes": lambda x: nd.swapaxes(x, 0, 2),
    "moveaxis": lambda x: nd.moveaxis(x, 0, 2),
    "expand_dims": lambda x: x.expand_dims(0),
    "squeeze": lambda x: x.squeeze(axis=1),
    "flatten": lambda x: x.flatten(),
    "reshape": lambda x: nd.reshape(x, shape=(-1, 2)),
    "reshape_like": lambda x: nd.reshape_like(x, x),
    "slice": lambda x: x.slice(begin=(1, 0), end=(3, 1)),
    "slice_axis": lambda x: nd.slice_axis(x, axis=2, begin=0, end=4),
    "slice_like": lambda x: nd.slice_like(x, nd.ones((2, 1, 2))),
    "flip": lambda x: nd.flip(x, axis=0),
    "split": lambda x: nd.split(x, 2, axis=0)[1],
    "split_v2": lambda x: nd.split_v2(x, (1,))[1],
    "BlockGrad": lambda x: nd.BlockGrad(x),
}


@pytest.mark.parametrize("rows", [4, 4096])  # large arrays share memory until one is written
@pytest.mark.parametrize("name", OWN_MEMORY)
def test_results_of_nd_functions_have_memory_of_their_own(name, rows):
    x = nd.arange(rows * 8).reshape((rows, 1, 8))
    x.attach_grad()
    with autograd.record():
        y = OWN_MEMORY[name](x)
    kept = y.asnumpy()
    x[:] = -1
    numpy.testing.assert_array_equal(y.asnumpy(), kept)
    y.backward()
    assert x.grad.sum().asscalar() == (0 if name == "BlockGrad" else kept.size)
    z = OWN_MEMORY[name](x)
    z[:] = 5
    assert (x.asnumpy() == -1).all()


def test_nd_arrays_that_share_memory():
    x = nd.zeros((4, 1, 8))
    for view in (
        x.reshape((4, 8)),
        x[1:3],
        x.expand_dims(0, inplace=True),
        x.squeeze(inplace=True),
        x.flatten(inplace=True),
    ):
        before = x.sum().asscalar()
        view += 1
        assert x.sum().asscalar() == before + view.size


@pytest.mark.parametrize("dtype", ["float16", "float64", "int8", "int32", "int64", "uint8", "bool"])
def test_every_dtype_moves(dtype):
    host = (X % 2).astype(dtype)
    x = np.array(host, dtype=dtype)
    for function in (
        lambda m, v: m.concatenate([v.transpose(2, 1, 0), v.transpose(2, 1, 0)], axis=1),
        lambda m, v: m.tile(v, 2),
        lambda m, v: m.pad(v, 1, mode="edge"),
        lambda m, v: m.tril(v),
    ):
        y = function(np, x)
        assert y.dtype == numpy.dtype(dtype)
        numpy.testing.assert_array_equal(y.asnumpy(), function(numpy, host))


@pytest.mark.parametrize("sections, axis", [(3, 1), ([1, 2], 2), ((2,), 1), ([], 0)])
def test_split_gives_views(sections, axis):
    x = np.array(X)
    x.attach_grad()
    with autograd.record():
        parts = np.split(x, sections, axis)
        total = sum((part * (i + 1)).sum() for i, part in enumerate(parts))
    expected = numpy.split(X, sections, axis)
    assert isinstance(parts, list)
    for part, one in zip(parts, expected):
        assert np.shares_memory(x, part)
        numpy.testing.assert_array_equal(part.asnumpy(), one)
    total.backward()
    weights = numpy.concatenate([numpy.full(one.shape, i + 1.0) for i, one in enumerate(expected)], axis)
    numpy.testing.assert_array_equal(x.grad.asnumpy(), weights)


def test_splits_in_all_spellings():
    x, legacy = np.array(X), nd.array(X)
    for ours, theirs in (
        (np.array_split(x, 3, 2), numpy.array_split(X, 3, 2)),
        (np.hsplit(x, 3), numpy.hsplit(X, 3)),
        (np.vsplit(x, 2), numpy.vsplit(X, 2)),
        (np.dsplit(x, [1, 3]), numpy.dsplit(X, [1, 3])),
        (nd.split(legacy, 3), numpy.split(X, 3, 1)),
        (nd.split_v2(legacy, (1,), 2), numpy.split(X, [1], 2)),
    ):
        assert len(ours) == len(theirs)
        for one, other in zip(ours, theirs):
            numpy.testing.assert_array_equal(one.asnumpy(), other)
    squeezed = nd.split(legacy, 2, axis=0, squeeze_axis=True)
    assert squeezed[0].shape == (3, 4)


@pytest.mark.parametrize(
    "part_of",
    [
        lambda x: nd.slice(x, (0,), (1,)),
        lambda x: x.slice(begin=(None, 1), end=(None, 3)),
        lambda x: nd.slice_like(x, nd.zeros((1, 3, 4))),
    ],
)
def test_slices_by_name_are_copies(part_of):
    x = nd.array(X)
    part = part_of(x)
    part[:] = 0
    numpy.testing.assert_array_equal(x.asnumpy(), X)
    part = part_of(x)
    before = part.asnumpy()
    x[:] = 0
    numpy.testing.assert_array_equal(part.asnumpy(), before)


def test_legacy_names():
    x = nd.array(X)
    numpy.testing.assert_array_equal(nd.slice(x, (0, None), (1, 3), (None, 2)).asnumpy(), X[0:1, :3:2])
    numpy.testing.assert_array_equal(nd.slice_axis(x, 2, 1, -1).asnumpy(), X[:, :, 1:-1])
    numpy.testing.assert_array_equal(nd.slice_like(x, nd.zeros((1, 2, 2))).asnumpy(), X[:1, :2, :2])
    numpy.testing.assert_array_equal(
        nd.broadcast_axis(nd.array(X[:1]), axis=0, size=3).asnumpy(), X[:1].repeat(3, 0)
    )
    numpy.testing.assert_array_equal(nd.concat(x, x, dim=2).asnumpy(), numpy.concatenate([X, X], 2))
    assert nd.squeeze(nd.ones((1, 1))).shape == (1,)
    assert nd.shape_array(x).asnumpy().tolist() == [2, 3, 4]
    assert nd.size_array(x).asnumpy().tolist() == [24]
    image = nd.array(numpy.arange(16).reshape(1, 4, 2, 2))
    numpy.testing.assert_array_equal(
        nd.space_to_depth(nd.depth_to_space(image, 2), 2).asnumpy(), image.asnumpy()
    )
    assert npx.reshape(np.array(X), (-2, -6, 3, 1, -4)).shape == (2, 3, 1, 4)
    assert npx.reshape(np.array(X), (-4, 2, -1, -6), reverse=True).shape == (2, 3, 2, 2)
    assert x.reshape((-2, 2, -1, -4), reverse=True).shape == (2, 3, 2, 2)
    with pytest.raises(MXNetError, match="needs two extents"):
        x.reshape((-2, -4, 2, 2), reverse=True)


def test_arrays_of_both_front_ends_broadcast_themselves():
    row = numpy.arange(3, dtype="float32")
    numpy.testing.assert_array_equal(
        np.array(row).broadcast_to((2, 3)).asnumpy(), numpy.broadcast_to(row, (2, 3))
    )
    numpy.testing.assert_array_equal(
        nd.array(row).reshape((1, 3)).broadcast_to((2, 3)).asnumpy(), numpy.broadcast_to(row, (2, 3))
    )


def test_diagonals_beyond_the_matrix_are_empty():
    assert np.diag(np.ones((2, 3)), 10**12).shape == nd.diag(nd.ones((2, 3)), k=-(10**12)).shape == (0,)
    assert (
        np.diagonal(np.ones((3, 2)), -(2**63)).shape == np.diagonal(np.ones((3, 2)), 2**63 - 1).shape == (0,)
    )


def test_empty_arrays():
    x = np.zeros((0, 3))
    assert np.concatenate([x, np.ones((2, 3))]).shape == (2, 3)
    assert np.transpose(x).shape == (3, 0)
    assert np.reshape(x, (3, 0, 5)).shape == (3, 0, 5)
    assert np.tile(x, (2, 2)).shape == (0, 6)
    assert np.pad(x, 1, mode="constant").shape == (2, 5)
    assert np.flip(x).shape == (0, 3)
    assert [part.shape for part in np.split(np.zeros((2, 0)), 2)] == [(1, 0), (1, 0)]


@pytest.mark.parametrize(
    "call, error",
    [
        (lambda: nd.array(X).reshape((5,)), ValueError),
        (lambda: nd.array(X).reshape((5, 5)), MXNetError),
        (lambda: nd.array(X).reshape((-1, -1)), MXNetError),
        (lambda: np.array(X).transpose((0, 1)), ValueError),
        (lambda: np.transpose(np.array(X), (0, 0, 1)), ValueError),
        (lambda: np.expand_dims(np.array(X), 5), ValueError),
        (lambda: np.squeeze(np.array(X), 1), MXNetError),
        (lambda: np.concatenate([np.ones((2, 3)), np.ones((2, 4))]), ValueError),
        (lambda: np.concatenate([np.ones((2,)), np.ones((2,), dtype="int32")]), MXNetError),
        (lambda: np.stack([np.ones((2,)), np.ones((3,))]), ValueError),
        (lambda: np.split(np.array(X), 5, 2), ValueError),
        (lambda: np.broadcast_to(np.array(X), (2, 3, 5)), ValueError),
        (lambda: np.pad(np.array(X), 1, mode="nonsense"), ValueError),
        (lambda: np.pad(np.array(X), -1, mode="edge"), ValueError),
        (lambda: _core.function("_pad_back", True)(np.ones((4,)), "", (1, 1)), ValueError),
        (lambda: np.roll(np.array(X), (1, 2, 3), (0, 1)), ValueError),
        (lambda: nd.slice(nd.array(X), (0,), (1,), (0,)), ValueError),
        (lambda: nd.depth_to_space(nd.array(X), 2), MXNetError),
        (lambda: np.diag(np.ones(3), 2**63 - 1), MemoryError),
    ],
)
def test_what_does_not_fit_raises_at_once(call, error):
    with pytest.raises(error):
        call()


def test_stack_of_nd_takes_arrays_of_other_shapes_and_as_many_elements():
    a, b = nd.arange(6).reshape((2, 3)), (nd.arange(12) + 10).reshape((3, 4))[:, ::2]
    a.attach_grad(), b.attach_grad()
    with autograd.record():
        stacked = nd.stack(a, b, axis=1)
    expected = numpy.stack([a.asnumpy(), b.asnumpy().reshape(2, 3)], axis=1)
    assert (stacked.asnumpy() == expected).all()
    stacked.backward(nd.arange(12).reshape((2, 2, 3)))
    assert a.grad.asnumpy().tolist() == [[0, 1, 2], [6, 7, 8]]
    assert b.grad.asnumpy().tolist() == [[3, 4], [5, 9], [10, 11]]
    symbol = sym.stack(sym.var("a"), sym.var("b"), axis=0)
    assert symbol.infer_shape(a=(2, 3), b=(6, 1))[1] == [(2, 2, 3)]
    assert (symbol.eval(a=a, b=b)[0].asnumpy() == nd.stack(a, b).asnumpy()).all()
    with pytest.raises(ValueError, match="does not fit"):
        nd.stack(a, nd.ones((5,)))
    with pytest.raises(ValueError, match="must be equal"):
        np.stack([np.ones((2, 3)), np.ones((3, 2))])


def test_axes_and_sizes_may_be_numbers_of_numpy():
    x, number = nd.zeros((2, 3)), numpy.int64
    assert nd.moveaxis(x, number(0), number(1)).shape == (3, 2)
    assert x.reshape(shape=number(6)).shape == x.reshape(number(6)).shape == (6,)


def test_arrays_without_axes_have_none_to_name():
    with pytest.raises(ValueError, match="has no axes"):
        np.swapaxes(np.array(3.0), 0, 0)
