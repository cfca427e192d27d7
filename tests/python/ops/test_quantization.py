"""Quantized arrays: values of MXNet 1.9.1 on CPUs, where int8 has the scale 127.5 and uint8 255.5."""

import numpy
import pytest

from headrace import nd, sym
from headrace.base import MXNetError

C = nd.contrib
X = nd.array([[-1.5, -0.3, 0, 0.2, 1.0, 2.0]])
LOW, HIGH = nd.array([-1.5]), nd.array([2.0])
BYTES = nd.array([[-128, -127, -3, 0, 5, 127]], dtype="int8")
SMALL = nd.array([[5, 6, 7, 8, 9, 10]], dtype="int8")
UNSIGNED = nd.array([[5, 6, 7, 8, 9, 250]], dtype="uint8")


def one(number):
    return nd.array([number])


def ends(*numbers):
    return [one(number) for number in numbers]


def check(results, dtype, values, low, high):
    data, least, largest = results
    assert data.dtype == numpy.dtype(dtype)
    numpy.testing.assert_array_equal(data.asnumpy().ravel(), values)
    numpy.testing.assert_allclose([least.asscalar(), largest.asscalar()], [low, high], rtol=1e-6)


def test_quantize():
    check(C.quantize(X, LOW, HIGH, out_type="int8"), "int8", [-95, -19, 0, 13, 64, 127], -2, 2)
    check(C.quantize(X, LOW, HIGH), "uint8", [0, 0, 0, 26, 128, 255], -1.5, 2)


@pytest.mark.parametrize(
    "keywords, dtype, values, low, high",
    [
        ({}, "int8", [-96, -19, 0, 13, 64, 127], -2, 2),
        ({"out_type": "uint8"}, "uint8", [0, 0, 0, 26, 128, 255], -1.5, 2),
        ({"out_type": "auto"}, "int8", [-96, -19, 0, 13, 64, 127], -2, 2),
        ({"min_calib_range": -1.0, "max_calib_range": 1.2}, "int8", [-128, -32, 0, 21, 106, 127], -1.2, 1.2),
        (
            {"out_type": "auto", "min_calib_range": 0.0, "max_calib_range": 1.2},
            "uint8",
            [0, 0, 0, 43, 213, 255],
            0,
            1.2,
        ),
    ],
)
def test_quantize_v2(keywords, dtype, values, low, high):
    check(C.quantize_v2(X, **keywords), dtype, values, low, high)


def test_quantized_data_pass():
    check(C.quantize_v2(BYTES), "int8", BYTES.asnumpy().ravel(), -127.5, 127.5)


def test_dequantize():
    numpy.testing.assert_allclose(
        C.dequantize(BYTES, LOW, HIGH).asnumpy(), BYTES.asnumpy() * (2 / 127.5), rtol=1e-6
    )
    numpy.testing.assert_allclose(
        C.dequantize(UNSIGNED, *ends(0, 3)).asnumpy(), UNSIGNED.asnumpy() * (3 / 255.5), rtol=1e-6
    )


@pytest.mark.parametrize(
    "keywords, dtype, values, low, high",
    [
        ({}, "int8", [-127, -1, 0, 1, 127], -5, 5),
        ({"min_calib_range": -3.0, "max_calib_range": 2.0}, "int8", [-128, -1, 0, 2, 127], -3, 3),
        (
            {"out_type": "auto", "min_calib_range": 0.0, "max_calib_range": 3.0},
            "uint8",
            [0, 0, 0, 5, 255],
            0,
            3,
        ),
    ],
)
def test_requantize(keywords, dtype, values, low, high):
    data = nd.array([-(2**30), -5000000, 0, 12345678, 2**30], dtype="int32")
    check(C.requantize(data, *ends(-10, 10), **keywords), dtype, values, low, high)


def test_quantize_asym():
    data, scale, shift = C.quantize_asym(X)
    numpy.testing.assert_allclose(
        [scale.asscalar(), shift.asscalar()], [255 / 3.5, 255 - 2 * 255 / 3.5], rtol=1e-6
    )
    assert data.asnumpy().ravel().tolist() == [0, 87, 109, 124, 182, 255]
    check(C.quantize_asym(nd.array([1, -3], dtype="int8")), "uint8", [129, 125], 1, 128)


def test_dense_layer():
    data = nd.array([[-39, 13, -69], [66, 103, -88]], dtype="int8")
    weight = nd.array([[-40, 47, -39], [-46, 38, -102], [-50, -55, -118], [21, -12, 81]], dtype="int8")
    bias = nd.array([100, -50, 3, 7], dtype="int8")
    plain = [4862, 9326, 9377, -6564, 5633, 9854, 1419, -6978]
    results = C.quantized_fully_connected(data, weight, None, *ends(-1, 1, -2, 2), num_hidden=4, no_bias=True)
    check(results, "int32", plain, -266288.5, 266288.5)
    results = C.quantized_fully_connected(data, weight, bias, *ends(-1, 1, -2, 2, -0.5, 0.5), num_hidden=4)
    values = [8049, 7733, 9472, -6341, 8820, 8261, 1514, -6755]
    check(results, "int32", values, -266288.5, 266288.5)
    data = nd.array([[0, 100, 255], [3, 2, 1]], dtype="uint8")
    results = C.quantized_fully_connected(data, weight, bias, *ends(0, 1, -2, 2, -0.5, 0.5), num_hidden=4)
    values = [1142, -25403, -35399, 19902, 6322, -3357, -187, 567]
    check(results, "int32", values, -132622.125, 132622.125)


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_convolution_is_exact(dtype):
    random = numpy.random.RandomState(3)
    data = random.randint(*((-128, 128) if dtype == "int8" else (0, 256)), (2, 3, 5, 5))
    weight, bias = random.randint(-127, 128, (4, 3, 3, 3)), numpy.array([100, -52, 0, 8])
    window = numpy.lib.stride_tricks.sliding_window_view(data, (3, 3), (2, 3))
    expected = numpy.einsum("nchwij,ocij->nohw", window, weight)
    arrays = [nd.array(data, dtype=dtype), nd.array(weight, dtype="int8")]
    results = C.quantized_conv(*arrays, None, *ends(-1, 1, -2, 2), kernel=(3, 3), num_filter=4, no_bias=True)
    most = 2 * (2**31 - 1) / 127 / (127 if dtype == "int8" else 255)
    check(results, "int32", expected.ravel(), -most, most)
    results = C.quantized_conv(
        *arrays, nd.array(bias, dtype="int8"), *ends(-1, 1, -2, 2, -0.5, 0.5), kernel=(3, 3), num_filter=4
    )
    added = numpy.rint(bias * (0.5 / 127 * (2**31 - 1) / most))
    check(results, "int32", (expected + added[:, None, None]).ravel(), -most, most)


@pytest.mark.parametrize("data, weight", [((-1, 1), (0, 0)), ((0, 0), (-2, 2)), ((0, 0), (0, 0))])
def test_biases_are_left_where_a_range_is_empty(data, weight):
    bias, ranges = [100, -50, 3, 7], ends(*data, *weight, -0.5, 0.5)
    arrays = [nd.ones(shape, dtype="int8") for shape in ((2, 3), (4, 3), (2, 3, 5, 5), (4, 3, 3, 3))]
    quantized = nd.array(bias, dtype="int8")
    dense = C.quantized_fully_connected(*arrays[:2], quantized, *ranges, num_hidden=4)
    images = C.quantized_conv(*arrays[2:], quantized, *ranges, kernel=(3, 3), num_filter=4)
    expected = numpy.array(bias) * 0.5 / 127
    for (sums, _, high), shape in ((dense, (2, 4)), (images, (2, 4, 3, 3))):
        floats = sums.asnumpy() * (high.asscalar() / (2**31 - 1))
        assert floats.shape == shape
        per_channel = expected.reshape((1, 4) + (1,) * (len(shape) - 2))
        numpy.testing.assert_allclose(floats, numpy.broadcast_to(per_channel, shape), rtol=1e-5)


@pytest.mark.parametrize("data, weight", [((-1, 1), (-1e-6, 1e-6)), ((-1e-6, 1e-6), (-2, 2))])
def test_the_range_of_sums_holds_biases_that_products_are_small_beside(data, weight):
    bias, ranges = [100, -50, 3, 7], ends(*data, *weight, -0.5, 0.5)
    arrays = [nd.full(shape, 9, dtype="int8") for shape in ((2, 3), (4, 3), (2, 3, 5, 5), (4, 3, 3, 3))]
    quantized = nd.array(bias, dtype="int8")
    dense = C.quantized_fully_connected(*arrays[:2], quantized, *ranges, num_hidden=4)
    images = C.quantized_conv(*arrays[2:], quantized, *ranges, kernel=(3, 3), num_filter=4)
    unit = data[1] / 127.5 * weight[1] / 127.5
    for (sums, _, high), window in ((dense, 3), (images, 27)):
        floats = sums.asnumpy() * (high.asscalar() / (2**31 - 1))
        expected = (
            numpy.array(bias).reshape((1, 4) + (1,) * (floats.ndim - 2)) * 0.5 / 127 + window * 81 * unit
        )
        numpy.testing.assert_allclose(floats, numpy.broadcast_to(expected, floats.shape), rtol=1e-5)


def test_pooling():
    image = [45, -80, -10, 65, -60, 124, 68, -24, -118, 84, -106, 115, -91, -40, -57, 89]
    data = nd.array(image, dtype="int8").reshape((1, 1, 4, 4))
    window = {"kernel": (2, 2), "stride": (2, 2)}
    check(
        C.quantized_pooling(data, LOW, HIGH, pool_type="max", **window), "int8", [124, 68, 84, 115], -1.5, 2
    )
    check(C.quantized_pooling(data, LOW, HIGH, pool_type="avg", **window), "int8", [7, 25, -41, 10], -1.5, 2)
    with pytest.raises(MXNetError, match="max or avg"):
        C.quantized_pooling(data, LOW, HIGH, pool_type="sum", **window)


def test_elements():
    check(C.quantized_act(BYTES, LOW, HIGH, act_type="relu"), "int8", [0, 0, 0, 0, 5, 127], -1.5, 2)
    check(C.quantized_flatten(BYTES.reshape((1, 2, 3)), LOW, HIGH), "int8", BYTES.asnumpy().ravel(), -1.5, 2)
    weight = nd.array([[1, 2], [3, 4], [-5, 6]], dtype="int8")
    rows = C.quantized_embedding(nd.array([0, 2, 9]), weight, LOW, HIGH, input_dim=3, output_dim=2)
    check(rows, "int8", [1, 2, -5, 6, -5, 6], -1.5, 2)


def test_sums():
    ranges, calibrated = ends(-1, 1, -2, 2), {"min_calib_range": -2.5, "max_calib_range": 2.0}
    total = C.quantized_elemwise_add(BYTES, SMALL, *ranges)
    values = [-662491712, -645648704, 61757704, 89829384, 129129736, 825307456]
    check(total, "int32", values, -3, 3)
    total = C.quantized_elemwise_add(BYTES, SMALL, *ranges, **calibrated)
    check(total, "int8", [-47, -46, 4, 6, 9, 59], -2.5, 2)
    total = C.quantized_elemwise_add(BYTES, UNSIGNED, *ends(-1, 1, 0, 2), **calibrated)
    check(total, "int8", [-49, -49, 2, 3, 6, 127], -2.5, 2)
    total = C.quantized_elemwise_add(
        UNSIGNED, UNSIGNED, *ends(0, 1, 0, 2), min_calib_range=0.0, max_calib_range=2.0
    )
    check(total, "uint8", [8, 9, 10, 12, 14, 255], 0, 2)


def test_products():
    ranges = ends(-1, 1, -2, 2)
    product = C.quantized_elemwise_mul(BYTES, SMALL, *ranges)
    check(product, "int32", (BYTES.asnumpy().astype(int) * SMALL.asnumpy()).ravel(), -266288.5, 266288.5)
    floats = C.quantized_elemwise_mul(BYTES, SMALL, *ranges, enable_float_output=True)
    expected = BYTES.asnumpy() / 127.5 * SMALL.asnumpy() * 2 / 127.5
    numpy.testing.assert_allclose(floats.asnumpy(), expected, rtol=1e-5)
    product = C.quantized_elemwise_mul(BYTES, SMALL, *ranges, min_calib_range=-0.2, max_calib_range=0.1)
    check(product, "int8", numpy.trunc(expected * 127.5 / 0.2).ravel(), -0.2, 0.1)


@pytest.mark.parametrize(
    "a, b, ranges, dtype, values, low",
    [
        (BYTES, SMALL, (-1, 1, -2, 2), "int8", [-64, -64, -2, 0, 2, 64, 5, 6, 7, 8, 9, 10], -2),
        (BYTES, UNSIGNED, (-1, 1, 0, 2), "int8", [-64, -64, -2, 0, 2, 64, 2, 3, 3, 4, 4, 125], -1),
        (UNSIGNED, UNSIGNED, (0, 1, 0, 2), "uint8", [2, 3, 4, 4, 4, 125, 5, 6, 7, 8, 9, 250], 0),
    ],
)
def test_concat(a, b, ranges, dtype, values, low):
    check(C.quantized_concat(a, b, *ends(*ranges), dim=1, num_args=2), dtype, values, low, 2)


def test_batch_norm():
    parameters = [nd.array(values) for values in ([1, 2], [0.1, -0.2], [0.05, 0], [1, 0.25])]
    data = nd.array([1, 37, -74, 6, -89, 105], dtype="int8").reshape((1, 2, 1, 3))
    keywords = {"min_calib_range": -2.0, "max_calib_range": 2.0, "eps": 1e-3}
    results = C.quantized_batch_norm(data, *parameters, *ends(-1, 1), **keywords)
    check(results, "int8", [4, 22, -34, -1, -128, 127], -2, 2)
    data = nd.array([0, 10, 255, 1, 2, 3], dtype="uint8").reshape((1, 2, 1, 3))
    results = C.quantized_batch_norm(data, *parameters, *ends(0, 1), **keywords)
    check(results, "int8", [3, 6, 67, -13, -11, -11], -2, 2)
    found, low, high = C.quantized_batch_norm(data, *parameters, *ends(0, 1))
    unit = max(-low.asscalar(), high.asscalar()) / 127.5
    numpy.testing.assert_allclose(found.asnumpy() * unit, results[0].asnumpy() * (2 / 127.5), atol=0.02)
    assert abs(found.asnumpy().astype(int)).max() >= 127


def test_calibration_cuts_outliers():
    edges = numpy.linspace(-8, 8, 1002).astype("float32")
    middles = (edges[1:] + edges[:-1]) / 2
    counts = numpy.floor(20000 * numpy.exp(-(middles**2) / 2)).astype("float32")
    counts[[0, -1]] = 1
    threshold, divergence = C.calibrate_entropy(nd.array(counts), nd.array(edges))
    assert 2 < threshold.asscalar() < 5
    assert 0 < divergence.asscalar() < 0.1
    with pytest.raises(MXNetError, match="odd number of bins"):
        C.calibrate_entropy(nd.ones((10,)), nd.ones((11,)))


def test_what_is_not_quantized_is_refused():
    with pytest.raises(MXNetError, match="int8 or uint8"):
        C.dequantize(X, LOW, HIGH)
    with pytest.raises(MXNetError, match="one float32"):
        C.dequantize(BYTES, X, HIGH)
    with pytest.raises(TypeError, match="9 arrays are needed"):
        C.quantized_fully_connected(BYTES, BYTES, num_hidden=1)


def test_symbols_name_their_inputs():
    names = ["data", "weight", "min_data", "max_data", "min_weight", "max_weight"]
    dense = sym.contrib.quantized_fully_connected(num_hidden=4, no_bias=True, name="q")
    assert dense.list_arguments() == [f"q_{name}" for name in names]
    assert dense.list_outputs() == ["q_output", "q_min_output", "q_max_output"]
    norm = sym.contrib.quantized_batch_norm(name="q")
    assert norm.list_auxiliary_states() == ["q_moving_mean", "q_moving_var"]
