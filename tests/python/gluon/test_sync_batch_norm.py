"""SyncBatchNorm: statistics of the data on several devices."""

import os
import subprocess
import sys

import numpy
import pytest

import headrace as mx
from headrace import autograd, gluon, nd
from headrace.gluon import nn
from headrace.gluon.contrib.nn import SyncBatchNorm

DEVICES = [mx.cpu(0), mx.cpu(1), mx.cpu(2)]


def network(norm):
    net = nn.HybridSequential(prefix="net_")
    with net.name_scope():
        net.add(nn.Conv2D(4, 3, in_channels=2), norm, nn.Activation("relu"), nn.Dense(3, in_units=4 * 16))
    return net


def initialized(norm, devices):
    """A network with parameters that follow from their names, and are on these devices."""
    net = network(norm)
    net.initialize(ctx=devices)
    random = numpy.random.RandomState(1)
    for name, parameter in net.collect_params().items():
        value = (
            random.uniform(0.5, 1.5, parameter.shape) if "gamma" in name else random.randn(*parameter.shape)
        )
        if "running" not in name:
            parameter.set_data(nd.array(value))
    return net


def values_of(net, device):
    return {name: parameter.data(device).asnumpy() for name, parameter in net.collect_params().items()}


def gradients_of(net, devices):
    return {
        name: sum(parameter.grad(device).asnumpy() for device in devices)
        for name, parameter in net.collect_params().items()
        if parameter.grad_req != "null"
    }


def assert_same(found, expected, tolerance=2e-4):
    assert {name.replace("syncbatchnorm", "batchnorm") for name in found} == set(expected)
    for name, value in found.items():
        wanted = expected[name.replace("syncbatchnorm", "batchnorm")]
        numpy.testing.assert_allclose(value, wanted, tolerance, tolerance, err_msg=name)


@pytest.mark.parametrize("hybridize", [False, True])
@pytest.mark.parametrize("scale", [True, False])
def test_parts_of_a_batch_are_normalised_as_the_whole(hybridize, scale):
    """Of different sizes, far from 0; results, gradients, moving statistics, and evaluation afterwards."""
    x = numpy.random.RandomState(0).randn(7, 2, 6, 6).astype("float32") + 10
    parts = [x[:3], x[3:4], x[4:]]
    whole = initialized(nn.BatchNorm(in_channels=4, scale=scale, prefix="batchnorm0_"), [mx.cpu()])
    shared = initialized(SyncBatchNorm(4, num_devices=3, scale=scale, prefix="syncbatchnorm0_"), DEVICES)
    if hybridize:
        shared.hybridize()
    for _ in range(3):
        data = nd.array(x)
        data.attach_grad()
        with autograd.record():
            expected = whole(data)
            (expected**2).sum().backward()
        pieces = [nd.array(part, ctx=device) for part, device in zip(parts, DEVICES)]
        for piece in pieces:
            piece.attach_grad()
        with autograd.record():
            results = [shared(piece) for piece in pieces]
            losses = [(result**2).sum() for result in results]
        for loss in losses:
            loss.backward()
        found = numpy.concatenate([result.asnumpy() for result in results])
        numpy.testing.assert_allclose(found, expected.asnumpy(), 2e-4, 2e-4)
        found = numpy.concatenate([piece.grad.asnumpy() for piece in pieces])
        numpy.testing.assert_allclose(found, data.grad.asnumpy(), 2e-3, 2e-3)
        assert_same(gradients_of(shared, DEVICES), gradients_of(whole, [mx.cpu()]), 2e-3)
        for device in DEVICES:
            assert_same(values_of(shared, device), values_of(whole, mx.cpu()))
    for piece, part in zip(pieces, parts):
        numpy.testing.assert_allclose(shared(piece).asnumpy(), whole(nd.array(part)).asnumpy(), 1e-3, 1e-3)


@pytest.mark.parametrize("dtype", ["float16", "float64"])
def test_other_dtypes(dtype):
    x = numpy.random.RandomState(0).randn(4, 3).astype(dtype)
    layer = SyncBatchNorm(3, num_devices=2)
    layer.cast(dtype)
    layer.initialize(ctx=DEVICES[:2])
    with autograd.record():
        results = [layer(nd.array(x[i : i + 2], ctx=DEVICES[i // 2], dtype=dtype)) for i in (0, 2)]
    assert {str(numpy.dtype(result.dtype)) for result in results} == {dtype}
    wide = x.astype("float64")
    expected = (wide - wide.mean(0)) / numpy.sqrt(wide.var(0) + 1e-5)
    tolerance = 5e-3 if dtype == "float16" else 1e-10
    numpy.testing.assert_allclose(
        numpy.concatenate([r.asnumpy() for r in results]), expected, tolerance, tolerance
    )


def test_gradients_are_those_of_finite_differences():
    x = numpy.random.RandomState(0).randn(5, 2)
    weight = numpy.random.RandomState(1).randn(5, 2)
    parameters = [
        [nd.array(value, ctx=device, dtype="float64") for value in ([1.5, 0.5], [0.1, 0.2], [0, 0], [1, 1])]
        for device in DEVICES[:2]
    ]

    def loss_of(values, backward=False):
        pieces = [
            nd.array(part, ctx=device, dtype="float64")
            for part, device in zip((values[:2], values[2:]), DEVICES)
        ]
        for piece in pieces:
            piece.attach_grad()
        with autograd.record():
            losses = [
                (
                    nd.contrib.SyncBatchNorm(piece, *arrays, key="layer", ndev=2, fix_gamma=False)
                    * nd.array(part, ctx=piece.context, dtype="float64")
                ).sum()
                for piece, arrays, part in zip(pieces, parameters, (weight[:2], weight[2:]))
            ]
        if backward:
            autograd.backward(losses)
            return numpy.concatenate([piece.grad.asnumpy() for piece in pieces])
        return sum(float(loss.asscalar()) for loss in losses)

    gradient = loss_of(x, backward=True)
    step = 1e-6
    for at in numpy.ndindex(x.shape):
        up, down = x.copy(), x.copy()
        up[at] += step
        down[at] -= step
        assert abs((loss_of(up) - loss_of(down)) / (2 * step) - gradient[at]) < 1e-6, at


def test_two_backwards_through_one_forward_meet_each_its_own():
    layer = SyncBatchNorm(2, num_devices=2)
    layer.initialize(ctx=DEVICES[:2])
    pieces = [
        nd.array(numpy.random.RandomState(i).randn(4, 2), ctx=device) for i, device in enumerate(DEVICES[:2])
    ]
    for piece in pieces:
        piece.attach_grad()
    with autograd.record():
        results = [layer(piece) ** 3 for piece in pieces]
    once = []
    for _ in range(2):
        for result in results:
            result.backward(retain_graph=True)
        once.append([piece.grad.asnumpy() for piece in pieces])
    numpy.testing.assert_array_equal(once[0], once[1])
    # The second device goes twice before the first does.
    for result in (results[1], results[1], results[0], results[0]):
        result.backward(retain_graph=True)
    numpy.testing.assert_array_equal([piece.grad.asnumpy() for piece in pieces], once[0])


def test_np_arrays_and_many_layers_in_step():
    """More devices and layers than the machine has cores, some steps ahead of the engine."""
    devices = [mx.cpu(i) for i in range(6)]
    with mx.util.np_array(True), mx.util.np_shape(True):
        net = nn.HybridSequential()
        for _ in range(4):
            net.add(nn.Dense(5, in_units=5), SyncBatchNorm(5, num_devices=6))
        net.initialize(ctx=devices)
        net.hybridize()
        trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.01})
        pieces = [mx.np.random.normal(size=(3, 5), ctx=device) for device in devices]
        for _ in range(10):
            with autograd.record():
                losses = [(net(piece) ** 2).sum() for piece in pieces]
            autograd.backward(losses)
            trainer.step(18)
        assert all(numpy.isfinite(loss.asnumpy()) for loss in losses)
        values = [net[1].running_mean.data(device).asnumpy() for device in devices]
        for value in values:
            numpy.testing.assert_array_equal(value, values[0])


def test_on_simulated_gpus():
    program = (
        "import numpy, headrace as mx\n"
        "from headrace import autograd, nd\n"
        "from headrace.gluon.contrib.nn import SyncBatchNorm\n"
        "layer = SyncBatchNorm()\n"
        "devices = [mx.gpu(i) for i in range(4)]\n"
        "layer.initialize(ctx=devices)\n"
        "x = numpy.random.RandomState(0).randn(8, 3).astype('float32')\n"
        "pieces = [nd.array(x[2 * i : 2 * i + 2], ctx=device) for i, device in enumerate(devices)]\n"
        "with autograd.record():\n"
        "    results = [layer(piece) for piece in pieces]\n"
        "    losses = [(result * result).sum() for result in results]\n"
        "autograd.backward(losses)\n"
        "found = numpy.concatenate([result.asnumpy() for result in results])\n"
        "numpy.testing.assert_allclose(found, (x - x.mean(0)) / numpy.sqrt(x.var(0) + 1e-5), 1e-4, 1e-5)\n"
        "print(layer, layer.gamma.grad(devices[0]).shape)\n"
    )
    environment = {"HEADRACE_SIM_GPUS": "4", "HEADRACE_SIM_STRICT": "1", "HEADRACE_CUDA": "0"}
    done = subprocess.run(
        [sys.executable, "-c", program], env={**os.environ, **environment}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "ndev=4" in done.stdout


def test_a_device_that_fails_fails_the_others():
    layer = SyncBatchNorm(2, num_devices=2)
    layer.initialize(ctx=DEVICES[:2])
    good = nd.ones((4, 2), ctx=DEVICES[0])
    index = nd.array([7], ctx=DEVICES[1])
    broken = nd.take(nd.ones((3, 2), ctx=DEVICES[1]), index, mode="raise")
    with autograd.train_mode():
        results = [layer(good), layer(broken)]
    for result in results:
        with pytest.raises((IndexError, mx.MXNetError)):
            result.asnumpy()
    with autograd.train_mode():
        results = [layer(good), layer(good.as_in_context(DEVICES[1]))]
    assert [result.shape for result in results] == [(4, 2), (4, 2)]
    results[0].wait_to_read()


def test_gradients_of_gradients_are_refused():
    layer = SyncBatchNorm(2, num_devices=2)
    layer.initialize(ctx=DEVICES[:2])
    pieces = [nd.ones((2, 2), ctx=device) for device in DEVICES[:2]]
    for piece in pieces:
        piece.attach_grad()
    with autograd.record():
        results = [layer(piece).sum() for piece in pieces]
        with pytest.raises(mx.MXNetError, match="gradients of gradients do not pass between devices"):
            autograd.grad(results[0], pieces[0], create_graph=True)


def test_the_naive_engine_says_that_nobody_can_wait():
    program = (
        "import headrace as mx\n"
        "from headrace import autograd, nd\n"
        "with autograd.train_mode():\n"
        "    p = [nd.ones((2,)), nd.zeros((2,)), nd.zeros((2,)), nd.ones((2,))]\n"
        "    nd.contrib.SyncBatchNorm(nd.ones((3, 2)), *p, key='bn', ndev=2).asnumpy()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "HEADRACE_ENGINE": "serial"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    assert "SyncBatchNorm bn: 1 of 2 devices have called the layer" in done.stderr


def test_a_module_on_two_devices_trains_as_on_one():
    random = numpy.random.RandomState(0)
    x = random.randn(32, 5).astype("float32")
    y = (x[:, 0] > 0).astype("float32")

    def trained(devices):
        hidden = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=8, name="first")
        hidden = mx.sym.contrib.SyncBatchNorm(
            hidden, ndev=len(devices), key="norm", fix_gamma=False, name="norm"
        )
        last = mx.sym.FullyConnected(mx.sym.Activation(hidden, act_type="relu"), num_hidden=3, name="last")
        module = mx.mod.Module(mx.sym.SoftmaxOutput(last, name="softmax"), context=devices)
        mx.random.seed(1)
        module.fit(
            mx.io.NDArrayIter(x, y, batch_size=16),
            num_epoch=2,
            optimizer_params={"learning_rate": 0.1},
            initializer=mx.init.Xavier(),
        )
        arguments, states = module.get_params()
        return {name: array.asnumpy() for name, array in {**arguments, **states}.items()}

    assert_same(trained(DEVICES[:2]), trained(DEVICES[:1]), 1e-5)
