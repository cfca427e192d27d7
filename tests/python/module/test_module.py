"""Module: binding, parameters, steps, contexts."""

import collections
import types

import numpy
import pytest

import headrace as mx


def values(params):
    return {name: array.asnumpy() for name, array in params.items()}


def assert_same(first, second, rtol=1e-6):
    assert list(first) == list(second)
    for name, array in values(first).items():
        numpy.testing.assert_allclose(array, second[name].asnumpy(), rtol=rtol, atol=1e-7, err_msg=name)


def test_properties(symbol):
    module = mx.mod.Module(symbol)
    assert module.symbol is symbol
    assert (module.data_names, module.label_names) == (["data"], ["softmax_label"])
    assert module.output_names == ["softmax_output"]
    assert not (module.binded or module.params_initialized or module.optimizer_initialized)
    module.bind([("data", (4, 5))], [mx.io.DataDesc("softmax_label", (4,))], inputs_need_grad=True)
    assert module.binded and module.for_training and module.inputs_need_grad
    assert module.data_shapes == [("data", (4, 5))] and module.label_shapes == [("softmax_label", (4,))]
    assert module.output_shapes == [("softmax_output", (4, 3))]


def test_wrong_names(symbol):
    text = r"data_names=\['x'\]\) but input with name 'x' is not found .*\n\tdata\n\tsoftmax_label"
    with pytest.raises(ValueError, match=text):
        mx.mod.Module(symbol, ["x"])
    with pytest.raises(ValueError, match="fixed_param_names"):
        mx.mod.Module(symbol, fixed_param_names=["x"])
    with pytest.warns(UserWarning, match=r"label_names=\['x'\]"):
        mx.mod.Module(symbol, label_names=["x"])
    module = mx.mod.Module(symbol)
    text = r"Data provided by data_shapes don't match names specified by data_names \(\[DataDesc\[x,"
    with pytest.raises(ValueError, match=text):
        module.bind([("x", (4, 5))])
    with pytest.warns(UserWarning, match="label_shapes don't match"):
        module.bind([("data", (4, 5))], for_training=False)
    assert module.label_shapes is None


def test_methods_called_too_early(symbol, batch_of):
    module = mx.mod.Module(symbol)
    for call in (
        lambda: module.data_shapes,
        module.init_params,
        module.get_params,
        module.init_optimizer,
        lambda: module.forward(batch_of(4)),
    ):
        with pytest.raises(AssertionError, match="call bind"):
            call()
    module.bind([("data", (4, 5))], [("softmax_label", (4,))])
    with pytest.raises(AssertionError, match="call init_params before forward"):
        module.forward(batch_of(4))
    module.init_params()
    with pytest.raises(AssertionError, match="call init_optimizer before update"):
        module.update()
    with pytest.raises(AssertionError, match="inputs_need_grad"):
        module.get_input_grads()
    with pytest.raises(AssertionError, match="number of epochs"):
        module.fit(None)


def test_initializers_go_by_name_and_by_attribute():
    layer = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=4, name="fc")
    layer = mx.sym.BatchNorm(layer, name="bn", fix_gamma=False)
    layer = mx.sym.broadcast_mul(layer, mx.sym.var("scale", shape=(1, 4), init=mx.init.Constant(3)))
    module = mx.mod.Module(layer, label_names=None)
    module.bind([("data", (2, 5))])
    module.init_params(mx.init.Constant(0.5))
    arg_params, aux_params = module.get_params()
    found = {name: set(array.asnumpy().flat) for name, array in {**arg_params, **aux_params}.items()}
    assert found == {
        "fc_weight": {0.5},
        "fc_bias": {0},
        "bn_gamma": {1},
        "bn_beta": {0},
        "scale": {3},
        "bn_moving_mean": {0},
        "bn_moving_var": {1},
    }


def test_parameters(symbol, bound):
    module = bound(symbol)
    arg_params, aux_params = module.get_params()
    assert list(arg_params) == ["fc1_weight", "fc1_bias", "fc2_weight", "fc2_bias"] and aux_params == {}
    arg_params["fc1_weight"][:] = 9  # a copy
    assert module.get_params()[0] is arg_params
    assert arg_params["fc1_weight"].asnumpy().max() < 1
    arg_params = {**arg_params, "fc1_weight": mx.nd.full((4, 5), 9)}
    with pytest.warns(UserWarning, match="init_params call ignored"):
        module.init_params()
    with pytest.warns(UserWarning, match="set_params call ignored"):
        module.set_params({}, {}, allow_missing=True, force_init=False)
    with pytest.raises(RuntimeError, match="fc1_bias is not presented"):
        module.set_params({"fc1_weight": arg_params["fc1_weight"]}, {})
    module.set_params({"fc1_weight": arg_params["fc1_weight"]}, {}, allow_missing=True)
    assert module.get_params()[0]["fc1_weight"].asnumpy().min() == 9
    extra = {"x": mx.nd.ones((1,))}
    with pytest.raises(ValueError, match='"x" that is not in the arguments'):
        module.set_params(extra, {}, allow_missing=True)
    module.set_params(extra, {}, allow_missing=True, allow_extra=True)
    module.set_params({**arg_params, **extra}, {})
    for kind in (ValueError, mx.MXNetError):
        with pytest.raises(kind, match=r"fc1_weight has shape \(4, 5\), the value given \(4, 6\)"):
            module.set_params({**arg_params, "fc1_weight": mx.nd.ones((4, 6))}, {})


@pytest.mark.parametrize("count", [1, 2])
def test_parameters_that_are_kept_follow_updates(symbol, bound, batch_of, count):
    module = bound(symbol, context=[mx.cpu(i) for i in range(count)])
    module.init_optimizer(optimizer_params={"learning_rate": 1.0})
    kept = module.get_params()[0]
    weight = kept["fc2_weight"]
    before = weight.asnumpy()
    module.forward_backward(batch_of(4))
    module.update()
    numpy.testing.assert_array_equal(weight.asnumpy(), before)
    assert module.get_params()[0] is kept and kept["fc2_weight"] is weight
    replica = module._exec_group.execs[0].arg_dict["fc2_weight"].asnumpy()
    assert (replica != before).any()
    numpy.testing.assert_allclose(weight.asnumpy(), replica)


def test_arrays_of_the_executors(symbol, bound, batch_of):
    module = bound(symbol, context=[mx.cpu(0), mx.cpu(1)], fixed_param_names=["fc1_bias"])
    module.forward_backward(batch_of(4))
    group = module._exec_group
    assert group.param_names == ["fc1_weight", "fc1_bias", "fc2_weight", "fc2_bias"]
    for index, name in enumerate(group.param_names):
        for k, one in enumerate(group.execs):
            assert group.param_arrays[index][k] is one.arg_dict[name]
            assert group.grad_arrays[index][k] is one.grad_dict[name]
    assert group.grad_arrays[1] == [None, None]
    assert group.aux_arrays == [] and group.state_arrays == []
    ((first, second),) = group.data_arrays
    assert (first[0], second[0]) == (slice(0, 2), slice(2, 4))
    assert second[1] is group.execs[1].arg_dict["data"]
    assert group.label_arrays[0][0][1] is group.execs[0].arg_dict["softmax_label"]


def test_parameters_in_files(symbol, bound, tmp_path):
    module = bound(symbol)
    module.save_params(str(tmp_path / "p.params"))
    assert sorted(mx.nd.load(str(tmp_path / "p.params"))) == sorted(
        f"arg:{n}" for n in module.get_params()[0]
    )
    other = bound(symbol, initializer=mx.init.One())
    other.load_params(str(tmp_path / "p.params"))
    assert_same(module.get_params()[0], other.get_params()[0])
    mx.nd.save(str(tmp_path / "q.params"), {"x": mx.nd.ones((1,))})
    with pytest.raises(ValueError, match="Invalid param file .*key 'x'"):
        module.load_params(str(tmp_path / "q.params"))


def test_one_step_by_hand(symbol, bound, batch_of, samples):
    module = bound(symbol, bind={"inputs_need_grad": True})
    before = values(module.get_params()[0])
    module.init_optimizer(optimizer_params={"learning_rate": 0.5, "wd": 0.1})
    module.forward_backward(batch_of(4))
    module.update()
    x, y = samples[0][:4], samples[1][:4].astype(int)
    hidden = numpy.maximum(x @ before["fc1_weight"].T + before["fc1_bias"], 0)
    scores = hidden @ before["fc2_weight"].T + before["fc2_bias"]
    softmax = numpy.exp(scores) / numpy.exp(scores).sum(axis=1, keepdims=True)
    numpy.testing.assert_allclose(module.get_outputs()[0].asnumpy(), softmax, rtol=1e-5)
    error = softmax - numpy.eye(3)[y]
    hidden_error = error @ before["fc2_weight"] * (hidden > 0)
    numpy.testing.assert_allclose(
        module.get_input_grads()[0].asnumpy(), hidden_error @ before["fc1_weight"], rtol=1e-4, atol=1e-6
    )
    after = values(module.get_params()[0])
    rate = 0.5 / 4  # gradients are divided by the batch size
    weight, bias = before["fc2_weight"], before["fc2_bias"]
    numpy.testing.assert_allclose(
        after["fc2_weight"], weight - rate * error.T @ hidden - 0.5 * 0.1 * weight, rtol=1e-4, atol=1e-6
    )
    # Biases do not decay.
    numpy.testing.assert_allclose(after["fc2_bias"], bias - rate * error.sum(axis=0), rtol=1e-4, atol=1e-6)


def test_factors_of_variables():
    weight = mx.sym.var("fc_weight", lr_mult=0)
    out = mx.sym.FullyConnected(
        mx.sym.var("data"), weight, mx.sym.var("fc_bias", lr_mult=2), num_hidden=2, name="fc"
    )
    module = mx.mod.Module(mx.sym.MakeLoss(out), label_names=None)
    module.bind([("data", (1, 3))])
    module.init_params(mx.init.One())
    module.init_optimizer(optimizer_params={"learning_rate": 0.1})
    module.forward_backward(mx.io.DataBatch([mx.nd.ones((1, 3))]))
    module.update()
    arg_params, _ = module.get_params()
    assert arg_params["fc_weight"].asnumpy().tolist() == [[1, 1, 1]] * 2
    numpy.testing.assert_allclose(arg_params["fc_bias"].asnumpy(), [-0.2, -0.2], rtol=1e-6)


def test_fixed_parameters(symbol, bound, batch_of):
    module = bound(symbol, fixed_param_names=["fc1_weight"])
    before = values(module.get_params()[0])
    module.init_optimizer()
    module.forward_backward(batch_of(4))
    module.update()
    changed = {
        name for name, array in values(module.get_params()[0]).items() if (array != before[name]).any()
    }
    assert changed == {"fc1_bias", "fc2_weight", "fc2_bias"}


def test_gradients_add_up(symbol, bound, batch_of):
    once, twice = bound(symbol), bound(symbol, bind={"grad_req": "add"})
    for module, steps in ((once, 1), (twice, 2)):
        module.init_optimizer(optimizer_params={"learning_rate": 0.1 * (3 - steps)})
        for _ in range(steps):
            module.forward_backward(batch_of(4))
        module.update()
    assert_same(once.get_params()[0], twice.get_params()[0], rtol=1e-5)


def test_out_grads(batch_of):
    out = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="fc")
    module = mx.mod.Module(out, label_names=None, context=[mx.cpu(0), mx.cpu(1)])
    module.bind([("data", (2, 3))], inputs_need_grad=True)
    module.init_params(mx.init.One())
    module.forward(mx.io.DataBatch([mx.nd.ones((2, 3))]), is_train=True)
    module.backward([mx.nd.array([[1, 2], [3, 4]])])
    assert module.get_input_grads()[0].asnumpy().tolist() == [[3, 3, 3], [7, 7, 7]]
    assert [array.shape for array in module.get_input_grads(merge_multi_context=False)[0]] == [(1, 3), (1, 3)]


def test_other_batch_shapes(symbol, bound, batch_of):
    module = bound(symbol)
    module.init_optimizer(optimizer_params={"momentum": 0.9})
    before = module.get_params()[0]
    for size in (4, 2, 6):
        module.forward_backward(batch_of(size))
        assert module.get_outputs()[0].shape == (size, 3)
        assert module.data_shapes == [("data", (size, 5))]
    assert_same(before, module.get_params()[0])
    module.update()
    module.forward(mx.io.DataBatch([mx.nd.ones((3, 5))]), is_train=False)  # no labels
    assert module.get_outputs()[0].shape == (3, 3)
    module.reshape([("data", (5, 5))], [("softmax_label", (5,))])
    assert module.output_shapes == [("softmax_output", (5, 3))]
    with pytest.raises(ValueError, match="the parameter fc1_weight of shape"):
        module.reshape([("data", (5, 6))], [("softmax_label", (5,))])


def test_bind_to_what_is_no_shape(symbol):
    module = mx.mod.Module(symbol)
    with pytest.raises(TypeError, match="'data' must be a tuple of integers, got NDArray"):
        module.bind(data_shapes=[("data", mx.nd.array([10, 10]))])
    assert not module.binded


def test_bind_again(symbol, bound, caplog):
    module = bound(symbol)
    before = module.get_params()[0]
    module.bind([("data", (9, 5))], [("softmax_label", (9,))])
    assert caplog.messages == ["Already bound, ignoring bind()"]
    module.bind([("data", (9, 5))], [("softmax_label", (9,))], force_rebind=True)
    assert module.data_shapes == [("data", (9, 5))]
    assert_same(before, module.get_params()[0])


@pytest.mark.parametrize("kvstore", ["local", "device"])
def test_several_contexts_train_as_one(symbol, bound, batch_of, kvstore):
    trained = []
    for contexts in (mx.cpu(), [mx.cpu(0), mx.cpu(1), mx.cpu(2)]):
        module = bound(symbol, 7, context=contexts)
        module.init_optimizer(kvstore, optimizer_params={"learning_rate": 0.5, "momentum": 0.9})
        for _ in range(3):
            module.forward_backward(batch_of(7))
            module.update()
        trained.append(module)
    one, three = trained
    assert_same(one.get_params()[0], three.get_params()[0], rtol=1e-4)
    numpy.testing.assert_allclose(
        one.get_outputs()[0].asnumpy(), three.get_outputs()[0].asnumpy(), rtol=1e-4, atol=1e-6
    )
    assert [array.shape for array in three.get_outputs(merge_multi_context=False)[0]] == [
        (2, 3),
        (2, 3),
        (3, 3),
    ]
    metric = mx.metric.Accuracy()
    three.update_metric(metric, batch_of(7).label)
    assert metric.num_inst == 7


def test_contexts_without_a_store_train_alone(symbol, bound, batch_of):
    module = bound(symbol, 7, context=[mx.cpu(0), mx.cpu(1)])
    module.init_optimizer(kvstore=None)
    module.forward_backward(batch_of(7))
    module.update()
    first, second = module._exec_group.arrays_of(["fc2_bias"])[0]
    assert (first.asnumpy() != second.asnumpy()).any()
    mean = (first.asnumpy() + second.asnumpy()) / 2
    numpy.testing.assert_allclose(module.get_params()[0]["fc2_bias"].asnumpy(), mean, rtol=1e-6)


def test_contexts_and_stores_that_do_not_fit(symbol, bound):
    with pytest.raises(ValueError, match="Too many slices. Some splits are empty"):
        bound(symbol, 2, context=[mx.cpu(0), mx.cpu(1), mx.cpu(2)])
    with pytest.raises(ValueError, match="dist_sync"):
        bound(symbol).init_optimizer("dist_sync")
    with pytest.raises(TypeError, match="kvstore must be KVStore, str or None, got 3"):
        bound(symbol).init_optimizer(3)


def test_optimizer_objects(symbol, bound, caplog):
    module = bound(symbol)
    with pytest.warns(UserWarning, match=r"\(1.0 vs. 0.25\). Is this intended\?"):
        module.init_optimizer(optimizer=mx.optimizer.SGD(learning_rate=0.1))
    module.init_optimizer()
    assert caplog.messages == ["optimizer already initialized, ignoring..."]
    module.init_optimizer(optimizer="adam", optimizer_params={"rescale_grad": 2.0}, force_init=True)
    assert module._optimizer.rescale_grad == 2


def test_optimizers_are_shared(symbol, bound, batch_of):
    owner = bound(symbol)
    owner.init_optimizer(optimizer_params={"momentum": 0.9})
    other = mx.mod.Module(symbol)
    other.bind([("data", (2, 5))], [("softmax_label", (2,))], shared_module=owner)
    assert other.params_initialized and other.optimizer_initialized
    for module, size in ((owner, 4), (other, 2)):
        module.forward_backward(batch_of(size))
        module.update()
        assert_same(owner.get_params()[0], other.get_params()[0], rtol=0)
    assert owner._optimizer.num_update == 2


def test_states(bound):
    total = mx.sym.var("data") + mx.sym.var("state")
    module = mx.mod.Module(total, label_names=None, state_names=["state"])
    module.bind([("data", (2, 3))], for_training=False)
    module.init_params()
    module.set_states(value=2)
    module.forward(mx.io.DataBatch([mx.nd.ones((2, 3))]))
    assert module.get_outputs()[0].asnumpy().tolist() == [[3] * 3] * 2
    module.set_states([[mx.nd.full((2, 3), 5)]])
    assert module.get_states()[0].asnumpy().max() == 5


def test_backward_needs_a_module_that_is_bound_for_training(symbol, bound, batch_of):
    module = bound(symbol, bind={"for_training": False})
    module.forward(batch_of(4))
    with pytest.raises(AssertionError, match="for_training=True"):
        module.backward()


@pytest.mark.parametrize("contexts", [1, 2])
def test_bytes_of_what_executors_hold(symbol, bound, contexts):
    module = bound(symbol, 8, context=[mx.cpu(i) for i in range(contexts)])
    trained = 2 * (4 * 5 + 4 + 3 * 4 + 3)  # parameters and their gradients, on each context
    assert module._total_exec_bytes == 4 * (contexts * trained + 8 * 5 + 8)


Batch = collections.namedtuple("Batch", ["data"])


def test_batches_with_data_alone(symbol, bound, batch_of):
    module = bound(symbol, bind={"for_training": False})
    module.forward(batch_of(4))
    expected = module.get_outputs()[0].asnumpy()
    module.forward(Batch(batch_of(4).data))
    numpy.testing.assert_array_equal(module.get_outputs()[0].asnumpy(), expected)
    module.forward(Batch(batch_of(2).data))  # of another shape
    numpy.testing.assert_array_equal(module.get_outputs()[0].asnumpy(), expected[:2])
    module.forward([Batch(batch_of(2).data)])  # one for each context
    numpy.testing.assert_array_equal(module.get_outputs()[0].asnumpy(), expected[:2])
    other = mx.mod.Module(symbol)
    with pytest.warns(UserWarning, match="label_shapes don't match"):
        other.bind([("data", (4, 5))], for_training=False, label_shapes=other._label_shapes)
    other.init_params(None, *module.get_params())
    other.forward(Batch(batch_of(4).data))
    numpy.testing.assert_array_equal(other.get_outputs()[0].asnumpy(), expected)


def test_batches_of_the_program(symbol, bound, batch_of):
    batch = batch_of(3)
    described = {"provide_data": [("data", (3, 5))], "provide_label": [("softmax_label", (3,))]}
    module = bound(symbol)
    module.init_optimizer()
    before = values(module.get_params()[0])
    module.forward_backward(types.SimpleNamespace(data=batch.data, label=batch.label, **described))
    module.update()
    assert module.data_shapes == [("data", (3, 5))]
    assert any((array.asnumpy() != before[name]).any() for name, array in module.get_params()[0].items())
    sequence = mx.mod.SequentialModule()
    sequence.add(mx.mod.Module(symbol), take_labels=True)
    sequence.bind([("data", (4, 5))], [("softmax_label", (4,))], for_training=False)
    sequence.init_params()
    sequence.forward(Batch(batch_of(4).data))
    assert sequence.get_outputs()[0].shape == (4, 3)


def test_fields_that_programs_of_mxnet_read(symbol, bound):
    module = mx.mod.Module(symbol, fixed_param_names=["fc1_weight"])
    assert module._data_shapes is module._label_shapes is None
    assert module._arg_params is module._aux_params is module._updater is None
    assert module._fixed_param_names == ["fc1_weight"] and module._work_load_list == [1]
    assert module._output_names == ["softmax_output"]
    module = bound(symbol, bind={"grad_req": "add"})
    assert (module._data_shapes, module._label_shapes) == (module.data_shapes, module.label_shapes)
    assert module._grad_req == "add"
    assert_same(module._arg_params, module.get_params()[0])
    module.init_optimizer(kvstore=None)
    assert isinstance(module._updater, mx.optimizer.Updater)
    doubled = {name: 2 * array for name, array in module.get_params()[0].items()}
    module.set_params(doubled, {})
    assert_same(module._arg_params, doubled)
    module._sync_params_from_devices()


def test_parameters_set_before_bind(symbol, bound, tmp_path):
    """What a Module.load of the program's own does."""
    trained = bound(symbol)
    trained.init_optimizer("device", "sgd", {"momentum": 0.9, "learning_rate": 0.1})
    trained.save_optimizer_states(str(tmp_path / "a.states"))
    arg_params, aux_params = trained.get_params()
    module = mx.mod.Module(symbol)
    module._arg_params, module._aux_params = dict(arg_params), dict(aux_params)
    module.params_initialized = True
    module._preload_opt_states = str(tmp_path / "a.states")
    assert module._arg_params["fc1_bias"] is arg_params["fc1_bias"]
    module.bind([("data", (4, 5))], [("softmax_label", (4,))])
    assert_same(module.get_params()[0], arg_params)
    module.init_optimizer("device", "sgd", {"momentum": 0.9, "learning_rate": 0.1})
    assert module._preload_opt_states is None


def test_reshape_keeps_monitors_and_there_may_be_no_input_gradients():
    symbol = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, flatten=False, name="fc")
    module = mx.mod.Module(symbol, label_names=None)
    module.bind([("data", (1, 3, 4))], inputs_need_grad=True, grad_req="null")
    module.init_params()
    seen = []
    module._exec_group.execs[0].set_monitor_callback(lambda name, array: seen.append(name))
    module.forward(mx.io.DataBatch([mx.nd.ones((1, 5, 4))]), is_train=False)
    assert seen == [b"fc_output"] and module.get_input_grads() == [None]


def test_labels_by_another_name_are_refused():
    net = mx.sym.SoftmaxOutput(mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=3), name="softmax")
    with (
        pytest.warns(UserWarning, match="don't match names"),
        pytest.raises(KeyError, match="my_label: the symbol"),
    ):
        mx.mod.Module(net).bind([("data", (8, 6))], [("my_label", (8,))])


@pytest.mark.parametrize("count", [1, 3])
def test_labels_of_another_size_are_refused(count):
    module = mx.mod.Module(regression(), label_names=["l"], context=[mx.cpu(i) for i in range(count)])
    with pytest.raises(ValueError, match="same batch size"):
        module.bind([("data", (6, 5))], [("l", (7, 1))])
    module.bind([("data", (6, 5))], [("l", (6, 1))])
    module.init_params()
    for wrong in (mx.nd.ones((5, 1)), mx.nd.ones((1, 1))):
        with pytest.raises(ValueError, match="same batch size|forward: l must have shape"):
            module.forward(mx.io.DataBatch([mx.nd.ones((6, 5))], [wrong]), is_train=True)


def test_parameters_of_another_shape_are_refused():
    executor = regression().simple_bind(mx.cpu(), data=(6, 5), l=(6, 1))
    for wrong in (mx.nd.ones((1, 1)), mx.nd.ones((5,))):
        with pytest.raises(ValueError, match=r"copy_params_from: fc_weight must have shape \(1, 5\)"):
            executor.copy_params_from({"fc_weight": wrong}, allow_extra_params=True)


def regression():
    layer = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=1, name="fc")
    return mx.sym.LinearRegressionOutput(layer, mx.sym.Variable("l"))
