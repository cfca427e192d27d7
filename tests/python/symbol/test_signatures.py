"""Nodes of symbols: which inputs become variables, what inputs and outputs are called, hidden attributes."""

import json
import threading

import pytest

import headrace as mx
from headrace import nd, sym


@pytest.fixture(autouse=True)
def fresh_names():
    with mx.name.NameManager():
        yield


@pytest.fixture
def x():
    return sym.var("x")


INPUTS = [
    (lambda x: sym.UpSampling(x, scale=2, sample_type="bilinear", num_filter=2, name="n"), ["x", "n_weight"]),
    (lambda x: sym.UpSampling(x, scale=2, sample_type="nearest", name="n"), ["x"]),
    (lambda x: sym.UpSampling(scale=2, sample_type="nearest", num_args=2, name="n"), ["n_arg0", "n_arg1"]),
    (lambda x: sym.UpSampling(data=x, weight=sym.var("w"), scale=2, sample_type="bilinear"), ["x", "w"]),
    (lambda x: sym.softmax(x, use_length=True, name="n"), ["x", "n_length"]),
    (lambda x: sym.softmax(x, name="n"), ["x"]),
    (lambda x: sym.Concat(x, num_args=2, name="n"), ["x", "n_arg1"]),
    (lambda x: sym.Concat(x, arg1=sym.var("y")), ["x", "y"]),
    (lambda x: sym.add_n(num_args=2, name="n"), ["n_arg0", "n_arg1"]),
    (lambda x: sym.stack(x, num_args=3, name="n"), ["x", "n_arg1", "n_arg2"]),
    (lambda x: sym.Crop(x, h_w=(1, 1), num_args=2, name="n"), ["x", "n_arg1"]),
    (lambda x: sym.amp_multicast(x, num_outputs=2, name="n"), ["x", "n_data_1"]),
    (lambda x: sym.multi_sum_sq(x, num_arrays=2, name="n"), ["x", "n_array_1"]),
    (lambda x: sym.SequenceMask(x, use_sequence_length=True, name="n"), ["x", "n_sequence_length"]),
    (lambda x: sym.LeakyReLU(x, act_type="prelu", name="n"), ["x", "n_gamma"]),
]


@pytest.mark.parametrize("make, names", INPUTS)
def test_inputs_that_become_variables(make, names, x):
    assert make(x).list_arguments() == names


def test_shapes_of_inputs_that_were_made(x):
    up = sym.UpSampling(x, scale=2, sample_type="bilinear", num_filter=2, name="up")
    assert up.infer_shape(x=(1, 2, 3, 3)) == ([(1, 2, 3, 3), (2, 1, 4, 4)], [(1, 2, 6, 6)], [])


def test_wrong_numbers_of_inputs(x):
    with pytest.raises(mx.MXNetError, match="Concat: 2 inputs are taken, got 3"):
        sym.Concat(x, x, x, num_args=2)
    for function in (sym.Concat, sym.add_n, sym.stack):
        with pytest.raises(
            mx.MXNetError, match="at least one input is needed; give some, or say how many in num_args"
        ):
            function()
    with pytest.raises(mx.MXNetError, match="more than the 16384 inputs"):
        sym.add_n(num_args=2**40)
    for function in (sym.preloaded_multi_sgd_update, sym.preloaded_multi_mp_sgd_mom_update):
        with pytest.raises(mx.MXNetError, match="inputs, more than the 16384 that a node may have"):
            function(num_weights=2**31 - 1)
    with pytest.raises(mx.MXNetError, match="n_nope not found"):
        sym.Concat(x, nope=x, name="n")


def test_what_variables_start_from(x):
    norm = sym.BatchNorm(x, moving_mean=sym.var("mean"), momentum=0.5, name="bn")
    attributes = norm.attr_dict()
    assert attributes["mean"] == {"__init__": '["zero", {}]'}
    assert attributes["bn_moving_var"] == {"__init__": '["one", {}]', "momentum": "0.5"}
    own = sym.BatchNorm(x, moving_mean=sym.var("mean", init="own"), name="bn").attr_dict()
    assert own["mean"] == {"__init__": "own"}
    gamma = sym.LeakyReLU(x, act_type="prelu", name="n").attr_dict()["n_gamma"]
    assert gamma["__init__"] == '["Constant", {"value": 0.25}]'
    weight = sym.UpSampling(x, scale=2, sample_type="bilinear", num_filter=2, name="n").attr_dict()[
        "n_weight"
    ]
    assert weight["__init__"] == '["bilinear", {}]'


def test_hidden_attributes_as_keywords(x):
    layer = sym.FullyConnected(x, num_hidden=2, name="fc", lr_mult=2.0, ctx_group="a", force_mirroring=True,
                               __mood__=3)  # fmt: skip
    hidden = {"__lr_mult__": "2.0", "__ctx_group__": "a", "__force_mirroring__": "True", "__mood__": "3"}
    for name in ("fc", "fc_weight", "fc_bias"):
        texts = layer.attr_dict()[name]
        assert {key: texts[key] for key in hidden} == hidden
        assert (texts["lr_mult"], texts["num_hidden"]) == ("2.0", "2")
    assert "x" not in layer.attr_dict()
    assert sym.exp(x, wd_mult=0).attr("__wd_mult__") == "0"
    assert sym.broadcast_add(x, 2, lr_mult=3).attr("lr_mult") == "3"
    given = sym.FullyConnected(x, num_hidden=2, lr_mult=3, attr={"lr_mult": "5", "__wd_mult__": "7"})
    assert (given.attr("lr_mult"), given.attr("wd_mult")) == ("3", "7")
    loaded = sym.load_json(layer.tojson())
    assert loaded.attr_dict() == layer.attr_dict()


def test_hidden_attributes_of_inputs_belong_to_variables(x):
    for key in ("weight_lr_mult", "bias_wd_mult"):
        with pytest.raises(mx.MXNetError, match=rf"{key} is no longer .* say it to the variable"):
            sym.FullyConnected(x, num_hidden=2, **{key: 2})
    with pytest.raises(mx.MXNetError, match="Cannot find argument 'mood'"):
        sym.FullyConnected(x, num_hidden=2, attr={"mood": "3"})


def test_operators_without_parameters_keep_texts_of_the_program(x):
    with mx.AttrScope(mood="good"):
        layer = sym.exp(x, name="e", attr={"kind": "warm"})
    assert layer.attr_dict() == {"e": {"mood": "good", "kind": "warm"}}
    assert sym.load_json(layer.tojson()).attr_dict() == layer.attr_dict()
    assert layer.eval(x=nd.zeros((2,)))[0].asnumpy().tolist() == [1, 1]


OUTPUTS = [
    (lambda x: sym.BatchNorm(x, output_mean_var=True, name="n"), ["n_output", "n_mean", "n_var"]),
    (lambda x: sym.LayerNorm(x, output_mean_var=True, name="n"), ["n_output", "n_mean", "n_std"]),
    (lambda x: sym.GroupNorm(x, output_mean_var=True, name="n"), ["n_output", "n_mean", "n_std"]),
    (lambda x: sym.BatchNorm(x, name="n"), ["n_output"]),
    (lambda x: sym.SliceChannel(x, num_outputs=2, name="n"), ["n_output0", "n_output1"]),
    (lambda x: sym.make_loss(x, name="n"), ["n_loss"]),
    (lambda x: sym.sort(x, name="n"), ["n_output0"]),
    (lambda x: sym.topk(x, ret_typ="value", name="n"), ["n_output0"]),
    (lambda x: sym.topk(x, name="n"), ["n_output"]),
]


@pytest.mark.parametrize("make, names", OUTPUTS)
def test_names_of_outputs(make, names, x):
    made = make(x)
    assert made.list_outputs() == names
    for i, name in enumerate(names):
        assert made.get_internals()[name].list_outputs() == made[i].list_outputs() == [name]


COUNTED = {
    1: [
        lambda x: sym.exp(x),
        lambda x: sym.Pooling(x, kernel=(2, 2), pool_type="avg"),
        lambda x: sym.Pooling(x, kernel=(2, 2), pool_type="lp", p_value=2),
        lambda x: sym.Pooling(x, kernel=(2, 2), layout="NHWC"),
        lambda x: sym.Pooling(x, global_pool=True),
        lambda x: sym.topk(x),
    ],
    2: [
        lambda x: sym.Pooling(x, kernel=(2, 2)),
        lambda x: sym.Pooling(x, kernel=(2, 2), layout="NCHW", global_pool=True),
        lambda x: sym.Dropout(x),
        lambda x: sym.LRN(x, nsize=3),
        lambda x: sym.L2Normalization(x),
        lambda x: sym.sort(x),
        lambda x: sym.topk(x, ret_typ="value"),
    ],
    3: [lambda x: sym.BatchNorm(x), lambda x: sym.LayerNorm(x)],
}


@pytest.mark.parametrize("count, make", [(count, make) for count in COUNTED for make in COUNTED[count]])
def test_outputs_that_files_count(count, make, x):
    pointers = json.loads(make(x).tojson())["node_row_ptr"]
    assert pointers[-1] - pointers[-2] == count


BOUNDS = [
    lambda x: sym.Dropout(x, p=1.5),
    lambda x: sym.Dropout(x, p=-0.5),
    lambda x: sym.Embedding(x, input_dim=0, output_dim=2),
    lambda x: sym.Embedding(x, input_dim=2, output_dim=-1),
    lambda x: sym.FullyConnected(x, num_hidden=0),
    lambda x: sym.FullyConnected(x, num_hidden=2**40),
    lambda x: sym.Convolution(x, kernel=(3, 3), num_filter=0),
    lambda x: sym.SoftmaxOutput(x, smooth_alpha=2),
    lambda x: sym.SliceChannel(x, num_outputs=0),
    lambda x: sym.UpSampling(x, scale=0, sample_type="nearest"),
    lambda x: sym.Crop(x, x, x, x),
    lambda x: sym.contrib.BilinearResize2D(x, height=0, width=2),
]


@pytest.mark.parametrize("make", BOUNDS)
def test_numbers_out_of_bounds(make, x):
    with pytest.raises(mx.MXNetError, match="must be from"):
        make(x)


def test_bounds_in_files(x):
    graph = json.loads(sym.Dropout(x, p=0.5).tojson())
    graph["nodes"][-1]["attrs"]["p"] = "1.5"
    with pytest.raises(
        mx.MXNetError, match="symbol file: node dropout0: Dropout: p must be from 0 to 1, got 1.5"
    ):
        sym.load_json(json.dumps(graph))
    for function in (sym.SequenceMask, sym.SequenceLast, sym.SequenceReverse):
        with pytest.raises(mx.MXNetError, match="axis must be 0"):
            function(x, axis=3).infer_shape(x=(2, 3, 4))


@pytest.mark.parametrize(
    "kernel", ["(3,3", "3,3", "(3,,3)", "(3,3))", "((3,3))", "(3,3]", "", "3 3", "(a,b)", "(3,3)x", "[3,3"]
)
def test_lists_in_files_that_are_none(kernel, x):
    graph = json.loads(sym.Convolution(x, kernel=(3, 3), num_filter=2).tojson())
    graph["nodes"][-1]["attrs"]["kernel"] = kernel
    with pytest.raises(mx.MXNetError, match="symbol file: node convolution0: .*'kernel' must be"):
        sym.load_json(json.dumps(graph))


@pytest.mark.parametrize("kernel", ["(3,3)", "[3, 3]", "( 3 , 3 )", "(3L, 3L)", "(3, 3,)"])
def test_lists_in_files(kernel, x):
    graph = json.loads(sym.Convolution(x, kernel=(3, 3), num_filter=2).tojson())
    graph["nodes"][-1]["attrs"]["kernel"] = kernel
    assert sym.load_json(json.dumps(graph)).infer_shape(x=(1, 1, 9, 9))[1] == [(1, 2, 7, 7)]


def test_a_file_without_outputs(x):
    graph = json.loads(sym.exp(x).tojson())
    graph["heads"] = []
    with pytest.raises(mx.MXNetError, match='"heads" of the graph names no output'):
        sym.load_json(json.dumps(graph))


def test_casts_of_mixed_precision_stay_out_of_files(x, tmp_path):
    half = sym.amp_cast(x, dtype="float16", name="cast")
    both = sym.amp_multicast(half, sym.var("y"), num_outputs=2, name="both")
    net = both[0] * both[1]
    assert [node["op"] for node in json.loads(net.tojson())["nodes"]] == ["null", "null", "elemwise_mul"]
    kept = [node["op"] for node in json.loads(net.tojson(remove_amp_cast=False))["nodes"]]
    assert kept == ["null", "amp_cast", "null", "amp_multicast", "elemwise_mul"]
    path = str(tmp_path / "net.json")
    for remove in (True, False):
        net.save(path, remove_amp_cast=remove)
        assert sym.load(path).tojson(remove_amp_cast=False) == net.tojson(remove_amp_cast=remove)
    outputs = sym.load_json(sym.Group([half, half * 2]).tojson()).list_outputs()
    assert outputs == ["x", "_mulscalar0_output"]


@pytest.mark.parametrize(("kind", "key"), [(mx.AttrScope, "lr_mult"), (mx.name.Prefix, "a_")])
def test_the_scope_of_a_thread_may_be_set(kind, key):
    """In a thread of its own, where it ends."""
    seen = []

    def run(scope):
        kind.current = scope
        seen.append(kind.current is scope)
        with type(scope)(key) if kind is mx.name.Prefix else kind():
            seen.append(kind.current is not scope)
        seen.append(kind.current is scope)

    before = kind.current
    for text in ("2", "3"):
        scope = kind(**{key: text}) if kind is mx.AttrScope else kind(text)
        thread = threading.Thread(target=run, args=(scope,))
        thread.start()
        thread.join()
    assert seen == [True] * 6
    assert kind.current is before
