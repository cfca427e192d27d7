"""Executors: symbols bound to arrays."""

import re
import warnings

import numpy
import pytest

import headrace as mx
from headrace import nd, sym
from headrace.mxnet import rnn


@pytest.fixture
def product():
    """data * weight + bias"""
    return sym.var("data") * sym.var("weight") + sym.var("bias")


def ones(*names):
    return {name: nd.ones((2,)) for name in names}


@pytest.fixture
def layer():
    return sym.FullyConnected(sym.var("data"), num_hidden=2, name="fc")


def test_forward_and_backward(product):
    arrays = {"data": nd.array([1, 2]), "weight": nd.array([3, 4]), "bias": nd.zeros((2,))}
    grads = {name: nd.zeros((2,)) for name in arrays}
    executor = product.bind(mx.cpu(), arrays, grads)
    (output,) = executor.forward(is_train=True)
    assert output.asnumpy().tolist() == executor.outputs[0].asnumpy().tolist() == [3, 8]
    executor.backward(nd.array([1, 10]))
    assert grads["data"].asnumpy().tolist() == [3, 40]
    assert grads["weight"].asnumpy().tolist() == [1, 20]
    assert grads["bias"].asnumpy().tolist() == [1, 10]
    arrays["data"][:] = 5  # the executor reads the arrays it was given
    assert executor.forward()[0].asnumpy().tolist() == [15, 20]


def test_arguments_as_lists(product):
    executor = product.bind(mx.cpu(), [nd.ones((2,))] * 3, [nd.zeros((2,)), None, nd.zeros((2,))])
    executor.forward(is_train=True)
    executor.backward([nd.ones((2,))])
    assert executor.grad_arrays[1] is None
    assert executor.grad_arrays[0].asnumpy().tolist() == [1, 1]
    with pytest.raises(ValueError, match="number of arguments: 1 and 3"):
        product.bind(mx.cpu(), [nd.ones((2,))])
    with pytest.raises(ValueError, match="key `weight` is missing in `args`"):
        product.bind(mx.cpu(), ones("data", "bias"))
    with pytest.raises(TypeError, match="`args` must be a list or a dictionary of NDArrays, got ndarray for"):
        product.bind(mx.cpu(), [numpy.ones((2,))] * 3)


@pytest.mark.parametrize("as_list", [False, True])
def test_gradient_request_of_each_argument(product, as_list):
    request = ["write", "add", "null"] if as_list else {"data": "write", "weight": "add"}
    executor = product.simple_bind(mx.cpu(), request, data=(2,))
    for array in executor.arg_arrays:
        array[:] = 2
    for _ in range(3):
        executor.forward(is_train=True)
        executor.backward(nd.ones((2,)))
    assert executor.grad_dict["data"].asnumpy().tolist() == [2, 2]
    assert executor.grad_dict["weight"].asnumpy().tolist() == [6, 6]
    assert executor.grad_dict["bias"] is None


def test_the_callers_arrays_stay_off_the_tape(product):
    arrays = ones("data", "weight", "bias")
    executor = product.bind(mx.cpu(), arrays, ones("data", "weight", "bias"))
    executor.forward(is_train=True)
    executor.backward(nd.ones((2,)))
    assert all(array.grad is None for array in arrays.values())


@pytest.fixture
def loss(product):
    return sym.MakeLoss(product, name="loss")


def test_gradients_after_a_forward_in_use(product):
    executor = product.simple_bind(mx.cpu(), data=(2,))
    for array in executor.arg_arrays:
        array[:] = 3
    assert executor.forward(is_train=False)[0].asnumpy().tolist() == [12, 12]
    executor.backward(nd.array([1, 2]))
    assert executor.grad_dict["data"].asnumpy().tolist() == [3, 6]
    executor.backward(nd.array([2, 2]))
    assert executor.grad_dict["data"].asnumpy().tolist() == [6, 6]


def test_gradients_of_statistics_in_use():
    norm = sym.BatchNorm(sym.var("x"), name="bn", fix_gamma=False, eps=0)
    executor = norm.simple_bind(mx.cpu(), x=(2, 1))
    executor.copy_params_from({"bn_gamma": nd.full((1,), 3)}, {"bn_moving_var": nd.full((1,), 4)})
    executor.forward(is_train=False, x=nd.array([[1], [5]]))
    executor.backward(nd.ones((2, 1)), is_train=False)
    assert executor.grad_dict["x"].asnumpy().tolist() == [[1.5], [1.5]]
    assert executor.aux_dict["bn_moving_mean"].asnumpy().tolist() == [0]


def test_gradients_of_random_numbers_in_use():
    noise = sym.var("x") * sym.random.uniform(1, 2, shape=(8,))
    executor = noise.simple_bind(mx.cpu(), x=(8,))
    (drawn,) = executor.forward(is_train=False, x=nd.ones((8,)))
    executor.backward(nd.ones((8,)))
    assert executor.grad_dict["x"].asnumpy().tolist() == drawn.asnumpy().tolist()


@pytest.mark.parametrize("out_grads", [None, [], [None]])
@pytest.mark.parametrize("is_train", [False, True])
def test_backward_needs_gradients_unless_below_a_loss(product, loss, out_grads, is_train):
    bound = {
        name: one.simple_bind(mx.cpu(), data=(2,))
        for name, one in {
            "plain": product,
            "loss": loss,
            "both": sym.Group([loss, product]),
            "swapped": sym.Group([product, loss]),
            "stopped": sym.Group([loss, sym.BlockGrad(product)]),
        }.items()
    }
    for executor in bound.values():
        executor.forward(is_train=is_train, data=nd.full((2,), 3))
    for name in ("plain", "both", "swapped"):
        with pytest.raises(mx.MXNetError, match="_plus.*_output is not the output of a loss"):
            bound[name].backward(out_grads)
    for name in ("loss", "stopped"):
        bound[name].backward(out_grads)
        assert bound[name].grad_dict["weight"].asnumpy().tolist() == [3, 3]
    bound["swapped"].backward(nd.ones((2,)))
    assert bound["swapped"].grad_dict["weight"].asnumpy().tolist() == [6, 6]
    bound["plain"].backward([nd.ones((2,))] * 2)
    assert bound["plain"].grad_dict["weight"].asnumpy().tolist() == [3, 3]
    bound["stopped"].backward([None, nd.ones((7, 7))])


def test_backward_without_gradients_asked_for(product):
    executor = product.simple_bind(mx.cpu(), "null", data=(2,))
    executor.forward(is_train=True)
    executor.backward()
    assert executor.grad_arrays == [None] * 3


def test_outputs_before_forward(layer):
    executor = layer.simple_bind(mx.cpu(), type_dict={"data": "float16"}, data=(3, 4))
    for one in (executor, executor.reshape(data=(5, 4))):
        (output,) = one.outputs
        assert output.shape == (one.arg_dict["data"].shape[0], 2) and output.dtype == numpy.float16
        assert not output.asnumpy().any()
        assert {name: array.shape for name, array in one.output_dict.items()} == {"fc_output": output.shape}
    arrays = [nd.ones((3, 4)), nd.ones((2, 4)), nd.ones((2,))]
    assert layer.bind(mx.cpu(), arrays).outputs[0].shape == (3, 2)


@pytest.mark.parametrize("request_", ["foo", ["write", "foo", "write"], {"data": "foo"}, ["write"]])
def test_gradient_requests_that_are_none(product, request_):
    grads = [nd.zeros((2,))] * 3
    for bind in (
        lambda: product.bind(mx.cpu(), [nd.ones((2,))] * 3, grads, grad_req=request_),
        lambda: product.bind(mx.cpu(), [nd.ones((2,))] * 3, grad_req=request_),
        lambda: product.simple_bind(mx.cpu(), request_, data=(2,)),
    ):
        with pytest.raises(ValueError, match="grad_req"):
            bind()


def test_backward_before_forward(product):
    arrays = {"data": nd.array([1, 2]), "weight": nd.array([3, 4]), "bias": nd.zeros((2,))}
    grads = {name: nd.zeros((2,)) for name in arrays}
    executor = product.bind(mx.cpu(), arrays, grads)
    executor.backward(nd.array([1, 10]))
    assert grads["data"].asnumpy().tolist() == [3, 40]
    product.simple_bind(mx.cpu(), "null", data=(2,)).backward()


def test_auxiliary_states_move_in_training_only():
    norm = sym.BatchNorm(sym.var("data"), name="bn", fix_gamma=False, momentum=0.5)
    executor = norm.simple_bind(mx.cpu(), data=(4, 2))
    assert list(executor.aux_dict) == ["bn_moving_mean", "bn_moving_var"]
    data = numpy.arange(8, dtype="float32").reshape(4, 2)
    executor.copy_params_from({"bn_gamma": nd.ones((2,))}, {"bn_moving_var": nd.ones((2,))})
    executor.forward(data=nd.array(data))
    assert executor.aux_dict["bn_moving_mean"].asnumpy().tolist() == [0, 0]
    executor.forward(is_train=True)
    numpy.testing.assert_allclose(
        executor.aux_dict["bn_moving_mean"].asnumpy(), data.mean(axis=0) / 2, rtol=1e-5
    )


def test_forward_takes_new_values(layer):
    executor = layer.simple_bind(mx.cpu(), data=(3, 4))
    executor.copy_params_from({"fc_weight": nd.ones((2, 4))})
    assert executor.forward(data=nd.ones((3, 4)))[0].asnumpy().tolist() == [[4, 4]] * 3
    assert list(executor.output_dict) == ["fc_output"]
    with pytest.raises(TypeError, match="Unknown argument nope"):
        executor.forward(nope=nd.ones((1,)))
    with pytest.raises(
        ValueError, match=r"Shape not match! Argument data, need: \(3, 4\), received: \(1, 2\)"
    ):
        executor.forward(data=nd.ones((1, 2)))


def test_simple_bind(layer):
    executor = layer.simple_bind(mx.cpu(), type_dict={"data": "float64"}, data=(3, 4))
    assert {name: array.shape for name, array in executor.arg_dict.items()} == {
        "data": (3, 4),
        "fc_weight": (2, 4),
        "fc_bias": (2,),
    }
    assert all(array.dtype == numpy.float64 for array in executor.arg_arrays)
    assert all(not array.asnumpy().any() for array in executor.arg_arrays)
    assert layer.simple_bind(mx.cpu(), "null", data=(3, 4)).grad_arrays == [None] * 3


def test_simple_bind_reads_keywords_that_are_shapes(layer):
    assert layer.simple_bind(mx.cpu(), data=(3, 4), mode="clip", axis=1).arg_dict["fc_weight"].shape == (2, 4)


def test_simple_bind_errors(layer):
    with pytest.raises(
        RuntimeError, match="(?s)^simple_bind error. Arguments:\n.*data, fc_weight are not known"
    ):
        layer.simple_bind(mx.cpu())
    text = r"(?s)^simple_bind error. Arguments:\ndata: \(3, 4\)\nfc_bias: \(5,\)\n.*Shape inconsistent"
    with pytest.raises(RuntimeError, match=text):
        layer.simple_bind(mx.cpu(), data=(3, 4), fc_bias=(5,))


def test_copy_params_from(layer):
    executor = layer.simple_bind(mx.cpu(), data=(3, 4))
    executor.copy_params_from({"fc_bias": nd.array([1, 2], dtype="float64")})
    assert executor.arg_dict["fc_bias"].asnumpy().tolist() == [1, 2]
    for arguments in (({"x": nd.ones((1,))},), ({}, {"x": nd.ones((1,))})):
        with pytest.raises(ValueError, match='"x" that is not in the arguments'):
            executor.copy_params_from(*arguments)
        executor.copy_params_from(*arguments, allow_extra_params=True)


def test_reshape_keeps_what_it_can(layer):
    executor = layer.simple_bind(mx.cpu(), {"fc_weight": "write", "fc_bias": "add"}, data=(3, 4))
    other = executor.reshape(data=(5, 4))
    assert other.arg_dict["data"].shape == (5, 4)
    for name in ("fc_weight", "fc_bias"):
        assert other.arg_dict[name] is executor.arg_dict[name]
        assert other.grad_dict[name] is executor.grad_dict[name]
    assert other.grad_dict["data"] is None
    for one, size in ((executor, 3), (other, 5)):
        one.forward(is_train=True)
        one.backward(nd.ones((size, 2)))
    assert executor.grad_dict["fc_bias"].asnumpy().tolist() == [8, 8]


def test_monitor_callback(layer):
    executor = sym.Activation(layer, act_type="relu", name="act").simple_bind(mx.cpu(), data=(1, 2))
    seen = []
    executor.set_monitor_callback(lambda name, array: seen.append((name, array.shape)))
    executor.forward()
    assert seen == [(b"fc_output", (1, 2)), (b"act_output", (1, 2))]
    seen.clear()
    executor.set_monitor_callback(lambda name, array: seen.append(name.decode()), monitor_all=True)
    executor.forward(is_train=True)
    inputs = ["data", "fc_data", "fc_weight", "fc_weight", "fc_bias", "fc_bias"]
    assert seen == [*inputs, "fc_output", "act_input0", "act_output"]
    executor.set_monitor_callback(None)
    executor.forward()
    assert len(seen) == 9


@pytest.mark.parametrize("made", [sym.zeros((0, 4)), rnn.RNNCell(4).begin_state(sym.zeros)[0]])
def test_monitor_callback_sees_new_arrays_of_open_extents(made):
    executor = (made + sym.var("data")).bind(mx.cpu(), {"data": nd.ones((3, 4))})
    seen = []
    executor.set_monitor_callback(lambda name, array: seen.append(array.shape))
    assert executor.forward()[0].shape == (3, 4) and seen == [(3, 4)] * 2


def test_warnings_of_programs_are_said_once():
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("default")
        for _ in range(3):
            warnings.warn("said once", stacklevel=1)
            (sym.var("a") + 1).simple_bind(mx.cpu(), a=(2,))
    assert len(said) == 1


def test_monitor_callback_sees_gradients(layer):
    symbol = sym.LinearRegressionOutput(sym.Activation(layer, act_type="relu", name="act"), name="out")
    executor = symbol.simple_bind(mx.cpu(), {"fc_weight": "write", "fc_bias": "add"}, data=(1, 2))
    executor.arg_dict["data"][:] = nd.array([[1, 2]])
    executor.arg_dict["fc_weight"][:] = nd.array([[1, 1], [0, -1]])
    executor.arg_dict["out_label"][:] = 1
    seen = {}
    executor.set_monitor_callback(lambda name, array: seen.update({name.decode(): array.asnumpy().tolist()}))
    for step in (1, 2):
        seen.clear()
        executor.forward(is_train=True)
        assert list(seen) == ["fc_output", "act_output", "out_output"]
        executor.backward()
        assert list(seen.items())[3:] == [
            ("out_backward_output0", [[1, -0.5]]),
            ("out_backward_output1", [[0, 0]]),
            ("act_backward_output", [[1, 0]]),
            ("fc_backward_output0", [[1, 1]]),  # of data, for which nobody asked
            ("fc_backward_output1", [[1, 2], [0, 0]]),
            ("fc_backward_output2", [1, 0]),
        ]
        assert executor.grad_dict["fc_weight"].asnumpy().tolist() == [[1, 2], [0, 0]]
        assert executor.grad_dict["fc_bias"].asnumpy().tolist() == [step, 0]


def test_monitor_callback_sees_what_each_operator_contributes():
    x = sym.var("x")
    executor = sym.broadcast_mul(sym.exp(x, name="e"), x, name="m").simple_bind(mx.cpu(), x=(1,))
    seen = {}
    executor.set_monitor_callback(
        lambda name, array: seen.update({name.decode(): float(array.sum().asscalar())})
    )
    executor.forward(is_train=True)
    executor.backward(nd.array([2]))
    assert seen == {
        "e_output": 1,
        "m_output": 0,
        "m_backward_output0": 0,
        "m_backward_output1": 2,
        "e_backward_output": 0,
    }
    assert executor.grad_dict["x"].asscalar() == 2


def test_monitor_callback_sees_the_run_whose_results_are_given():
    symbol = sym.Dropout(sym.BatchNorm(sym.var("x"), name="bn", fix_gamma=False), name="drop")
    executor = symbol.simple_bind(mx.cpu(), x=(50, 2))
    executor.arg_dict["x"][:] = nd.random.normal(shape=(50, 2))
    executor.arg_dict["bn_gamma"][:] = executor.arg_dict["bn_beta"][:] = 1
    seen = {}
    executor.set_monitor_callback(lambda name, array: seen.update({name.decode(): array.asnumpy()}))
    (output,) = executor.forward(is_train=True)
    assert (seen["drop_output"] == output.asnumpy()).all()
    mean = executor.arg_dict["x"].asnumpy().mean(0)
    moved = executor.aux_dict["bn_moving_mean"].asnumpy()
    numpy.testing.assert_allclose(moved, 0.1 * mean, rtol=1e-4, atol=1e-6)  # once
    executor.backward(nd.ones((50, 2)))
    assert (seen["drop_backward_output"] == 2 * (output.asnumpy() != 0)).all()
    numpy.testing.assert_array_equal(seen["bn_backward_output2"], executor.grad_dict["bn_beta"].asnumpy())


def test_debug_str(layer):
    executor = layer.simple_bind(mx.cpu(), data=(1, 2))
    assert "FullyConnected" in executor.debug_str()
    assert executor.get_optimized_symbol().list_outputs() == layer.list_outputs()


def test_debug_str_tells_the_memory_of_gradients():
    data = sym.var("data")
    product = data
    for _ in range(4):
        product = product * product

    def megabytes(symbol, **options):
        text = symbol.simple_bind(mx.cpu(), data=(64, 4096), **options).debug_str()
        assert ("\nbackward\n" in text) == (options.get("grad_req") != "null")
        return int(re.search(r"Total (\d+) MB allocated", text)[1])

    assert megabytes(product) >= 3  # what the last three products read
    assert megabytes(product, grad_req="null") == megabytes(sym.stop_gradient(product)) == 0


def merged_nodes(symbol, **shapes):
    """How many nodes fewer the optimized symbol has; it must compute what `symbol` does."""
    executor = symbol.simple_bind(mx.cpu(), **shapes)
    merged = executor.get_optimized_symbol()
    assert merged.list_arguments() == symbol.list_arguments()
    values = {name: nd.random.uniform(shape=array.shape) for name, array in executor.arg_dict.items()}
    for computed, expected in zip(merged.bind(mx.cpu(), values).forward(), executor.forward(**values)):
        numpy.testing.assert_array_equal(computed.asnumpy(), expected.asnumpy())
    return len(symbol.get_internals()) - len(merged.get_internals())


def test_common_subexpressions_are_one_node_of_the_optimized_symbol():
    a, b = sym.var("a"), sym.var("b")
    shapes = {"a": (2, 3), "b": (2, 3)}
    assert merged_nodes((a + b) * (a + b), **shapes) == 1
    assert merged_nodes(sym.exp((a + b) * 2) - sym.exp((a + b) * 2), **shapes) == 3
    assert merged_nodes((a + b) * (b + a), **shapes) == 0
    assert merged_nodes((a + 1) * (a + 2), a=(2, 3)) == 0
    parts = sym.split(a, num_outputs=3)[0] + sym.split(a, num_outputs=3)[2]
    assert merged_nodes(parts, a=(2, 3)) == 3


def test_outputs_stay_apart_when_common_nodes_are_merged():
    a, b = sym.var("a"), sym.var("b")
    twice = sym.Group([a * b + 1, a * b + 1])
    assert merged_nodes(twice, a=(2,), b=(2,)) == 1  # two are merged, and one copies
    names = twice.simple_bind(mx.cpu(), a=(2,), b=(2,)).get_optimized_symbol().list_outputs()
    assert (
        len(set(names)) == 2 and names[0] == twice.list_outputs()[0] and names[1].endswith("_0_copy_output")
    )


def test_nodes_that_draw_numbers_or_change_states_are_not_merged():
    a = sym.var("a")
    dropped = sym.Dropout(a) + sym.Dropout(a)
    executor = dropped.simple_bind(mx.cpu(), a=(2, 3))
    assert executor.get_optimized_symbol().tojson() == dropped.tojson()
    states = [sym.var(name) for name in ("gamma", "beta", "mean", "var")]
    normal = sym.BatchNorm(a, *states) + sym.BatchNorm(a, *states)
    assert normal.simple_bind(mx.cpu(), a=(2, 3)).get_optimized_symbol().tojson() == normal.tojson()


def test_the_environment_keeps_common_subexpressions(monkeypatch):
    a = sym.var("a")
    twice = (a + 1) * (a + 1)
    monkeypatch.setenv("MXNET_ELIMINATE_COMMON_EXPR", "0")
    kept = twice.simple_bind(mx.cpu(), a=(2,))
    monkeypatch.setenv("MXNET_ELIMINATE_COMMON_EXPR", "1")
    merged = twice.simple_bind(mx.cpu(), a=(2,))
    assert kept.get_optimized_symbol().tojson() == twice.tojson()
    assert len(merged.get_optimized_symbol().get_internals()) < len(twice.get_internals())


def test_several_outputs_and_a_stopped_gradient():
    data = sym.var("data")
    group = sym.Group([sym.BlockGrad(data * 3), data * 2])
    executor = group.simple_bind(mx.cpu(), data=(2,))
    executor.forward(is_train=True, data=nd.ones((2,)))
    executor.backward([nd.ones((2,)), nd.full((2,), 5)])
    assert [array.asnumpy().tolist() for array in executor.outputs] == [[3, 3], [2, 2]]
    assert executor.grad_dict["data"].asnumpy().tolist() == [10, 10]


def test_slices_of_one_input():
    parts = sym.SliceChannel(sym.var("data"), num_outputs=2, axis=1, squeeze_axis=True)
    executor = (parts[0] * parts[1]).simple_bind(mx.cpu(), data=(2, 2))
    assert executor.forward(is_train=True, data=nd.array([[1, 2], [3, 4]]))[0].asnumpy().tolist() == [2, 12]
    executor.backward(nd.ones((2,)))
    assert executor.grad_dict["data"].asnumpy().tolist() == [[2, 1], [4, 3]]


def test_outputs_that_no_gradient_reaches():
    x, y = sym.var("x"), sym.var("y")
    step = sym.contrib.while_loop(
        lambda i, s: i < 3, lambda i, s: (s, [i + 1, s * y]), [x, sym.ones((1,))], 3
    )
    count, product = step[1]
    arrays = {"x": nd.zeros((1,)), "y": nd.array([2.0])}
    both = sym.Group([count, product]).bind(mx.cpu(), arrays, {"y": nd.ones((1,))})
    both.forward(is_train=True)
    both.backward([nd.ones((1,)), nd.full((1,), 3)])
    assert both.grad_dict["y"].asnumpy().tolist() == [36]
    alone = (count * sym.BlockGrad(y)).bind(mx.cpu(), arrays, {"y": nd.ones((1,))})
    alone.forward(is_train=True)
    alone.backward([nd.ones((1,))])
    assert alone.grad_dict["y"].asnumpy().tolist() == [0]


def test_arrays_that_do_not_go_together_are_refused_when_they_are_bound():
    total = sym.var("a") + sym.var("b")
    with pytest.raises(mx.MXNetError, match="inconsistent"):
        total.bind(mx.cpu(), {"a": nd.ones(2), "b": nd.ones(3)})
    with pytest.raises(mx.MXNetError, match="one dtype"):
        total.bind(mx.cpu(), {"a": nd.ones(2), "b": nd.ones(2, dtype="float64")})


def test_outputs_from_before_the_first_forward_follow_the_executor():
    x = mx.nd.array([1, 2, 3])
    executor = (sym.var("x") * 2).bind(mx.cpu(), {"x": x})
    (early,) = executor.outputs
    assert early.asnumpy().tolist() == [0, 0, 0]
    (first,) = executor.forward()
    assert early.asnumpy().tolist() == [2, 4, 6]
    x[:] = 1
    executor.forward()
    assert early.asnumpy().tolist() == [2, 2, 2] and first.asnumpy().tolist() == [2, 4, 6]


def test_debug_str_ends_as_programs_read_it():
    text = (sym.var("x") * 2).bind(mx.cpu(), {"x": mx.nd.ones((2,))}).debug_str()
    assert int(text.split("\n")[-3].split()[1]) == 0


def test_head_gradients_by_name_and_gradients_that_nothing_asks_for():
    arrays = {name: nd.ones((2,)) for name in ("x", "w")}
    kept = nd.array([5, 5])
    product = sym.broadcast_mul(sym.var("x"), sym.var("w"), name="m")
    executor = product.bind(mx.cpu(), arrays, {"x": nd.zeros((2,)), "w": kept}, {"x": "write", "w": "null"})
    executor.forward(is_train=True)
    executor.backward({"m_output": nd.array([1, 3])})
    assert executor.grad_dict["x"].asnumpy().tolist() == [1, 3]
    assert executor.grad_dict["w"] is kept and kept.asnumpy().tolist() == [5, 5]


def test_symbols_by_names_that_operators_lack():
    with pytest.raises(mx.MXNetError, match="relu: keyword argument name x not found"):
        sym.relu(x=sym.var("a"))


def test_gradients_see_what_a_program_has_written_into_outputs():
    """As of branches of a network with stochastic depth, which are added to what others gave."""
    norm = sym.BatchNorm(sym.var("x"), name="bn", fix_gamma=False)
    x, added = nd.array([[-2, 1], [1, 3], [4, -7]]), nd.array([[5, 0], [0, -9], [0, 8]])

    def bound(symbol):
        executor = symbol.simple_bind(mx.cpu(), x=x.shape)
        executor.copy_params_from({"x": x, "bn_gamma": nd.ones((2,)), "bn_beta": nd.zeros((2,))})
        return executor, executor.forward(is_train=True)[0]

    active, outputs = bound(sym.relu(norm))
    plain, _ = bound(norm)
    outputs += added
    active.backward(nd.ones(x.shape))
    plain.backward(outputs > 0)
    gradient, expected = (executor.grad_dict["x"].asnumpy() for executor in (active, plain))
    numpy.testing.assert_allclose(gradient, expected, rtol=1e-5, atol=1e-6)
