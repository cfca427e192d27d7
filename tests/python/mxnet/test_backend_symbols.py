"""Symbol.get_backend_symbol, and networks quantized with it. Names are those that MXNet 1.9.1 gives."""

import numpy
import processors
import pytest

from headrace import cpu, io, nd, sym
from headrace.base import MXNetError
from headrace.mxnet.contrib import quantization

RNG = numpy.random.default_rng(5)
BACKENDS = ("MKLDNN", "MKLDNN_QUANTIZE")
SHAPE = (2, 3, 8, 8)


def data():
    return sym.var("data", shape=SHAPE)


def convolution(x=None, **settings):
    settings = {"num_filter": 4, "kernel": (3, 3), "name": "conv", **settings}
    return sym.Convolution(data() if x is None else x, **settings)


def dense(x=None, name="fc"):
    return sym.FullyConnected(data() if x is None else x, num_hidden=4, name=name)


def nodes_of(symbol, backend):
    """Names of the operators of the joined graph."""
    variables = set(symbol.list_inputs())
    joined = symbol.get_backend_symbol(backend)
    names = [name for name in joined.get_internals().list_outputs() if name not in variables]
    return [name.removesuffix("_output") for name in names]


def values_of(symbol, values):
    states = set(symbol.list_auxiliary_states())
    given = {name: nd.array(values[name], dtype=values[name].dtype) for name in symbol.list_inputs()}
    executor = symbol.bind(
        cpu(),
        {name: value for name, value in given.items() if name not in states},
        grad_req="null",
        aux_states={name: value for name, value in given.items() if name in states},
    )
    return [output.asnumpy() for output in executor.forward()]


def numbers_for(symbol):
    shapes, _, states = symbol.infer_shape()
    values = {n: RNG.uniform(-1, 1, s) for n, s in zip(symbol.list_arguments(), shapes, strict=True)}
    values.update(
        (n, RNG.uniform(0.5, 1, s)) for n, s in zip(symbol.list_auxiliary_states(), states, strict=True)
    )
    return {name: value.astype("float32") for name, value in values.items()}


ACTIVATIONS = {
    "relu": (lambda x: sym.Activation(x, act_type="relu"), "cc dd"),
    "sigmoid": (lambda x: sym.Activation(x, act_type="sigmoid"), "c- d-"),
    "softsign": (lambda x: sym.Activation(x, act_type="softsign"), "-- --"),
    "sym.relu": (sym.relu, "-- --"),
    "leaky": (lambda x: sym.LeakyReLU(x, act_type="leaky"), "cc dd"),
    "gelu": (lambda x: sym.LeakyReLU(x, act_type="gelu"), "cc dd"),
    "elu": (lambda x: sym.LeakyReLU(x, act_type="elu"), "-- dd"),
    "selu": (lambda x: sym.LeakyReLU(x, act_type="selu"), "-- --"),
    "abs": (sym.abs, "-- dd"),
    "square": (sym.square, "-- d-"),
    "exp": (sym.exp, "-- d-"),
    "clip": (lambda x: sym.clip(x, 0, 6), "cc dd"),
    "clip below": (lambda x: sym.clip(x, -1, 1), "-- --"),
}


@pytest.mark.parametrize("activation", list(ACTIVATIONS))
def test_which_functions_are_joined_to_which_layers(activation):
    function, wanted = ACTIVATIONS[activation]
    for layer, marks in zip((convolution, dense), wanted.split(), strict=True):
        for backend, mark in zip(BACKENDS, marks, strict=True):
            names = nodes_of(function(layer()), backend)
            ending = {"c": "conv_act_0", "d": "fully_connected_eltwise_0"}.get(mark)
            assert names == [f"sg_mkldnn_{ending}"] if ending else len(names) == 2, (backend, layer, names)


def residual():
    images = data()
    total = sym.BatchNorm(convolution(images), name="bn") + convolution(images, name="conv1")
    return sym.Activation(total, act_type="relu", name="relu")


def after_activation():
    images = data()
    return sym.LeakyReLU(convolution(images), act_type="gelu") + convolution(images, name="conv1")


def read_twice():
    norm = sym.BatchNorm(convolution(kernel=(1, 1)), name="bn1")
    return norm + sym.BatchNorm(convolution(norm, kernel=(1, 1), name="conv2"), name="bn2")


def pooled():
    images = data()
    return sym.Pooling(images, kernel=(3, 3), name="pool") + convolution(images, num_filter=3)


def clipped_sum():
    images = data()
    return sym.clip(convolution(images, num_filter=3, kernel=(1, 1)) + images, 0, 6, name="clip")


def attention():
    return sym.contrib.interleaved_matmul_selfatt_qk(sym.var("data", shape=(6, 2, 24)), heads=2)


def attention_of_two_kinds():
    part = sym.var("data", shape=(6, 2, 24))
    scores = sym.contrib.interleaved_matmul_selfatt_qk(part, heads=2)
    return sym.contrib.interleaved_matmul_selfatt_valatt(part, sym.softmax(scores, name="weights"), heads=2)


def copies():
    hidden = sym.Activation(sym.identity(dense(name="fc1")), act_type="relu")
    return sym.Activation(sym.Dropout(dense(hidden, "fc2")), act_type="relu")


GRAPHS = {
    residual: ["sg_mkldnn_conv_1", "sg_mkldnn_conv_bn_add_act_0"],
    after_activation: ["sg_mkldnn_conv_act_0", "sg_mkldnn_conv_add_1"],
    read_twice: ["sg_mkldnn_conv_bn_0", "sg_mkldnn_conv_bn_add_1"],
    pooled: ["pool", "sg_mkldnn_conv_add_0"],
    attention: ["sg_mkldnn_selfatt_qk_0"],
    attention_of_two_kinds: ["sg_mkldnn_selfatt_qk_0", "weights", "sg_mkldnn_selfatt_valatt_1"],
    copies: ["sg_mkldnn_fully_connected_eltwise_0", "sg_mkldnn_fully_connected_eltwise_1"],
}


@pytest.mark.parametrize("make", GRAPHS, ids=lambda make: make.__name__)
@pytest.mark.parametrize("backend", BACKENDS)
def test_joined_graphs_have_the_names_of_mxnet_and_the_values_of_what_was_joined(make, backend):
    symbol = make()
    joined = symbol.get_backend_symbol(backend)
    assert nodes_of(symbol, backend) == GRAPHS[make]
    assert joined.list_arguments() == symbol.list_arguments() or make is after_activation
    assert joined.list_auxiliary_states() == symbol.list_auxiliary_states()
    assert joined.infer_shape()[1] == symbol.infer_shape()[1]
    values = numbers_for(symbol)
    (wanted,) = values_of(symbol, values)
    for graph in (joined, sym.load_json(joined.tojson()), joined.get_backend_symbol(backend)):
        numpy.testing.assert_allclose(values_of(graph, values)[0], wanted, rtol=1e-4, atol=1e-4)


def test_a_clip_behind_a_sum_is_joined_in_floats_alone():
    assert nodes_of(clipped_sum(), "MKLDNN") == ["sg_mkldnn_conv_add_act_0"]
    assert nodes_of(clipped_sum(), "MKLDNN_QUANTIZE") == ["sg_mkldnn_conv_add_0", "clip"]


def test_attributes_say_what_was_joined():
    attributes = residual().get_backend_symbol("MKLDNN").attr_dict()
    flags = {"with_bn": "true", "with_sum": "true", "with_postsum_act": "true"}
    assert attributes["sg_mkldnn_conv_bn_add_act_0"] == flags
    attributes = attention().get_backend_symbol("MKLDNN").attr_dict()
    flags = {"heads": "2", "quantized": "False", "enable_float_output": "False"}
    assert attributes["sg_mkldnn_selfatt_qk_0"] == flags


def test_other_backends_and_layers_stay():
    for symbol in (convolution(), sym.Convolution(sym.var("x"), num_filter=2, kernel=(3,), name="line")):
        assert symbol.get_backend_symbol("default") is symbol
    line = sym.Convolution(sym.var("x"), num_filter=2, kernel=(3,), name="line")
    assert nodes_of(line, "MKLDNN") == ["line"]
    with pytest.raises(MXNetError, match="there is no backend 'MKLDNN_QUANTISE'"):
        line.get_backend_symbol("MKLDNN_QUANTISE")
    seen = sym.Group([dense(), sym.exp(dense(name="fc2"))])
    assert nodes_of(seen, "MKLDNN") == ["sg_mkldnn_fully_connected_0", "sg_mkldnn_fully_connected_eltwise_1"]


def test_joined_layers_have_gradients():
    symbol = sym.Activation(convolution(), act_type="relu")
    values = {name: nd.array(value) for name, value in numbers_for(symbol).items()}
    found = []
    for graph in (symbol, symbol.get_backend_symbol("MKLDNN")):
        gradients = {name: nd.zeros(value.shape) for name, value in values.items()}
        executor = graph.bind(cpu(), values, args_grad=gradients)
        executor.backward(nd.ones(executor.forward(is_train=True)[0].shape))
        found.append({name: gradient.asnumpy() for name, gradient in gradients.items()})
    assert found[0]["conv_weight"].any()
    for name, gradient in found[0].items():
        numpy.testing.assert_allclose(found[1][name], gradient, rtol=1e-4, atol=1e-4)


# --- quantized --------------------------------------------------------------------------------------------


def network():
    first = sym.Activation(convolution(pad=(1, 1), name="conv1"), act_type="relu")
    pool = sym.Pooling(first, kernel=(2, 2), stride=(2, 2), pool_type="max", name="pool")
    total = convolution(pool, pad=(1, 1), name="conv2") + pool
    return dense(sym.flatten(sym.Activation(total, act_type="relu"), name="flat"))


def quantized(symbol, values, granularity="tensor-wise", mode="naive", dtype="auto"):
    states = {name: nd.array(values[name]) for name in symbol.list_auxiliary_states()}
    names = [name for name in symbol.list_arguments() if name != "data"]
    example = nd.array(values["data"])
    return quantization.quantize_model(
        symbol.get_backend_symbol("MKLDNN_QUANTIZE"),
        {name: nd.array(values[name]) for name in names},
        states,
        calib_mode=mode,
        calib_data=io.NDArrayIter(example, batch_size=len(example)),
        quantized_dtype=dtype,
        quantize_mode="full",
        quantize_granularity=granularity,
    )


def error_of(symbol, arguments, states, values, wanted):
    arrays = {name: value.asnumpy() for name, value in {**arguments, **states}.items()}
    (found,) = values_of(symbol, {**arrays, "data": values["data"]})
    return numpy.abs(found - wanted).max() / numpy.abs(wanted).max()


@pytest.mark.parametrize(
    "make", [network, residual, read_twice, attention, copies], ids=lambda make: make.__name__
)
@pytest.mark.parametrize("dtype", ["auto", "int8"])
def test_joined_layers_are_quantized_and_take_over_ranges(make, dtype):
    symbol = make()
    values = numbers_for(symbol)
    (wanted,) = values_of(symbol, values)
    first, arguments, states = quantized(symbol, values, dtype=dtype)
    second = first.get_backend_symbol("MKLDNN_QUANTIZE")
    assert any(name.startswith("requantize_") for name in first.attr_dict())
    assert not any(name.startswith("requantize_") for name in second.attr_dict())
    for name, attributes in second.attr_dict().items():
        if name.startswith("quantized_sg"):
            assert attributes["quantized"] in ("true", "True")
            assert ("min_calib_range" in attributes) != (attributes.get("enable_float_output") == "True")
    most = 0.1 if processors.multiplies_bytes() else 0.2
    for graph in (first, second, sym.load_json(second.tojson())):
        assert error_of(graph, arguments, states, values, wanted) < most


def test_quantized_graphs_have_the_names_of_mxnet():
    values = numbers_for(network())
    first, arguments, _ = quantized(network(), values)
    assert "quantized_sg_mkldnn_conv_act_0_output_min" in first.get_internals().list_outputs()
    assert "requantize_sg_mkldnn_conv_add_act_1_output0" in first.get_internals().list_outputs()
    assert first.list_outputs() == ["sg_mkldnn_fully_connected_0_dequantize_output"]
    assert {
        name: str(value.dtype.__name__) for name, value in arguments.items() if value.dtype == numpy.int8
    } == {
        "fc_weight_quantize": "int8",
        "fc_bias_quantize": "int8",
    }
    assert arguments["conv1_weight"].dtype == numpy.float32
    second = first.get_backend_symbol("MKLDNN_QUANTIZE")
    assert second.list_outputs() == ["quantized_sg_mkldnn_fully_connected_0_output"]


def test_rows_of_dense_layers_may_have_ranges_of_their_own():
    values = numbers_for(copies())
    (wanted,) = values_of(copies(), values)
    first, arguments, states = quantized(copies(), values, "channel-wise")
    attributes = first.attr_dict()["quantized_sg_mkldnn_fully_connected_eltwise_0"]
    assert attributes["channel_wise_quantize"] == "True"
    assert arguments["fc1_weight"].dtype == numpy.float32
    for graph in (first, first.get_backend_symbol("MKLDNN_QUANTIZE")):
        assert error_of(graph, arguments, states, values, wanted) < 0.1


def test_what_is_concatenated_has_one_range():
    images = data()
    symbol = sym.Concat(*(convolution(images, name=f"conv{k}") for k in range(2)), dim=1, name="joint")
    values = numbers_for(symbol)
    values["conv1_weight"] *= 3
    (wanted,) = values_of(symbol, values)
    first, arguments, states = quantized(symbol, values)
    second = first.get_backend_symbol("MKLDNN_QUANTIZE")
    ends = [
        {key: attributes[key] for key in ("min_calib_range", "max_calib_range")}
        for name, attributes in second.attr_dict().items()
        if name.startswith("quantized_sg")
    ]
    assert ends[0] == ends[1]
    assert float(ends[0]["max_calib_range"]) == pytest.approx(wanted.max(), abs=1e-4)
    for graph in (first, second):
        assert error_of(graph, arguments, states, values, wanted) < 0.1


def test_sums_of_layers_take_over_ranges_too():
    symbol = dense(name="fc1") + dense(name="fc2")
    values = numbers_for(symbol)
    (wanted,) = values_of(symbol, values)
    first, arguments, states = quantized(symbol, values)
    second = first.get_backend_symbol("MKLDNN_QUANTIZE")
    assert not any(name.startswith("requantize_") for name in second.attr_dict())
    assert [name for name in second.list_outputs() if name.endswith("_dequantize_output")]
    for graph in (first, second):
        assert error_of(graph, arguments, states, values, wanted) < 0.1


def test_an_array_may_be_data_and_summand():
    images = data()
    symbol = convolution(images, kernel=(1, 1), num_filter=3) + images
    values = numbers_for(symbol)
    (wanted,) = values_of(symbol, values)
    first, arguments, states = quantized(symbol, values)
    for graph in (first, first.get_backend_symbol("MKLDNN_QUANTIZE")):
        assert graph.infer_type(data="float32")[1] == [numpy.float32]
        assert graph.infer_shape_partial(conv_weight=(3, 3, 1, 1))[0][0] == SHAPE
        assert error_of(graph, arguments, states, values, wanted) < 0.1


def test_types_of_quantized_layers_are_known_without_shapes():
    symbol = sym.BatchNorm(convolution(sym.var("data")), name="bn")
    values = numbers_for(sym.BatchNorm(convolution(), name="bn"))
    first, _, _ = quantized(symbol, values)
    types = first.infer_type(data="float32")
    assert types == ([numpy.float32] * 5, [numpy.float32], [numpy.float32] * 2)


def test_negative_data_are_no_uint8():
    values = numbers_for(convolution())
    first, arguments, states = quantized(convolution(), values, dtype="uint8")
    with pytest.raises(MXNetError, match="uint8, which has no negative numbers, but its range begins at -"):
        error_of(first, arguments, states, values, 1)


def test_without_calibration_each_run_finds_the_ranges():
    values = numbers_for(network())
    (wanted,) = values_of(network(), values)
    first, arguments, states = quantized(network(), values, mode="none")
    second = first.get_backend_symbol("MKLDNN_QUANTIZE")
    assert second.tojson() == first.tojson()
    assert error_of(first, arguments, states, values, wanted) < 0.1
