"""Trained networks as networks that compute with bytes: mx.contrib.quantization."""

import logging

import numpy
import pytest

from headrace import cpu, gluon, io, mod, nd, sym
from headrace.mxnet import rnn
from headrace.mxnet.contrib import quant, quantization

RNG = numpy.random.default_rng(5)
START = RNG.bit_generator.state


@pytest.fixture(autouse=True)
def same_numbers():
    RNG.bit_generator.state = START


def small_net():
    net = sym.Convolution(sym.var("data"), kernel=(3, 3), num_filter=8, name="conv")
    net = sym.Activation(net, act_type="relu", name="relu")
    net = sym.Pooling(net, kernel=(2, 2), stride=(2, 2), pool_type="max", name="pool")
    net = sym.FullyConnected(sym.Flatten(net, name="flat"), num_hidden=10, name="dense")
    return sym.SoftmaxOutput(net, name="softmax")


def residual_net():
    data = sym.var("data")
    conv = sym.Convolution(data, kernel=(1, 1), num_filter=4, no_bias=True, name="conv")
    norm = sym.BatchNorm(conv, fix_gamma=False, name="norm")
    total = sym.elemwise_add(norm, data, name="total")
    relu = sym.Activation(total, act_type="relu", name="relu")
    product = sym.elemwise_mul(relu, total, name="product")
    pool = sym.Pooling(product, kernel=(4, 4), pool_type="avg", name="pool")
    joined = sym.Concat(pool, pool, dim=1, name="joined")
    return sym.FullyConnected(joined, num_hidden=10, name="dense")


def parameters_of(net, shape):
    shapes, _, states = net.infer_shape(data=shape)
    named = {
        name: nd.array(RNG.uniform(-1, 1, s))
        for name, s in zip(net.list_arguments(), shapes)
        if name != "data" and not name.endswith("label")
    }
    auxiliary = {
        name: nd.array(RNG.uniform(0.5, 1, s)) for name, s in zip(net.list_auxiliary_states(), states)
    }
    return named, auxiliary


def data_of(shape, low=-1):
    return RNG.uniform(low, 1, shape).astype("float32")


def outputs_of(net, arguments, auxiliary, data):
    known = {**arguments, "data": nd.array(data)}
    shapes, _, _ = net.infer_shape_partial(data=data.shape)
    for name, shape in zip(net.list_arguments(), shapes):
        if name not in known:
            known[name] = nd.zeros(shape)
    states = [auxiliary[name] for name in net.list_auxiliary_states()]
    executor = net.bind(
        cpu(), [known[name] for name in net.list_arguments()], grad_req="null", aux_states=states
    )
    return [one.asnumpy() for one in executor.forward(is_train=False)]


def logits_of(net, arguments, auxiliary, data):
    """What is before the softmax, of the small network and of what it became."""
    outputs = net.get_internals()
    names = outputs.list_outputs()
    return outputs_of(
        outputs[names[-3] if names[-1] == "softmax_output" else names[-1]], arguments, auxiliary, data
    )[0]


def assert_near(got, expected, part):
    """Differences are at most this part of the largest number."""
    assert abs(got - expected).max() < part * abs(expected).max()


def nodes_of(net):
    return {one.name: one for one in net.get_internals()}


SHAPE = (4, 3, 8, 8)
RESIDUAL = (4, 4, 10, 10)


@pytest.fixture
def small():
    net = small_net()
    return net, *parameters_of(net, SHAPE), data_of(SHAPE)


@pytest.fixture
def residual():
    net = residual_net()
    return net, *parameters_of(net, RESIDUAL), data_of(RESIDUAL)


def test_graph_of_a_small_network(small):
    net, arguments, auxiliary, data = small
    made, named, _ = quant.quantize_model(
        net, arguments, auxiliary, calib_mode="naive", calib_data=io.NDArrayIter(data, batch_size=2)
    )
    assert [name for name in made.list_arguments() if name != "data"] == [
        "conv_weight_quantize", "conv_bias_quantize", "conv_weight_quantize_min", "conv_weight_quantize_max",
        "conv_bias_quantize_min", "conv_bias_quantize_max", "dense_weight_quantize", "dense_bias_quantize",
        "dense_weight_quantize_min", "dense_weight_quantize_max", "dense_bias_quantize_min",
        "dense_bias_quantize_max", "softmax_label",
    ]  # fmt: skip
    attributes = made.attr_dict()
    assert float(attributes["data_quantize"]["min_calib_range"]) == pytest.approx(data.min(), abs=1e-6)
    assert float(attributes["data_quantize"]["max_calib_range"]) == pytest.approx(data.max(), abs=1e-6)
    for name in ("requantize_conv", "requantize_dense"):
        assert {"min_calib_range", "max_calib_range"} <= attributes[name].keys()
        assert attributes[name]["out_type"] == "int8"
    assert named["conv_weight_quantize"].dtype == numpy.int8
    assert named["conv_weight_quantize_max"].asscalar() == abs(arguments["conv_weight"].asnumpy()).max()


@pytest.mark.parametrize("calib_mode", ["none", "naive", "entropy"])
@pytest.mark.parametrize("dtype", ["int8", "auto"])
def test_results_of_a_small_network(small, calib_mode, dtype):
    net, arguments, auxiliary, data = small
    made = quant.quantize_model(
        net, arguments, auxiliary, calib_mode=calib_mode, calib_data=io.NDArrayIter(data, batch_size=4),
        quantized_dtype=dtype, quantize_mode="full",
    )  # fmt: skip
    part = 0.2 if calib_mode == "entropy" else 0.05  # what is beyond a threshold is cut
    assert_near(logits_of(*made, data), logits_of(net, arguments, auxiliary, data), part)


def test_uint8_of_data_that_are_not_negative(small):
    net, arguments, auxiliary, _ = small
    data = data_of(SHAPE, low=0)
    made = quant.quantize_model(
        net, arguments, auxiliary, calib_mode="naive", calib_data=io.NDArrayIter(data, batch_size=4),
        quantized_dtype="auto",
    )  # fmt: skip
    _, (first, *_), _ = made[0].get_internals()["data_quantize_output0"].infer_type(data="float32")
    assert first == numpy.uint8
    assert_near(logits_of(*made, data), logits_of(net, arguments, auxiliary, data), 0.05)


@pytest.mark.parametrize("fuse", [False, True])
def test_results_with_norms_sums_and_products(residual, fuse):
    net, arguments, auxiliary, data = residual
    function = quant.quantize_model_mkldnn if fuse else quant.quantize_model
    made = function(
        net, arguments, auxiliary, calib_mode="naive", calib_data=io.NDArrayIter(data, batch_size=4),
        quantized_dtype="auto", quantize_mode="full",
    )  # fmt: skip
    expected = outputs_of(net, arguments, auxiliary, data)[0]
    got = outputs_of(*made, data)[0]
    assert abs(got - expected).max() < 0.05 * abs(expected).max()


def test_layers_that_are_put_together(residual):
    net, arguments, auxiliary, data = residual
    made, named, states = quant.quantize_model_mkldnn(
        net, arguments, auxiliary, calib_mode="naive", calib_data=io.NDArrayIter(data, batch_size=4)
    )
    attributes = made.attr_dict()
    # `total` is read twice: the chain ends there, and has its name.
    assert attributes["quantized_total"]["with_sum"] == "True"
    assert "max_calib_range" in attributes["quantized_total"]
    assert attributes["quantized_dense"]["float_output"] == "True"
    assert named["conv_weight_quantize_max"].shape == (4,)
    assert "norm_moving_mean" in named and states == {}
    assert made.list_auxiliary_states() == []


def test_smart_mode_leaves_what_is_not_between_layers():
    data = sym.var("data")
    net = sym.Activation(data, act_type="relu", name="before")
    net = sym.Convolution(net, kernel=(1, 1), num_filter=4, name="conv")
    net = sym.Activation(net, act_type="relu", name="between")
    net = sym.FullyConnected(net, num_hidden=3, name="dense")
    net = sym.Activation(net, act_type="relu", name="behind")
    arguments, _ = parameters_of(net, RESIDUAL)
    for mode, quantized in (("smart", {"between"}), ("full", {"before", "between", "behind"})):
        made, _, _ = quant.quantize_model(net, arguments, {}, calib_mode="none", quantize_mode=mode)
        names = nodes_of(made)
        assert {name for name in ("before", "between", "behind") if f"quantized_{name}" in names} == quantized


def test_excluded_nodes_and_operators(small):
    net, arguments, auxiliary, _ = small
    made, named, _ = quant.quantize_model(
        net, arguments, auxiliary, calib_mode="none", excluded_sym_names=["conv"]
    )
    assert "conv" in nodes_of(made) and "quantized_dense" in nodes_of(made)
    assert "conv_weight" in named
    made, _, _ = quant.quantize_model(
        net, arguments, auxiliary, calib_mode="none", excluded_op_names=["FullyConnected", "Convolution"]
    )
    assert made.list_arguments() == net.list_arguments()


def test_operators_without_a_form_on_bytes_stay(small):
    data = sym.var("data")
    conv = sym.Convolution(data, kernel=(1, 1), num_filter=2, name="conv")
    net = sym.Pooling(
        sym.Activation(conv, act_type="tanh", name="tanh"), kernel=(2, 2), pool_type="sum", name="sums"
    )
    arguments, _ = parameters_of(net, SHAPE)
    made, _, _ = quant.quantize_model(net, arguments, {}, calib_mode="none", quantize_mode="full")
    assert {"conv_dequantize", "tanh", "sums"} <= nodes_of(made).keys()


def test_embedding_and_lstm():
    data = sym.var("data")
    table = sym.Embedding(data, input_dim=20, output_dim=6, name="table")
    steps = sym.transpose(table, axes=(1, 0, 2), name="steps")
    lstm = sym.RNN(steps, state_size=8, num_layers=1, mode="lstm", name="lstm")
    net = sym.FullyConnected(lstm, num_hidden=5, flatten=False, name="dense")
    shape = (4, 7)
    shapes, _, _ = net.infer_shape(data=shape)
    arguments = {
        name: nd.array(RNG.uniform(-0.5, 0.5, s))
        for name, s in zip(net.list_arguments(), shapes)
        if name != "data"
    }
    indices = RNG.integers(0, 20, shape).astype("float32")
    made = quant.quantize_model(
        net,
        arguments,
        {},
        calib_mode="naive",
        calib_data=io.NDArrayIter(indices, batch_size=4),
        quantize_mode="full",
    )
    assert {"quantized_table", "quantized_lstm", "quantized_dense"} <= nodes_of(made[0]).keys()
    expected = outputs_of(net, arguments, {}, indices)[0]
    numpy.testing.assert_allclose(outputs_of(*made, indices)[0], expected, atol=0.05)


def test_states_of_unknown_batch_size_get_it_from_quantized_layers():
    steps, _ = rnn.LSTMCell(num_hidden=6, prefix="lstm_").unroll(3, sym.var("data"))
    net, shape = sym.Group(steps), (4, 3, 5)
    values = data_of(shape)
    arguments, _ = parameters_of(net, shape)
    arguments = {name: value / 3 for name, value in arguments.items() if "begin_state" not in name}
    made = quant.quantize_model(net, arguments, {}, calib_mode="none", quantize_mode="full",
                                excluded_op_names=["elemwise_add", "elemwise_mul"])  # fmt: skip
    assert "quantized_lstm_t0_h2h" in nodes_of(made[0])
    module = mod.Module(made[0], label_names=None)
    module.bind([("data", shape)], for_training=False)
    module.set_params(*made[1:])
    module.forward(io.DataBatch([nd.array(values)]), is_train=False)
    expected = outputs_of(net, arguments, {}, values)
    for got, wanted in zip(module.get_outputs(), expected):
        numpy.testing.assert_allclose(got.asnumpy(), wanted, atol=0.1)


def test_an_output_that_floats_and_bytes_read():
    data = sym.var("data")
    conv = sym.Convolution(data, kernel=(1, 1), num_filter=4, name="conv")
    net = sym.Group([sym.FullyConnected(conv, num_hidden=3, name="dense"), sym.sigmoid(conv), conv])
    arguments, _ = parameters_of(net, RESIDUAL)
    values = data_of(RESIDUAL)
    made = quant.quantize_model(
        net, arguments, {}, calib_mode="naive", calib_data=io.NDArrayIter(values, batch_size=4)
    )
    assert [one for one in made[0].get_internals().list_outputs() if "dequantize" in one].count(
        "conv_dequantize_output"
    ) == 1
    for got, expected in zip(outputs_of(*made, values), outputs_of(net, arguments, {}, values)):
        assert abs(got - expected).max() < 0.05 * abs(expected).max()


def test_quantized_graphs_are_saved_and_loaded(small, tmp_path):
    net, arguments, auxiliary, data = small
    made, named, states = quant.quantize_model(
        net, arguments, auxiliary, calib_mode="naive", calib_data=io.NDArrayIter(data, batch_size=4)
    )
    made.save(str(tmp_path / "net-symbol.json"))
    nd.save(str(tmp_path / "net.params"), {f"arg:{name}": value for name, value in named.items()})
    loaded = quantization._load_sym(str(tmp_path / "net-symbol.json"))
    arrays, _ = quantization._load_params(str(tmp_path / "net.params"))
    numpy.testing.assert_array_equal(
        outputs_of(loaded, arrays, states, data)[0], outputs_of(made, named, states, data)[0]
    )


def test_a_module_runs_a_quantized_network(small):
    from headrace.module import Module

    net, arguments, auxiliary, data = small
    made, named, states = quant.quantize_model(
        net, arguments, auxiliary, calib_mode="naive", calib_data=io.NDArrayIter(data, batch_size=4)
    )
    module = Module(made)
    module.bind([("data", SHAPE)], [("softmax_label", SHAPE[:1])], for_training=False)
    module.set_params(named, states)
    module.forward(io.DataBatch([nd.array(data)]), is_train=False)
    numpy.testing.assert_allclose(
        module.get_outputs()[0].asnumpy(), outputs_of(made, named, states, data)[0], rtol=1e-5, atol=1e-6
    )


# --- calibration by hand ------------------------------------------------------------------------------------


@pytest.mark.parametrize("calib_mode", ["naive", "entropy", "customize"])
def test_a_collector_that_the_program_shows_the_layers(small, calib_mode):
    net, arguments, auxiliary, data = small
    custom = quantization._LayerOutputMinMaxCollector("int8") if calib_mode == "customize" else None
    made, _, _, collector = quant.quantize_graph(
        net, arguments, auxiliary, calib_mode=calib_mode, LayerOutputCollector=custom
    )
    executor = net.simple_bind(cpu(), grad_req="null", data=SHAPE)
    executor.copy_params_from(arguments, auxiliary)
    executor.set_monitor_callback(collector.collect, monitor_all=True)
    executor.forward(is_train=False, data=nd.array(data))
    made, named, states = quant.calib_graph(made, arguments, auxiliary, collector, calib_mode=calib_mode)
    attributes = made.attr_dict()
    assert {"min_calib_range", "max_calib_range"} <= attributes["requantize_conv"].keys()
    assert_near(logits_of(made, named, states, data), logits_of(net, arguments, auxiliary, data), 0.2)


def test_histograms_are_combined():
    first, second = numpy.array([-1.0, 0.2, 0.9]), numpy.array([2.9, -0.1])
    counts, edges = numpy.histogram(first, bins=5, range=(-1, 1))
    combined = quant.combine_histogram((counts, edges, -1.0, 0.9, 1.0), second, -0.1, 2.9, 2.9)
    counts, edges, least, largest, threshold = combined
    assert (least, largest, counts.sum()) == (-1.0, 2.9, 5)
    numpy.testing.assert_allclose(numpy.diff(edges), 0.4)
    assert threshold == edges[-1] >= 2.9
    within = quant.combine_histogram(combined, first, -1.0, 0.9, 1.0)
    assert within[0].sum() == 8 and within[4] == threshold
    nothing = (numpy.array([0, 0, 4, 0, 0]), numpy.zeros(6), 0.0, 0.0, 0.0)
    counts, edges, _, _, threshold = quant.combine_histogram(nothing, second, -0.1, 2.9, 2.9)
    assert threshold == 2.9 and counts.sum() == 6 and edges[-1] == pytest.approx(2.9)


def test_thresholds():
    values = RNG.uniform(-10, 11, 20000)
    counts, edges = numpy.histogram(values, bins=8001, range=(-11, 11))
    for dtype in ("int8", "uint8", "auto"):
        ranges = quantization._get_optimal_thresholds(
            {"a": (counts, edges, values.min(), values.max(), 11.0)}, dtype
        )
        assert ranges["a"][1] == pytest.approx(11, rel=0.02)
        assert ranges["a"][0] == -ranges["a"][1]
    counts, edges = numpy.histogram(abs(values), bins=2001, range=(-11, 11))
    ranges = quantization._get_optimal_thresholds({"a": (counts, edges, 0.0, 11.0, 11.0)}, "auto")
    assert ranges["a"][0] == 0
    zeros = (numpy.array([0, 3, 0]), numpy.zeros(4), 0.0, 0.0, 0.0)
    assert quantization._get_optimal_threshold(zeros, "int8")[2] == 0


def test_smooth_distributions():
    smooth = quantization._smooth_distribution(numpy.array([0.0, 0, 1, 0, 0]), eps=1e-3)
    numpy.testing.assert_allclose(smooth, [0.001, 0.001, 0.996, 0.001, 0.001], rtol=1e-6)
    with pytest.raises(ValueError, match="All entries are 0"):
        quantization._smooth_distribution(numpy.zeros(3))


def test_small_ranges_keep_their_digits(small):
    net, arguments, _, _ = small
    made, _ = quantization._quantize_symbol(net, cpu(), offline_params=list(arguments))
    ranges = {"data": (-3e-9, 2.5), "conv_output": (numpy.float32(-0.1), numpy.array([0.25], "float32"))}
    attributes = quantization._calibrate_quantized_sym(made, ranges).attr_dict()
    assert float(attributes["data_quantize"]["min_calib_range"]) == pytest.approx(-3e-9)
    assert attributes["requantize_conv"]["max_calib_range"] == "0.250000"
    assert "min_calib_range" not in made.attr_dict()["data_quantize"]


def test_ranges_keep_the_order_that_they_are_given_in(small):
    net, arguments, _, _ = small
    made, _ = quantization._quantize_symbol(net, cpu(), offline_params=list(arguments))
    attributes = quantization._calibrate_quantized_sym(made, {"conv_output": (2.5, 1.5)}).attr_dict()
    requantized = attributes["requantize_conv"]
    assert (requantized["min_calib_range"], requantized["max_calib_range"]) == ("2.500000", "1.500000")


# --- Gluon --------------------------------------------------------------------------------------------------


class Residual(gluon.HybridBlock):
    def __init__(self, **keywords):
        super().__init__(**keywords)
        with self.name_scope():
            self.body = gluon.nn.HybridSequential()
            with self.body.name_scope():
                self.body.add(gluon.nn.Conv2D(8, 3, padding=1, use_bias=False), gluon.nn.BatchNorm())
                self.body.add(
                    gluon.nn.Activation("relu"), gluon.nn.Conv2D(8, 3, padding=1), gluon.nn.BatchNorm()
                )
            self.dense = gluon.nn.Dense(5)

    def hybrid_forward(self, F, x):
        return self.dense(F.Activation(self.body(x) + x, act_type="relu"))


IMAGES = (6, 8, 6, 6)


@pytest.fixture
def block():
    net = Residual(prefix="net_")
    net.initialize(init="xavier")
    net(nd.array(data_of(IMAGES)))
    for parameter in net.collect_params(".*running_var").values():
        parameter.set_data(nd.array(RNG.uniform(0.5, 2, parameter.shape)))
    return net


@pytest.mark.parametrize("calib_mode", ["none", "naive", "entropy"])
@pytest.mark.parametrize("granularity", ["tensor-wise", "channel-wise"])
def test_quantize_net(block, calib_mode, granularity):
    data = data_of(IMAGES)
    loader = gluon.data.DataLoader(gluon.data.ArrayDataset(data, numpy.zeros(len(data))), batch_size=3)
    made = quant.quantize_net_v2(
        block, calib_mode=calib_mode, calib_data=loader, quantize_granularity=granularity
    )
    expected, got = block(nd.array(data)).asnumpy(), made(nd.array(data)).asnumpy()
    assert abs(got - expected).max() < (0.15 if calib_mode == "entropy" else 0.05) * abs(expected).max()


def test_a_quantized_net_is_exported(block, tmp_path):
    data = nd.array(data_of(IMAGES))
    made = quant.quantize_net_v2(block, calib_mode="naive", calib_data=io.NDArrayIter(data, batch_size=3))
    expected = made(data).asnumpy()
    made.hybridize(static_alloc=True, static_shape=True)
    made.export(str(tmp_path / "net"))
    loaded = gluon.SymbolBlock.imports(
        str(tmp_path / "net-symbol.json"), ["data"], str(tmp_path / "net-0000.params")
    )
    numpy.testing.assert_array_equal(loaded(data).asnumpy(), expected)


def test_layers_that_a_net_excludes(block):
    shapes = [io.DataDesc("data", IMAGES)]
    made = quant.quantize_net_v2(block, data_shapes=shapes, exclude_layers_match=["conv"])
    text = made._cached_graph[1].tojson()
    assert "_byte_dense" in text and "_byte_convolution" not in text
    made = quant.quantize_net_v2(block, data_shapes=shapes, exclude_operators=["FullyConnected", "BatchNorm"])
    assert "_byte" not in made._cached_graph[1].tojson()
    with pytest.warns(DeprecationWarning):
        made = quant.quantize_net(block, data_shapes=shapes)
    assert "_byte_convolution" in made._cached_graph[1].tojson()


def test_ranges_of_rows_that_differ_much():
    net = gluon.nn.Dense(3, in_units=4)
    net.initialize()
    weight = numpy.array([[1e-3, -2e-3, 1e-3, 0], [100, -50, 25, 10], [0, 0, 0, 0]], "float32")
    net.weight.set_data(nd.array(weight))
    data = data_of((16, 4))
    made = quant.quantize_net_v2(net, calib_mode="naive", calib_data=io.NDArrayIter(data, batch_size=16))
    expected, got = data @ weight.T, made(nd.array(data)).asnumpy()
    assert (abs(got - expected).max(axis=0) <= 0.03 * abs(expected).max(axis=0)).all()


# --- what cannot be done ------------------------------------------------------------------------------------


def test_words_that_are_unknown(small):
    net, arguments, auxiliary, data = small
    for keywords, text in (
        ({"calib_mode": "best"}, "unknown calibration mode best"),
        ({"quantized_dtype": "int4"}, "unknown quantized_dtype int4"),
        ({"quantize_mode": "some"}, "unknown quantize_mode some"),
        ({"quantize_granularity": "row"}, "unknown quantize_granularity row"),
        ({"excluded_sym_names": "conv"}, "excluded_sym_names must be a list"),
    ):
        with pytest.raises(ValueError, match=text):
            quant.quantize_model(net, arguments, auxiliary, **{"calib_mode": "none", **keywords})


def test_calibration_without_data(small, block):
    net, arguments, auxiliary, data = small
    with pytest.raises(ValueError, match="calib_data must be provided"):
        quant.quantize_model(net, arguments, auxiliary)
    with pytest.raises(ValueError, match="must be of DataIter type"):
        quant.quantize_model(net, arguments, auxiliary, calib_data=[data])
    with pytest.raises(ValueError, match="calib_data must be provided"):
        quant.quantize_net_v2(block, calib_mode="naive", data_shapes=[io.DataDesc("data", IMAGES)])
    with pytest.raises(ValueError, match="data_shapes required"):
        quant.quantize_net_v2(block)
    with pytest.raises(ValueError, match="has no batches"):
        quant.quantize_net_v2(block, calib_mode="naive", calib_data=[])
    with pytest.raises(TypeError, match="not a valid iterator"):
        quant.quantize_net_v2(block, calib_mode="naive", calib_data=3)


class Empty(io.DataIter):
    provide_data = [io.DataDesc("data", SHAPE)]
    provide_label = []

    def reset(self):
        pass

    def next(self):
        raise StopIteration


def test_calibration_without_examples(small):
    net, arguments, auxiliary, _ = small
    with pytest.raises(ValueError, match="has no batches"):
        quant.quantize_model(net, arguments, auxiliary, calib_data=Empty(4))
    made, _, _, collector = quant.quantize_graph(net, arguments, auxiliary)
    with pytest.raises(ValueError, match="has seen no layers"):
        quant.calib_graph(made, arguments, auxiliary, collector)
    with pytest.raises(ValueError, match="please set calibration mode"):
        quant.calib_graph(made, arguments, auxiliary, collector, calib_mode="none")


def test_elements_that_are_not_finite(small):
    net, arguments, auxiliary, data = small
    spoilt = data.copy()
    spoilt[1, 2, 3, 4] = numpy.nan
    for calib_mode in ("naive", "entropy"):
        with pytest.raises(ValueError, match="data has elements that are nan"):
            quant.quantize_model(
                net,
                arguments,
                auxiliary,
                calib_mode=calib_mode,
                calib_data=io.NDArrayIter(spoilt, batch_size=4),
            )
    arguments["conv_bias"][0] = numpy.inf
    with pytest.raises(ValueError, match="the parameter conv_bias has elements that are nan or infinite"):
        quant.quantize_model(net, arguments, auxiliary, calib_mode="none")


def test_ranges_that_are_none(small):
    net, arguments, _, _ = small
    made, _ = quantization._quantize_symbol(net, cpu(), offline_params=list(arguments))
    for ends in ((0.0, numpy.inf), (numpy.nan, 1.0)):
        with pytest.raises(ValueError, match="range of data must be two finite numbers"):
            quantization._calibrate_quantized_sym(made, {"data": ends})


def test_a_network_without_layers_to_quantize():
    net = sym.sigmoid(sym.var("data"))
    made, named, _ = quant.quantize_model(net, {}, {}, calib_mode="none")
    assert made.tojson() == net.tojson() and named == {}
    for mode in ("naive", "entropy"):
        data = io.NDArrayIter(data_of((4, 2)), batch_size=4)
        with pytest.warns(UserWarning, match="nothing in the network is quantized"):
            made, named, _ = quant.quantize_model(net, {}, {}, calib_mode=mode, calib_data=data)
        assert made.tojson() == net.tojson() and named == {}


def test_what_is_logged(small, caplog):
    net, arguments, auxiliary, data = small
    logger = logging.getLogger("quantization")
    with caplog.at_level(logging.INFO, "quantization"):
        quant.quantize_model(
            net, arguments, auxiliary, calib_mode="naive", calib_data=io.NDArrayIter(data, batch_size=2),
            num_calib_examples=2, logger=logger,
        )  # fmt: skip
    assert "Collected statistics from 1 batches with 2 examples" in caplog.text
    assert "Quantizing parameters" in caplog.text
