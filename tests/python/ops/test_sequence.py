"""SequenceMask, SequenceLast and SequenceReverse against loops."""

import numpy
import pytest

import headrace as mx
from headrace import autograd, gluon, nd, np, npx
from headrace.base import MXNetError

RNG = numpy.random.RandomState(5)
LENGTHS = numpy.array([2, 4, 1])


def by_time(x, axis):
    return x if axis == 0 else numpy.swapaxes(x, 0, 1)


def masked(x, lengths, axis, value):
    x = x.copy()
    for n, length in enumerate(lengths):
        by_time(x, axis)[length:, n] = value
    return x


def last(x, lengths, axis):
    return numpy.stack([by_time(x, axis)[length - 1, n] for n, length in enumerate(lengths)])


def reverse(x, lengths, axis):
    x, source = x.copy(), by_time(x.copy(), axis)
    for n, length in enumerate(lengths):
        by_time(x, axis)[:length, n] = source[:length, n][::-1]
    return x


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int32", "uint8"])
@pytest.mark.parametrize("rest", [(), (2,), (2, 3)])
@pytest.mark.parametrize("axis", [0, 1])
def test_values(axis, rest, dtype):
    shape = ((4, 3) if axis == 0 else (3, 4)) + rest
    host = RNG.randint(0, 100, shape).astype(dtype)
    x, options = nd.array(host, dtype=dtype), {"use_sequence_length": True, "axis": axis}
    for lengths in (nd.array(LENGTHS), nd.array(LENGTHS, dtype="int32")):
        got = nd.SequenceMask(x, lengths, value=7, **options)
        numpy.testing.assert_array_equal(got.asnumpy(), masked(host, LENGTHS, axis, 7))
        got = nd.SequenceLast(x, lengths, **options)
        numpy.testing.assert_array_equal(got.asnumpy(), last(host, LENGTHS, axis))
        got = nd.SequenceReverse(x, lengths, **options)
        numpy.testing.assert_array_equal(got.asnumpy(), reverse(host, LENGTHS, axis))


@pytest.mark.parametrize("axis", [0, 1])
def test_without_lengths_sequences_are_whole(axis):
    host = RNG.randn(4, 3, 2).astype("float32")
    x = nd.array(host)
    x.attach_grad()
    with autograd.record():
        y = nd.SequenceLast(x, axis=axis)
    y.backward()
    numpy.testing.assert_array_equal(y.asnumpy(), by_time(host, axis)[-1])
    expected = numpy.zeros_like(host)
    by_time(expected, axis)[-1] = 1
    numpy.testing.assert_array_equal(x.grad.asnumpy(), expected)
    numpy.testing.assert_array_equal(nd.SequenceMask(x, axis=axis).asnumpy(), host)
    numpy.testing.assert_array_equal(nd.SequenceReverse(x, axis=axis).asnumpy(), numpy.flip(host, axis))


def test_lengths_out_of_range_are_clipped():
    x = np.array([[1.0, 2.0], [3.0, 4.0]])
    lengths = np.array([-3, 9], dtype="int32")
    masked = npx.sequence_mask(x, lengths, use_sequence_length=True)
    assert masked.asnumpy().tolist() == [[0, 2], [0, 4]]
    last = nd.SequenceLast(x.as_nd_ndarray(), lengths.as_nd_ndarray(), use_sequence_length=True)
    assert last.asnumpy().tolist() == [1, 4]


@pytest.mark.parametrize("name", ["SequenceMask", "SequenceLast", "SequenceReverse"])
def test_second_derivatives_and_empty_batches(name):
    function = getattr(nd, name)
    x, lengths = nd.array(RNG.randn(4, 3)), nd.array(LENGTHS)
    x.attach_grad()
    with autograd.record():
        y = (function(x, lengths, use_sequence_length=True) ** 2).sum()
        (dx,) = autograd.grad(y, [x], create_graph=True)
        total = (dx * dx).sum()
    total.backward()
    kept = function(nd.ones((4, 3)), lengths, use_sequence_length=True)
    numpy.testing.assert_allclose(x.grad.asnumpy().sum(), 8 * (x * (dx != 0)).sum().asnumpy(), rtol=1e-5)
    assert kept.size
    assert np.zeros((4, 0)).size == nd.SequenceReverse(np.zeros((4, 0)).as_nd_ndarray()).size == 0


@pytest.mark.parametrize("name", ["SequenceMask", "SequenceLast", "SequenceReverse"])
def test_what_does_not_fit_is_refused_at_once(name):
    function, x = getattr(nd, name), nd.ones((4, 3))
    with pytest.raises(ValueError, match="needs the array `sequence_length`"):
        function(x, use_sequence_length=True)
    with pytest.raises(ValueError, match="pass use_sequence_length=True"):
        function(x, nd.ones((3,)))
    with pytest.raises(MXNetError, match=r"must have shape \(3,\).*got \(4,\)"):
        function(x, nd.ones((4,)), use_sequence_length=True)
    with pytest.raises(ValueError, match="axis must be 0 or 1, got 2"):
        function(x, axis=2)
    with pytest.raises(MXNetError, match="at least 2 dimensions"):
        function(nd.ones((4,)))


def lstm():
    net = gluon.rnn.LSTM(3, use_sequence_length=True, input_size=2)
    net.initialize(mx.init.One())
    return lambda x, lengths: net(x, sequence_length=lengths)


HOSTILE_LENGTHS = [[-1, -(2**40), 2], [7, 100, 2**31 - 1], [2**40, -(2**62), 1], [0, 0, 0]]
LENGTHS_OF = {
    "SequenceMask": (lambda: lambda x, n: nd.SequenceMask(x, n, use_sequence_length=True), 0),
    "SequenceLast": (lambda: lambda x, n: nd.SequenceLast(x, n, use_sequence_length=True), 1),
    "SequenceReverse": (lambda: lambda x, n: nd.SequenceReverse(x, n, use_sequence_length=True), 0),
    "softmax": (lambda: lambda x, n: nd.softmax(x[:, :, 0].T, length=n, use_length=True), 0),
    "LSTM": (lstm, 0),
    "CTC": (lambda: lambda x, n: nd.CTCLoss(x, nd.ones((3, 1)), n, use_data_lengths=True), 0),
}


@pytest.mark.parametrize("dtype", ["float32", "int32", "int64"])
@pytest.mark.parametrize("hostile", HOSTILE_LENGTHS)
@pytest.mark.parametrize("name", LENGTHS_OF)
def test_lengths_outside_of_the_data_count_as_the_nearest_inside(name, hostile, dtype):
    make, least = LENGTHS_OF[name]
    function, limits = make(), numpy.iinfo("int64" if dtype == "int64" else "int32")
    values = numpy.random.RandomState(0).randn(4, 3, 2)

    def results(lengths):
        x = nd.array(values)
        x.attach_grad()
        with autograd.record():
            y = function(x, nd.array(lengths, dtype=dtype))
        y.backward()
        return y.asnumpy(), x.grad.asnumpy()

    inside = numpy.clip(hostile, least, 4)
    for got, wanted in zip(results(numpy.clip(hostile, limits.min, limits.max)), results(inside)):
        numpy.testing.assert_array_equal(got, wanted)
