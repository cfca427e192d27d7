"""Symbol files with layers that MXNet put together for oneDNN, quantized ones and others."""

import json

import numpy
import processors
import pytest

from headrace import cpu, gluon, nd, sym
from headrace.base import MXNetError

RNG = numpy.random.default_rng(3)


def body_of(symbol):
    graph = json.loads(symbol.tojson())
    return {key: graph[key] for key in ("nodes", "arg_nodes", "node_row_ptr", "heads")}


def file_of(body, arrays, op="_sg_mkldnn_conv", ranged=(), **texts):
    """A graph of one joined layer over variables; `ranged` ones come with the ends of their ranges."""
    ends = [f"{name}_{end}" for name in ranged for end in ("min", "max")]
    names = [*arrays, *ends]
    nodes = [{"op": "null", "name": name, "inputs": []} for name in names]
    inputs = [[k, 0, 0] for k in range(len(names))]
    nodes.append(
        {
            "op": op,
            "name": "joined",
            "attrs": texts,
            "inputs": inputs,
            "subgraphs": [body_of(body)],
        }
    )
    gives_range = "quantized" in texts and "enable_float_output" not in texts
    heads = [[len(names), k, 0] for k in range(3 if gives_range else 1)]
    graph = {
        "nodes": nodes,
        "arg_nodes": list(range(len(names))),
        "node_row_ptr": list(range(len(nodes) + 1)),
        "heads": heads,
        "attrs": {"mxnet_version": ["int", 10901]},
    }
    return json.dumps(graph)


def layer_body(norm=False, total=False, relu=False):
    net = sym.Convolution(sym.var("x"), sym.var("w"), kernel=(3, 3), num_filter=4, no_bias=True, name="conv")
    if norm:
        net = sym.BatchNorm(net, sym.var("g"), sym.var("b"), sym.var("m"), sym.var("v"), fix_gamma=False)
    if total:
        net = sym.elemwise_add(net, sym.var("s"))
    return sym.Activation(net, act_type="relu") if relu else net


def arrays_for(norm, total):
    arrays = {
        "x": RNG.integers(-127, 128, (2, 3, 6, 6)).astype("int8"),
        "w": RNG.normal(0, 0.3, (4, 3, 3, 3)),
    }
    if norm:
        arrays.update(g=RNG.uniform(0.5, 1.5, 4), b=RNG.normal(size=4))
        arrays.update(m=RNG.normal(size=4), v=RNG.uniform(0.5, 2, 4))
    if total:
        arrays["s"] = RNG.integers(0, 256, (2, 4, 4, 4)).astype("uint8")
    return {k: v if v.dtype.kind in "iu" else v.astype("float32") for k, v in arrays.items()}


def run(symbol, arrays):
    states = set(symbol.list_auxiliary_states())
    given = {name: nd.array(value, dtype=value.dtype) for name, value in arrays.items()}
    executor = symbol.bind(
        cpu(),
        {name: value for name, value in given.items() if name not in states},
        grad_req="null",
        aux_states={name: value for name, value in given.items() if name in states},
    )
    return [output.asnumpy() for output in executor.forward()]


def with_ends(arrays, **ranges):
    ends = {}
    for name, (low, high) in ranges.items():
        ends[f"{name}_min"], ends[f"{name}_max"] = numpy.float32([low]), numpy.float32([high])
    return {**arrays, **ends}


@pytest.mark.parametrize("norm", [False, True])
@pytest.mark.parametrize("total", [False, True])
@pytest.mark.parametrize("relu", [False, True])
def test_quantized_convolutions_give_the_bytes_of_what_floats_give(norm, total, relu):
    arrays, body = arrays_for(norm, total), layer_body(norm, total, relu)
    floats = dict(arrays, x=(arrays["x"] / 127.5 * 2).astype("float32"))
    ranges = {"x": (-2, 2)}
    if total:
        floats["s"] = (arrays["s"] / 255.5 * 3).astype("float32")
        ranges["s"] = (0, 3)
    (wanted,) = run(body, floats)
    text = file_of(
        body,
        list(arrays),
        ranged=list(ranges),
        quantized="true",
        min_calib_range="0" if relu else "-6.0",
        max_calib_range="6.0",
    )
    joined = sym.load_json(text)
    assert joined.list_outputs() == ["joined_output", "joined_output_min", "joined_output_max"]
    assert joined.list_auxiliary_states() == (["m", "v"] if norm else [])
    result, low, high = run(joined, with_ends(arrays, **ranges))
    assert result.dtype == ("uint8" if relu else "int8")
    assert (low, high) == (0 if relu else -6, 6)
    unit = 6 / (255.5 if relu else 127.5)
    inside = (wanted > (0 if relu else -6)) & (wanted < 6)
    assert inside.mean() > 0.5 or relu
    assert numpy.abs(result * unit - wanted)[inside].max() < 0.1


def test_weights_are_rounded_for_each_row():
    arrays = {"x": numpy.full((1, 3, 3, 3), 127, "int8"), "w": numpy.zeros((4, 3, 3, 3), "float32")}
    arrays["w"][0, 0, 0, 0], arrays["w"][0, 0, 0, 1] = 100, 0.3
    arrays["w"][1, 0, 0, 0] = 0.3
    text = file_of(
        layer_body(),
        ["x", "w"],
        ranged=["x"],
        quantized="True",
        min_calib_range="-128",
        max_calib_range="127.5",
    )
    result, _, _ = run(sym.load_json(text), with_ends(arrays, x=(-127.5, 127.5)))
    assert result[0, :, 0, 0].tolist() == [127, 38, 0, 0]


def test_layers_without_ranges_give_sums():
    arrays, body = arrays_for(norm=False, total=False), layer_body()
    (wanted,) = run(body, dict(arrays, x=(arrays["x"] / 127.5).astype("float32")))
    joined = sym.load_json(file_of(body, list(arrays), ranged=["x"], quantized="true"))
    sums, low, high = run(joined, with_ends(arrays, x=(-1, 1)))
    assert sums.dtype == "int32"
    assert low == -high
    numpy.testing.assert_allclose(sums * (high / 2147483647), wanted, atol=0.02 * numpy.abs(wanted).max())


def test_rounded_weights_follow_new_values():
    arrays = arrays_for(norm=True, total=False)
    text = file_of(layer_body(norm=True, relu=True), list(arrays), ranged=["x"], quantized="true",
                   min_calib_range="0", max_calib_range="6")  # fmt: skip
    given = {k: nd.array(v, dtype=v.dtype) for k, v in with_ends(arrays, x=(-2, 2)).items()}
    states = {name: given.pop(name) for name in ("m", "v")}
    executor = sym.load_json(text).bind(cpu(), given, grad_req="null", aux_states=states)
    before = [executor.forward()[0].asnumpy() for _ in range(4)]  # some of them with kept copies
    for other in before[1:]:
        numpy.testing.assert_array_equal(other, before[0])
    given["w"][:] = 0
    shifts = arrays["b"] - arrays["m"] * arrays["g"] / numpy.sqrt(arrays["v"] + 1e-3)
    wanted = numpy.clip(numpy.round(shifts * 255.5 / 6), 0, 255)
    after = executor.forward()[0].asnumpy()
    assert numpy.abs(after - wanted.reshape(1, -1, 1, 1)).max() <= 1


def dense_body(relu=False):
    net = sym.FullyConnected(sym.var("x"), sym.var("w"), sym.var("b"), num_hidden=5, name="dense")
    return sym.Activation(net, act_type="relu") if relu else net


def test_quantized_dense_layers_take_bytes_and_give_floats():
    arrays = {
        "x": RNG.integers(0, 256, (2, 8)).astype("uint8"),
        "w": RNG.integers(-127, 128, (5, 8)).astype("int8"),
        "b": RNG.integers(-127, 128, 5).astype("int8"),
    }
    scales = {"x": 4 / 255.5, "w": 1 / 127.5, "b": 2 / 127.5}
    (wanted,) = run(dense_body(), {k: (v * scales[k]).astype("float32") for k, v in arrays.items()})
    text = file_of(
        dense_body(),
        ["x", "w", "b"],
        "_sg_mkldnn_fully_connected",
        ["x", "w", "b"],
        quantized="true",
        enable_float_output="true",
    )
    (result,) = run(sym.load_json(text), with_ends(arrays, x=(0, 4), w=(-1, 1), b=(-2, 2)))
    assert result.dtype == "float32"
    last_bits = 8 * 4 * 2 / 127.5  # of the weights, beside the largest data
    atol = 1e-4 if processors.multiplies_bytes() else last_bits
    numpy.testing.assert_allclose(result, wanted, rtol=1e-4, atol=atol)


def test_layers_that_were_not_quantized_use_their_moving_statistics(tmp_path):
    arrays = arrays_for(norm=True, total=False)
    arrays["x"] = arrays["x"].astype("float32") / 50
    text = file_of(layer_body(norm=True, relu=True), list(arrays), with_bn="true", with_act="true")
    joined = sym.load_json(text)
    (wanted,) = run(layer_body(norm=True, relu=True), arrays)
    numpy.testing.assert_allclose(run(joined, arrays)[0], wanted, rtol=1e-5, atol=1e-5)
    net = gluon.SymbolBlock(joined, [sym.var("x")])
    for name, value in arrays.items():
        if name != "x":
            net.collect_params()[name].shape = value.shape
            net.collect_params()[name].initialize()
            net.collect_params()[name].set_data(nd.array(value))
    numpy.testing.assert_allclose(net(nd.array(arrays["x"])).asnumpy(), wanted, rtol=1e-5, atol=1e-5)
    again = sym.load_json(joined.tojson())
    assert again.tojson() == joined.tojson()
    assert again.attr_dict()["joined"] == {"with_bn": "true", "with_act": "true"}
    numpy.testing.assert_allclose(run(again, arrays)[0], wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("arrays", "ranged", "texts", "message"),
    [
        (["x", "w"], [], {"quantized": "true"}, "has 2 inputs, not the 4"),
        (["x"], [], {}, "has 1 inputs, not the 2"),
        (
            ["x", "w"],
            ["x"],
            {"quantized": "true", "min_calib_range": "a", "max_calib_range": "1"},
            "min_calib_range",
        ),
        (
            ["x", "w"],
            ["x"],
            {"quantized": "true", "min_calib_range": "-1e300", "max_calib_range": "1"},
            "no float32",
        ),
    ],
)
def test_what_does_not_belong_together_is_refused(arrays, ranged, texts, message):
    with pytest.raises(MXNetError, match=f"symbol file: .* joined.*{message}"):
        sym.load_json(file_of(layer_body(), arrays, ranged=ranged, **texts))


def test_bodies_need_one_layer():
    with pytest.raises(MXNetError, match="has no layer in its body"):
        sym.load_json(file_of(sym.var("x") + 1, ["x"]))
    two = sym.Convolution(layer_body(), sym.var("u"), kernel=(1, 1), num_filter=1, no_bias=True)
    with pytest.raises(MXNetError, match="has two layers"):
        sym.load_json(file_of(two, ["x", "w", "u"]))


def test_quantized_bodies_have_one_sum_of_the_layer_and_an_input():
    texts = {"quantized": "true", "min_calib_range": "-1", "max_calib_range": "1"}
    two = layer_body(total=True) + sym.var("t")
    with pytest.raises(MXNetError, match="has two sums in its body"):
        sym.load_json(file_of(two, ["x", "w", "s", "t"], ranged=["x", "s"], **texts))
    behind = sym.elemwise_add(layer_body(), sym.relu(sym.var("s")))
    with pytest.raises(MXNetError, match="has operators in front of its sum"):
        sym.load_json(file_of(behind, ["x", "w", "s"], ranged=["x", "s"], **texts))


def test_bodies_have_no_bodies():
    inner = sym.load_json(file_of(layer_body(), ["x", "w"]))
    with pytest.raises(MXNetError, match="has joined, which has a body itself, in its body"):
        sym.load_json(file_of(inner, ["x", "w"]))


def test_bodies_read_outputs_that_are_there():
    graph = json.loads(file_of(layer_body(relu=True), ["x", "w"]))
    graph["nodes"][-1]["subgraphs"][0]["nodes"][-1]["inputs"][0][1] = 2
    with pytest.raises(MXNetError, match="reads output 2 of conv in its body"):
        sym.load_json(json.dumps(graph))
