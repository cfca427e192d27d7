"""contrib.amp: lists, casts in graphs, converted networks; training with casts in a process of its own."""

import collections
import json
import subprocess
import sys

import numpy as np
import pytest

import headrace as mx
from headrace import gluon
from headrace.gluon import nn
from headrace.mxnet.contrib import amp

BFLOAT16 = np.dtype([("bfloat16", np.uint16)])


def nodes_of(symbol):
    """(operator, name, names of the inputs, attributes) of the nodes that are no variables."""
    nodes = json.loads(symbol.tojson(remove_amp_cast=False))["nodes"]
    return [
        (node["op"], node["name"], [nodes[one[0]]["name"] for one in node["inputs"]], node.get("attrs", {}))
        for node in nodes
        if node["op"] != "null"
    ]


def network():
    """A dense layer, BatchNorm, relu, and a softmax beside which the input is added."""
    x, w = mx.sym.var("x"), mx.sym.var("w")
    out = mx.sym.FullyConnected(x, w, num_hidden=3, no_bias=True, name="fc")
    out = mx.sym.Activation(mx.sym.BatchNorm(out, name="bn"), act_type="relu", name="relu")
    return mx.sym.elemwise_add(mx.sym.softmax(out, name="soft"), x, name="sum")


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", BFLOAT16])
def test_no_operator_is_in_two_lists(dtype):
    found = [*amp.list_lp16_ops(dtype), *amp.list_fp32_ops(dtype), *amp.list_lp16_fp32_ops(dtype)]
    found += amp.list_widest_type_cast(dtype)
    found += [name for name, _, _ in amp.list_conditional_fp32_ops(dtype)]
    assert [name for name, count in collections.Counter(found).items() if count > 1] == []
    assert "Convolution" in amp.list_lp16_ops(dtype) and "softmax" in amp.list_fp32_ops(dtype)
    assert "BatchNorm" in amp.list_lp16_fp32_ops(dtype)
    assert "SoftmaxOutput" in amp.list_loss_output_functions(dtype)


@pytest.mark.parametrize(
    "given, wanted",
    [
        ("float32", "float16"),
        ("bfloat16", "float16"),
        ("float64", "float64"),
        ("int32", "int32"),
        ("bool", "bool"),
    ],
)
def test_casts_leave_indices_masks_and_doubles_alone(given, wanted):
    assert mx.nd.amp_cast(mx.nd.array([1, 0], dtype=given), dtype="float16")._dtype_name == wanted


@pytest.mark.parametrize(
    "given, narrow, wanted",
    [
        (["float16", "float32"], False, ["float32", "float32"]),
        (["float16", "float32"], True, ["float16", "float16"]),
        (["int32", "float16", "float32"], False, ["int32", "float32", "float32"]),
        (["float16", "int64"], False, ["float16", "int64"]),
        (["int32", "int8"], False, ["int32", "int8"]),
    ],
)
def test_inputs_of_one_dtype_are_the_floats(given, narrow, wanted):
    arrays = [mx.nd.array([1], dtype=dtype) for dtype in given]
    results = mx.nd.amp_multicast(*arrays, num_outputs=len(arrays), cast_narrow=narrow)
    assert [one._dtype_name for one in results] == wanted
    names = [f"x{i}" for i in range(len(given))]
    symbol = mx.sym.amp_multicast(*map(mx.sym.var, names), num_outputs=len(arrays), cast_narrow=narrow)
    results = symbol.eval(**dict(zip(names, arrays)))
    assert [one._dtype_name for one in results] == wanted


def test_other_dtypes_are_refused():
    for call in (amp.list_fp32_ops, amp.init, lambda dtype: amp.convert_symbol(network(), dtype)):
        with pytest.raises(AssertionError, match="float16 and bfloat16"):
            call("float32")


def test_casts_of_a_graph():
    # MXNet 1.9.1 makes the same nodes.
    converted = amp.convert_symbol(network(), "bfloat16", data_names=["x"])
    assert [(op, inputs) for op, _, inputs, _ in nodes_of(converted)] == [
        ("amp_cast", ["x"]),
        ("amp_cast", ["w"]),
        ("FullyConnected", ["x_amp_cast_bfloat16", "w_amp_cast_bfloat16"]),
        ("BatchNorm", ["fc", "bn_gamma", "bn_beta", "bn_moving_mean", "bn_moving_var"]),
        ("Activation", ["bn"]),
        ("amp_cast", ["relu"]),
        ("softmax", ["relu_output_amp_cast_float32"]),
        ("amp_cast", ["x"]),
        ("elemwise_add", ["soft", "x_amp_cast_float32"]),
    ]
    dtypes = {name: texts.get("__dtype__") for name, texts in converted.attr_dict().items()}
    assert dtypes["w"] == "0" and "x" not in dtypes
    assert converted.list_auxiliary_states() == ["bn_moving_mean", "bn_moving_var"]
    assert "amp_cast" not in converted.tojson()

    converted = amp.convert_symbol(network(), "bfloat16", data_names=["x"], cast_optional_params=True)
    assert ("FullyConnected", ["x_amp_cast_bfloat16", "w"]) in [node[::2] for node in nodes_of(converted)[:2]]
    assert converted.attr_dict()["w"]["__dtype__"] == "12"


def test_lists_and_names_of_the_program():
    x, y = mx.sym.var("x"), mx.sym.var("y")
    dense = mx.sym.FullyConnected(x, y, num_hidden=10, no_bias=True, name="fc")
    unchanged = amp.convert_symbol(
        dense,
        target_dtype_ops=[],
        fp32_ops=["sin"],
        conditional_fp32_ops=[("FullyConnected", "no_bias", ["False"])],
    )
    # The output is cast to float32, for nothing says what dtype it has.
    assert [node[0] for node in nodes_of(unchanged)] == ["FullyConnected", "amp_cast"]
    conditional = [("FullyConnected", "no_bias", ["True"])]
    wide = amp.convert_symbol(dense, target_dtype_ops=[], fp32_ops=["sin"], conditional_fp32_ops=conditional)
    assert [node[3].get("dtype") for node in nodes_of(wide)] == ["float32", "float32", None]
    excluded = amp.convert_symbol(dense, excluded_sym_names=["fc"])
    assert [node[0] for node in nodes_of(excluded)] == ["FullyConnected"]

    product = mx.sym.elemwise_mul(dense, mx.sym.var("z"), name="product")
    mixed = amp.convert_symbol(product, target_dtype_ops=["FullyConnected"], fp32_ops=["sin"])
    assert [node[0] for node in nodes_of(mixed)[3:]] == ["amp_multicast", "elemwise_mul", "amp_cast"]


@pytest.mark.parametrize(
    "lists",
    [
        {"target_dtype_ops": ["FullyConnected"], "fp32_ops": ["FullyConnected"]},
        {"target_dtype_ops": ["FullyConnected"], "fp32_ops": ["elemwise_add"]},
        {"fp32_ops": ["Activation"], "conditional_fp32_ops": [("Activation", "act_type", ["selu"])]},
        {"target_dtype_ops": ["Activation"], "conditional_fp32_ops": [("Activation", "act_type", ["selu"])]},
        {"fp32_ops": "sin"},
        {"conditional_fp32_ops": [("Activation", "act_type", "selu")]},
        {"excluded_sym_names": "fc"},
    ],
)
def test_refused_lists(lists):
    with pytest.raises(AssertionError):
        amp.convert_symbol(network(), **lists)


def test_inputs_take_the_dtype_of_all_their_casts():
    data = mx.sym.var("data")
    casts = [mx.sym.amp_cast(data, dtype=dtype) for dtype in ("float16", "float32", "float16")]
    for chosen, expected in (((0, 1), "0"), ((0, 2), "2")):
        group = mx.sym.Group([casts[i] for i in chosen])
        made = amp.convert_symbol(group, data_names=[], cast_optional_params=True)
        assert made.attr_dict()["data"]["__dtype__"] == expected


def small_network():
    net = nn.HybridSequential()
    with net.name_scope():
        net.add(nn.Conv2D(4, 3, activation="relu"), nn.BatchNorm(), nn.Dense(3))
    net.initialize(mx.init.Xavier())
    net.hybridize()
    return net


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("cast", [False, True])
def test_converted_blocks(dtype, cast):
    net = small_network()
    x = mx.nd.random.uniform(shape=(2, 1, 6, 6))
    with pytest.raises(RuntimeError, match="call block.hybridize"):
        amp.convert_hybrid_block(net, dtype)
    expected = net(x).asnumpy()
    made = amp.convert_hybrid_block(net, dtype, cast_optional_params=cast)
    found = made(x)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found.asnumpy(), expected, rtol=0.05, atol=0.05)
    assert not np.array_equal(found.asnumpy(), expected)
    dtypes = {name.rpartition("_")[2]: one.dtype for name, one in made.collect_params().items()}
    assert dtypes["weight"] == (dtype if cast else "float32") and dtypes["gamma"] == "float32"


def test_converted_modules():
    dense = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=3, name="fc")
    symbol = mx.sym.SoftmaxOutput(mx.sym.FullyConnected(dense, num_hidden=2, name="last"), name="softmax")
    module = mx.mod.Module(symbol)
    module.bind([("data", (4, 5))], [("softmax_label", (4,))])
    module.init_params(mx.init.Xavier())
    made, args, states = amp.convert_model(
        symbol, *module.get_params(), "bfloat16", cast_optional_params=True
    )
    assert args["fc_weight"]._dtype_name == "bfloat16" and not states
    assert module.get_params()[0]["fc_weight"]._dtype_name == "float32"

    other = mx.mod.Module(made)
    other.bind([("data", (4, 5))], [("softmax_label", (4,))])
    other.set_params(args, states)
    batch = mx.io.DataBatch([mx.nd.random.uniform(shape=(4, 5))], [mx.nd.zeros(4)])
    for one in (module, other):
        one.forward(batch, is_train=False)
    results = [one.get_outputs()[0].asnumpy() for one in (module, other)]
    np.testing.assert_allclose(*results, atol=0.02)


def test_converted_buckets():
    def generate(key):
        dense = mx.sym.FullyConnected(mx.sym.mean(mx.sym.var("data"), axis=1), num_hidden=3, name="fc")
        return mx.sym.SoftmaxOutput(dense, name="softmax"), ["data"], ["softmax_label"]

    def batch(length):
        shape = (4, length, 5)
        described = {"provide_data": [("data", shape)], "provide_label": [("softmax_label", (4,))]}
        return mx.io.DataBatch([mx.nd.ones(shape)], [mx.nd.zeros(4)], bucket_key=length, **described)

    module = mx.mod.BucketingModule(generate, default_bucket_key=7)
    module.bind([("data", (4, 7, 5))], [("softmax_label", (4,))])
    module.init_params(mx.init.Xavier())
    made = amp.convert_bucketing_module(module, "bfloat16", cast_optional_params=True)
    made.bind([("data", (4, 7, 5))], [("softmax_label", (4,))])
    for length in (7, 3):
        results = []
        for one in (module, made):
            one.forward(batch(length), is_train=False)
            results.append(one.get_outputs()[0].asnumpy())
        np.testing.assert_allclose(*results, atol=0.02)
    assert made.get_params()[0]["fc_weight"]._dtype_name == "bfloat16"


def test_training_needs_init():
    net = small_network()
    net(mx.nd.ones((1, 1, 6, 6)))
    trainer = gluon.Trainer(net.collect_params(), "sgd")
    with pytest.raises(AssertionError, match=r"did you forget to call amp.init\(\)"):
        amp.init_trainer(trainer)
    with pytest.raises(AssertionError, match=r"did you forget to call amp.init_trainer\(\)"):
        amp.scale_loss(mx.nd.ones(1), trainer).__enter__()
    for wrong in (mx.optimizer.SGD(), None):
        with pytest.raises(TypeError):
            amp.unscale(wrong)


def test_loss_scales():
    net = nn.Dense(1, in_units=1)
    net.initialize()
    params = list(net.collect_params().values())
    scaler = amp.loss_scaler.LossScaler()
    params[0].grad()[:] = np.inf
    assert scaler.has_overflow(params) and scaler.loss_scale == 2**16
    params[0].grad()[:] = 1
    assert not scaler.has_overflow(params) and scaler.loss_scale == 2**15
    scaler._unskipped = 1999
    assert not scaler.has_overflow(params) and not scaler.has_overflow(params)
    assert scaler.loss_scale == 2**16
    scaler._scale_seq_len, scaler._max_loss_scale = 3, 2.0**16.5
    scales = [(scaler.has_overflow(params), scaler._next_loss_scale) for _ in range(5)]
    assert scales == [(False, 2**16), (False, 2**16.5)] + [(False, 2**16.5)] * 3


PROGRAM = """
import sys
import numpy as np
import headrace as mx
from headrace import autograd, gluon, nd
from headrace.gluon import nn
from headrace.mxnet.contrib import amp

low = sys.argv[1]
amp.init(low)
amp.init("float16")  # does nothing
dtype = lambda array: array._dtype_name

dense = nd.FullyConnected(nd.ones((2, 3)), nd.ones((4, 3)), num_hidden=4, no_bias=True)
wide = nd.ones((2, 4))
assert dtype(dense) == dtype(nd.relu(dense)) == dtype(dense + dense) == low
beside_numbers = "float32" if low == "bfloat16" else low  # as MXNet's lists have it
for one in (dense + 1, 2 * dense, 1 - dense, dense / 2, -dense, dense > 1, nd.maximum(dense, 0),
            nd.add(dense, 1)):
    assert dtype(one) == beside_numbers, one
scaled = nd.FullyConnected(nd.ones((1, 256)), nd.ones((1, 256)), num_hidden=1, no_bias=True) + 1
assert scaled.astype("float32").asscalar() == 257
for one in (dense - wide, wide * dense, dense**2, nd.softmax(dense), dense.softmax(), nd.op.softmax(dense),
            nd.concat(dense, wide, dim=0), nd.broadcast_add(dense, wide), nd.linalg.gemm2(dense, dense.T),
            nd.Activation(dense, act_type="softrelu"), nd.sum(dense)):
    assert dtype(one) == "float32", one
assert dtype(nd.softmax(nd.ones((2, 2), dtype="float64"))) == "float64"
assert (nd.argmax(nd.array([1, 3, 2]), axis=0)).asscalar() == 1
assert dtype(mx.np.dot(mx.np.ones((2, 2)), mx.np.ones((2, 2)))) == "float32"

symbol = mx.sym.FullyConnected(mx.sym.var("x"), num_hidden=3, name="fc")
assert symbol.list_arguments() == ["x", "fc_weight", "fc_bias"]
assert symbol.get_children().list_outputs() == ["amp_cast0_output", "amp_cast1_output", "amp_cast2_output"]
assert mx.sym.BatchNorm(symbol, name="bn").list_auxiliary_states() == ["bn_moving_mean", "bn_moving_var"]
assert ("amp_cast" in str((mx.sym.var("x") + 1).get_children())) == (low == "bfloat16")
assert "amp_multicast" in (symbol + mx.sym.var("z")).get_children().list_outputs()[0]

random = np.random.RandomState(0)
data, labels = nd.array(random.randn(16, 1, 8, 8)), nd.array(random.randint(0, 3, 16))
measure = gluon.loss.SoftmaxCrossEntropyLoss()
results = []
for hybridize in (False, True):
    mx.random.seed(0)
    net = nn.HybridSequential()
    net.add(nn.Conv2D(4, 3, in_channels=1), nn.BatchNorm(in_channels=4), nn.Dense(3, in_units=144))
    net.initialize(mx.init.Xavier())
    if hybridize:
        net.hybridize()
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.05})
    amp.init_trainer(trainer)
    for step in range(20):
        with autograd.record():
            output = net(data)
            loss = measure(output, labels)
            with amp.scale_loss(loss, trainer) as scaled:
                autograd.backward(scaled)
        if step == 12:
            amp.unscale(trainer)
            assert abs(net[2].weight.grad().asnumpy()).max() < 100
        trainer.step(16)
    assert dtype(output) == low and dtype(loss) == dtype(net[2].weight.data()) == "float32"
    results.append(loss.mean().asscalar())
assert results[0] == results[1] < 0.5, results

before = net[2].weight.data().asnumpy()
with autograd.record():
    with amp.scale_loss(measure(net(data), labels) * np.inf, trainer) as scaled:
        scaled.backward()
scale = trainer._amp_loss_scaler.loss_scale
trainer.step(16)
assert (net[2].weight.data().asnumpy() == before).all()
assert trainer._amp_loss_scaler._next_loss_scale == scale / 2
"""


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_training(dtype):
    subprocess.run([sys.executable, "-c", PROGRAM, dtype], check=True, timeout=120)
