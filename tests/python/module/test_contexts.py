"""Module on several contexts: stores, who updates, loads, states."""

import pickle

import numpy
import pytest

import headrace as mx

SETTINGS = {"sgd": {"learning_rate": 0.5, "momentum": 0.9}, "adam": {"learning_rate": 0.05}}


def contexts(count):
    return [mx.cpu(i) for i in range(count)]


def train(module, batch, steps=3):
    for _ in range(steps):
        module.forward_backward(batch)
        module.update()


def params(module):
    return {name: array.asnumpy() for name, array in module.get_params()[0].items()}


def assert_close(found, wanted, rtol=1e-5):
    assert list(found) == list(wanted)
    for name, array in wanted.items():
        numpy.testing.assert_allclose(found[name], array, rtol=rtol, atol=1e-7, err_msg=name)


@pytest.mark.parametrize("on_store", ["1", "0"])
@pytest.mark.parametrize("optimizer", list(SETTINGS))
@pytest.mark.parametrize("kvstore", ["local", "device", "store"])
def test_training_is_that_of_one_context(
    at, symbol, bound, batch_of, monkeypatch, kvstore, optimizer, on_store
):
    monkeypatch.setenv("MXNET_UPDATE_ON_KVSTORE", on_store)
    trained = []
    for count, loads in ((1, None), (2, [1, 3]), (4, None)):
        module = bound(symbol, 9, context=[at(i) for i in range(count)], work_load_list=loads)
        store = mx.kv.create("local") if kvstore == "store" else kvstore
        module.init_optimizer(store, optimizer, dict(SETTINGS[optimizer]))
        train(module, batch_of(9))
        assert module._update_on_kvstore == (on_store == "1" and (count > 1 or kvstore == "store"))
        trained.append(params(module))
    for several in trained[1:]:
        assert_close(several, trained[0])


@pytest.mark.parametrize("optimizer", ["nadam", "sgld"])
def test_rules_that_go_from_parameter_to_parameter(at, symbol, bound, batch_of, optimizer):
    trained = []
    for count in (1, 2):
        module = bound(symbol, 8, context=[at(i) for i in range(count)])
        module.init_optimizer("device", optimizer, {"learning_rate": 0.01})
        mx.random.seed(5)
        train(module, batch_of(8))
        trained.append(params(module))
    assert_close(trained[1], trained[0])


def test_fit(symbol, samples):
    accuracies = []
    for count in (1, 2):
        mx.random.seed(3)
        data = mx.io.NDArrayIter(*samples, batch_size=11)
        module = mx.mod.Module(symbol, context=contexts(count))
        module.fit(
            data,
            num_epoch=20,
            kvstore="device",
            initializer=mx.init.Xavier(),
            optimizer_params={"learning_rate": 0.5},
        )
        accuracies.append(module.score(data, "acc")[0][1])
    assert accuracies[0] == accuracies[1] > 0.8


@pytest.mark.parametrize("on_store", ["1", "0"])
def test_states_are_saved_and_loaded(symbol, bound, batch_of, monkeypatch, tmp_path, on_store):
    monkeypatch.setenv("MXNET_UPDATE_ON_KVSTORE", on_store)
    file = str(tmp_path / "states")
    whole, first, second = (bound(symbol, 8, context=contexts(2)) for _ in range(3))
    for module in (whole, first, second):
        module.init_optimizer("device", "sgd", dict(SETTINGS["sgd"]))
    train(whole, batch_of(8), 4)
    train(first, batch_of(8), 2)
    first.save_optimizer_states(file)
    if on_store == "1":  # MXNet's keys
        with open(file, "rb") as states:
            assert list(pickle.load(states)) == first._param_names
    second.set_params(*first.get_params())
    second.load_optimizer_states(file)
    train(second, batch_of(8), 2)
    assert_close(params(second), params(whole))


def test_parameters_that_are_set_between_steps_reach_the_store(symbol, bound, batch_of):
    one, two = (bound(symbol, 8, context=contexts(count)) for count in (1, 2))
    given = {name: array * 2 for name, array in one.get_params()[0].items()}
    for module in (one, two):
        module.init_optimizer("device", optimizer_params={"learning_rate": 0.5})
        train(module, batch_of(8), 1)
        module.set_params(given, {})
        train(module, batch_of(8), 1)
        module.init_params(arg_params=given, force_init=True)
        train(module, batch_of(8), 2)
    assert_close(params(two), params(one))


def test_multipliers_count_on_the_store(bound, batch_of):
    weight = mx.sym.var("fc_weight", lr_mult=0.0)
    layer = mx.sym.FullyConnected(mx.sym.var("data"), weight, num_hidden=3, name="fc")
    module = bound(mx.sym.SoftmaxOutput(layer, name="softmax"), 8, context=contexts(2))
    before = params(module)
    module.init_optimizer("device")
    train(module, batch_of(8))
    after = params(module)
    assert (after["fc_weight"] == before["fc_weight"]).all()
    assert (after["fc_bias"] != before["fc_bias"]).any()


def test_gradient_compression(symbol, bound, batch_of):
    compression = {"type": "2bit", "threshold": 100}
    module = bound(symbol, 8, context=contexts(2), compression_params=compression)
    before = params(module)
    module.init_optimizer("device")
    train(module, batch_of(8))
    assert_close(params(module), before, rtol=0)  # no gradient has reached the threshold


def test_borrowed_optimizers_share_the_store(symbol, bound, batch_of):
    owner = bound(symbol, 8, context=contexts(2))
    owner.init_optimizer("device", optimizer_params=dict(SETTINGS["sgd"]))
    other = mx.mod.Module(symbol, context=contexts(2))
    other.bind([("data", (4, 5))], [("softmax_label", (4,))], shared_module=owner)
    for module, size in ((owner, 8), (other, 4), (owner, 8)):
        train(module, batch_of(size), 1)
        assert_close(params(owner), params(other), rtol=0)
    assert owner._optimizer.num_update == 3


@pytest.mark.parametrize("as_list", [False, True])
def test_groups_of_variables_have_contexts_of_their_own(as_list):
    with mx.AttrScope(ctx_group="first"):
        a = mx.sym.var("a") * 2
    with mx.AttrScope(ctx_group="second"):
        b = mx.sym.var("b")
    places = {"first": mx.cpu(1), "second": mx.cpu(2)}
    bound = (a + b).simple_bind(mx.cpu(0), group2ctx=places, a=(2, 3), b=(2, 3))
    assert [one.context for one in bound.arg_arrays] == [mx.cpu(1), mx.cpu(2)]
    assert bound.reshape(a=(4, 3), b=(4, 3)).arg_arrays[1].context == mx.cpu(2)
    groups = [places, places] if as_list else {"first": mx.cpu(1), "second": [mx.cpu(2), mx.cpu(2)]}
    module = mx.mod.Module(a + b, ["a", "b"], None, context=[mx.cpu(0), mx.cpu(3)], group2ctxs=groups)
    module.bind([("a", (2, 3)), ("b", (2, 3))], inputs_need_grad=True)
    module.init_params()
    module.forward(mx.io.DataBatch([mx.nd.ones((2, 3)), mx.nd.ones((2, 3))]), is_train=True)
    module.backward([mx.nd.ones((2, 3))])
    assert module.get_outputs()[0].asnumpy().tolist() == [[3] * 3] * 2
    assert module.get_input_grads()[0].asnumpy().tolist() == [[2] * 3] * 2
    parts = module.get_input_grads(merge_multi_context=False)
    assert [[one.context for one in part] for part in parts] == [[mx.cpu(1)] * 2, [mx.cpu(2)] * 2]
    with pytest.raises(AssertionError, match="length of group2ctxs"):
        mx.mod.Module(a + b, ["a", "b"], None, context=[mx.cpu(0)], group2ctxs=[places, places])
