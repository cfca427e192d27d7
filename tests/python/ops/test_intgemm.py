"""The dense layer on int8 of MXNet's intgemm operators, against exact integers."""

import numpy
import pytest

from headrace import autograd, nd, np, npx, sym
from headrace.base import MXNetError

RANDOM = numpy.random.RandomState(9)


def signed_bytes(*shape):
    return RANDOM.randint(-127, 128, shape).astype("int8")


def product(data, weight, *more, **attrs):
    return nd.contrib.intgemm_fully_connected(data, weight, *more, num_hidden=weight.shape[0], **attrs)


@pytest.mark.parametrize("shape", [(1,), (3, 5), (0,), (2, 7, 1, 8)])
def test_maxabsolute(shape):
    x = RANDOM.uniform(-9, 2, shape).astype("float32")
    got = nd.contrib.intgemm_maxabsolute(nd.array(x))
    assert got.shape == (1,) and got.asscalar() == abs(x).max(initial=0)


def test_data_are_rounded_to_127_steps_and_never_to_minus_128():
    x = nd.array([-9, -2, -1.99, -1 / 127, -0.4 / 127, 0, 1, 2.5 / 127 * 2, 2, 2.01])
    got = nd.contrib.intgemm_prepare_data(x, nd.array([2]))
    assert got.dtype == numpy.int8
    assert got.asnumpy().tolist() == [-127, -127, -126, 0, 0, 0, 64, 2, 127, 127]


def test_a_weight_is_the_same_whoever_quantizes_it():
    weight, most = nd.array(RANDOM.uniform(-3, 3, (8, 64))), nd.array([2.5])
    direct = nd.contrib.intgemm_prepare_weight(weight, most)
    quantized = nd.contrib.intgemm_prepare_data(weight, most)
    assert (
        direct.asnumpy() == nd.contrib.intgemm_prepare_weight(quantized, already_quantized=True).asnumpy()
    ).all()


def test_rows_of_a_prepared_weight():
    weight, rows = signed_bytes(16, 64), [3, 1, 4, 1, 5, 9, 2, 6]

    def prepared(numbers):
        return nd.contrib.intgemm_prepare_weight(nd.array(numbers, dtype="int8"), already_quantized=True)

    taken = nd.contrib.intgemm_take_weight(prepared(weight), nd.array(rows, dtype="int32"))
    assert (taken.asnumpy() == prepared(weight[rows]).asnumpy()).all()
    with pytest.raises(IndexError, match="row 16 of a weight of 16 rows"):
        nd.contrib.intgemm_take_weight(prepared(weight), nd.array([16], dtype="int32")).asnumpy()


@pytest.mark.parametrize("length", [64, 1024, 1025, 5000])
def test_sums_are_exact_integers(length):
    data, weight = signed_bytes(5, length), signed_bytes(8, length)
    data[0], weight[0], weight[1] = 127, 127, -127
    bias = RANDOM.randint(-60000, 60000, 8).astype("int32")
    arrays = nd.array(data, dtype="int8"), nd.array(weight, dtype="int8")
    expected = data.astype("int64") @ weight.T.astype("int64")
    got = product(*arrays, no_bias=True, out_type="int32")
    assert got.dtype == numpy.int32 and (got.asnumpy() == expected).all()
    got = product(*arrays, nd.array(bias, dtype="int32"), out_type="int32")
    assert (got.asnumpy() == expected + bias).all()
    scaled = product(*arrays, nd.array([0.5]), nd.array(bias, dtype="float32"))
    numpy.testing.assert_allclose(scaled.asnumpy(), expected * 0.5 + bias, rtol=1e-6)


def test_float_data_are_quantized_on_the_way():
    data, weight = nd.array(RANDOM.uniform(-3, 3, (2, 3, 64))), nd.array(signed_bytes(8, 64), dtype="int8")
    most = nd.contrib.intgemm_maxabsolute(data)
    direct = product(data, weight, nd.array([3]), no_bias=True, flatten=False)
    prepared = nd.contrib.intgemm_prepare_data(data, most)
    cooked = product(prepared, weight, most * 3 / 127, no_bias=True, flatten=False)
    assert direct.shape == (2, 3, 8)
    numpy.testing.assert_allclose(direct.asnumpy(), cooked.asnumpy(), rtol=1e-5)
    assert product(nd.zeros((2, 2, 32)), weight, nd.array([3]), no_bias=True).shape == (2, 8)


def test_gradients_are_zero():
    data = nd.ones((2, 64))
    data.attach_grad()
    with autograd.record():
        result = product(data, nd.ones((8, 64), dtype="int8"), nd.array([1]), no_bias=True)
    result.backward()
    assert not data.grad.asnumpy().any()


def test_np_arrays_and_symbols():
    weight = np.array(signed_bytes(8, 64), dtype="int8")
    got = npx.intgemm_fully_connected(
        np.ones((2, 64)), weight, np.array([1 / 127]), no_bias=True, num_hidden=8
    )
    assert isinstance(got, np.ndarray)
    numpy.testing.assert_allclose(got.asnumpy()[0], weight.asnumpy().sum(axis=1) * 127 / 127 / 127, rtol=1e-5)
    net = sym.contrib.intgemm_fully_connected(sym.var("x"), num_hidden=8, out_type="int32", name="fc")
    assert net.list_arguments() == ["x", "fc_weight", "fc_bias"]
    typed = [sym.var("x"), sym.var("weight", dtype="int8"), sym.var("bias", dtype="int32")]
    net = sym.contrib.intgemm_fully_connected(*typed, num_hidden=8, out_type="int32")
    assert net.infer_shape(x=(3, 64))[:2] == ([(3, 64), (8, 64), (8,)], [(3, 8)])


def test_arrays_that_do_not_fit_are_refused():
    data, weight = nd.zeros((2, 64)), nd.zeros((8, 64), dtype="int8")
    with pytest.raises(TypeError, match="4 arrays are needed with out_type=float32 and no_bias=false, got 3"):
        product(data, weight, nd.array([1]))
    with pytest.raises(MXNetError, match="float32 or int8"):
        product(data.astype("float64"), weight, nd.array([1]), no_bias=True)
    with pytest.raises(MXNetError):
        product(nd.zeros((2, 32)), weight, nd.array([1]), no_bias=True)
    with pytest.raises(MXNetError):
        product(data, data, nd.array([1]), no_bias=True)
