"""Files of MXNet 1.9.1: parameters, optimizer states, and training that goes on from them."""

import json

import numpy
import pytest

import headrace as hr
from headrace import autograd, gluon, nd, npx
from headrace.gluon import nn


def make_net():
    net = nn.Sequential(prefix="st_")
    with net.name_scope():
        net.add(
            nn.Dense(4, activation="tanh", in_units=3), nn.BatchNorm(in_channels=4), nn.Dense(2, in_units=4)
        )
    return net


def read_index(interop):
    folder = interop / "gluon_states"
    return folder, json.loads((folder / "index.json").read_text())


@pytest.fixture(params=["sgd", "adam", "rmsprop"])
def run(interop, request):
    folder, index = read_index(interop)
    return folder, next(run for run in index["runs"] if run["name"] == request.param)


def step(net, trainer, batches, i):
    loss_function = gluon.loss.L2Loss()
    with autograd.record():
        loss = loss_function(net(nd.array(batches["x"][i])), nd.array(batches["y"][i]))
    loss.backward()
    trainer.step(6)
    return loss.asnumpy()


def check_parameters(net, expected):
    for key, param in net._collect_params_with_prefix().items():
        values = expected[key]
        values = values.asnumpy() if hasattr(values, "asnumpy") else values
        numpy.testing.assert_allclose(param.data().asnumpy(), values, rtol=2e-4, atol=2e-5, err_msg=key)


def test_parameter_order(run):
    net = make_net()
    net.initialize()
    trainer = gluon.Trainer(net.collect_params(), "sgd")
    assert [param.name for param in trainer._params] == run[1]["parameter_order"]


def test_training_from_the_start(run):
    folder, run = run
    net = make_net()
    net.load_parameters(str(folder / run["start"]))
    trainer = gluon.Trainer(net.collect_params(), run["optimizer"], run["options"])
    batches, losses = numpy.load(folder / "batches.npz"), numpy.load(folder / run["losses"])
    for i in range(3):
        loss = step(net, trainer, batches, i)
        numpy.testing.assert_allclose(loss, losses[f"loss{i}"], rtol=1e-4, atol=1e-5)
    check_parameters(net, nd.load(str(folder / run["after3"])))


def test_training_goes_on_from_saved_states(run):
    folder, run = run
    net = make_net()
    net.load_parameters(str(folder / run["after3"]))
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 99})
    trainer.load_states(str(folder / run["states"]))
    assert type(trainer.optimizer).__name__.lower() == run["optimizer"]
    assert trainer.learning_rate == run["options"]["learning_rate"]
    assert trainer.optimizer.num_update == 3
    step(net, trainer, numpy.load(folder / "batches.npz"), 3)
    check_parameters(net, numpy.load(folder / run["after4"]))


def test_states_written_again_are_the_same(run, tmp_path):
    folder, run = run
    net = make_net()
    net.load_parameters(str(folder / run["after3"]))
    first, second = (gluon.Trainer(net.collect_params(), "sgd") for _ in range(2))
    first.load_states(str(folder / run["states"]))
    first.save_states(str(tmp_path / "again.states"))
    second.load_states(str(tmp_path / "again.states"))

    def plain(state):
        if isinstance(state, (tuple, list)):
            return [plain(part) for part in state]
        return None if state is None else state.asnumpy().tolist()

    for index, state in first._updaters[0].states.items():
        assert plain(state) == plain(second._updaters[0].states[index])
    assert len(first._updaters[0].states) == 6


def shared_net(**kwargs):
    net = nn.Sequential(**kwargs)
    first = nn.Dense(3, in_units=3, prefix="sh_dense0_")
    net.add(first, nn.Dense(3, in_units=3, params=first.params))
    return net


def test_shared_parameters(interop):
    folder, index = read_index(interop)
    assert index["files"]["shared_deduplicated.params"] == ["1.weight", "1.bias"]
    values = []
    for name in ("shared.params", "shared_deduplicated.params"):
        net = shared_net()
        saved = nd.load(str(folder / name))
        net[0].weight._shape, net[0].bias._shape = saved["1.weight"].shape, saved["1.bias"].shape
        net.load_parameters(str(folder / name))
        values.append(net[0].weight.data().asnumpy())
        assert net[1].weight is net[0].weight
    assert (values[0] == values[1]).all()


def test_file_of_full_names(interop):
    folder, _ = read_index(interop)
    saved = nd.load(str(folder / "shared_parameter_dict.params"))
    net = nn.Dense(saved["sh_dense0_weight"].shape[0], prefix="sh_dense0_")
    net.collect_params().load(str(folder / "shared_parameter_dict.params"))
    assert (net.weight.data().asnumpy() == saved["sh_dense0_weight"].asnumpy()).all()


def test_files_of_either_mode_load_in_either_mode(interop, tmp_path):
    folder, _ = read_index(interop)
    legacy = str(folder / "start.params")
    values = {key: value.asnumpy() for key, value in nd.load(legacy).items()}
    npx.set_np()
    try:
        net = make_net()
        net.load_parameters(legacy)
        for key, param in net._collect_params_with_prefix().items():
            assert isinstance(param.data(), hr.np.ndarray)
            assert (param.data().asnumpy() == values[key]).all()
        net.save_parameters(str(tmp_path / "np.params"))
        before = make_net()
        npx.reset_np()
        before.load_parameters(legacy)
        npx.set_np()
        before.save_parameters(str(tmp_path / "mixed.params"))
        assert (npx.load(str(tmp_path / "mixed.params"))["0.weight"].asnumpy() == values["0.weight"]).all()
    finally:
        npx.reset_np()
    net = make_net()
    net.load_parameters(str(tmp_path / "np.params"))
    for key, param in net._collect_params_with_prefix().items():
        assert not isinstance(param.data(), hr.np.ndarray)
        assert (param.data().asnumpy() == values[key]).all()


@pytest.mark.parametrize("mode", ["nd", "np"])
def test_default_weights_are_those_of_mxnet(interop, mt19937, mode):
    samples = numpy.load(interop / "random" / "random.npz")
    if mode == "np":
        npx.set_np()
    try:
        hr.random.seed(3)
        uniform, xavier = nn.Dense(3, in_units=50), nn.Dense(2, in_units=4)
        uniform.initialize()
        xavier.initialize(hr.init.Xavier())
        for i, layer in enumerate((uniform, xavier)):
            expected = samples[f"{mode}_dense_init/{i}"]
            numpy.testing.assert_allclose(layer.weight.data().asnumpy(), expected, rtol=1e-6, atol=0)
    finally:
        npx.reset_np()
