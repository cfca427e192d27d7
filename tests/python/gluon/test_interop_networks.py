"""Networks built from layers take MXNet's exported parameters and give MXNet's outputs and gradients."""

import json

import numpy
import pytest

from headrace import autograd, gluon, nd, np, npx
from headrace.gluon import nn


class Residual(nn.HybridBlock):
    def __init__(self, channels, use_1x1conv=False, strides=1, **kwargs):
        super().__init__(**kwargs)
        with self.name_scope():
            self.conv1 = nn.Conv2D(channels, kernel_size=3, padding=1, strides=strides)
            self.conv2 = nn.Conv2D(channels, kernel_size=3, padding=1, use_bias=False)
            self.conv3 = nn.Conv2D(channels, kernel_size=1, strides=strides) if use_1x1conv else None
            self.bn1, self.bn2 = nn.BatchNorm(), nn.BatchNorm(epsilon=1e-3, momentum=0.8)

    def hybrid_forward(self, F, x):
        y = F.relu(self.bn1(self.conv1(x)))
        y = self.bn2(self.conv2(y))
        return F.relu(y + (self.conv3(x) if self.conv3 else x))


def mlp_np():
    return [nn.Dense(256, activation="relu"), nn.Dense(128, activation="relu"), nn.Dense(2)]


def lenet():
    return [
        nn.Conv2D(6, kernel_size=5, padding=2, activation="sigmoid"),
        nn.AvgPool2D(pool_size=2, strides=2),
        nn.Conv2D(16, kernel_size=5, activation="sigmoid"),
        nn.AvgPool2D(pool_size=2, strides=2),
        nn.Dense(120, activation="sigmoid"),
        nn.Dense(84, activation="sigmoid"),
        nn.Dense(10),
    ]


def resnet_thin():
    return [
        nn.Conv2D(8, kernel_size=3, strides=1, padding=1),
        nn.BatchNorm(),
        nn.Activation("relu"),
        nn.MaxPool2D(3, 2, 1),
        Residual(8),
        Residual(8),
        Residual(12, True, 2),
        Residual(12),
        Residual(16, True, 2),
        nn.GlobalAvgPool2D(),
        nn.Dense(5),
    ]


@pytest.fixture(params=[mlp_np, lenet, resnet_thin], ids=lambda make: make.__name__)
def network(interop, request):
    """A network with MXNet's parameters, its input, the output it should give, and the folder of all that."""
    name = request.param.__name__
    folder = interop / "networks" / name
    meta = json.loads((folder / "meta.json").read_text())
    if meta["mode"] == "np":
        npx.set_np()
    net = nn.HybridSequential(prefix=name.partition("_")[0] + "_")
    with net.name_scope():
        net.add(*request.param())
    net.collect_params().load(str(folder / meta["params"]))
    x = numpy.load(folder / meta["inputs"][0]["file"])
    yield net, (np if meta["mode"] == "np" else nd).array(x), numpy.load(folder / meta["outputs"][0]), folder
    npx.reset_np()


def close(actual, expected, message=""):
    numpy.testing.assert_allclose(actual.asnumpy(), expected, rtol=1e-4, atol=1e-5, err_msg=message)


def test_outputs(network):
    net, x, expected, _ = network
    close(net(x), expected)
    net.hybridize()
    close(net(x), expected)


@pytest.mark.parametrize("is_hybrid", [False, True])
@pytest.mark.parametrize("network", [resnet_thin], indirect=True)
def test_gradients(network, is_hybrid):
    net, x, _, folder = network
    expected = numpy.load(folder / "gradients.npz")
    loss_of = gluon.loss.SoftmaxCrossEntropyLoss()
    if is_hybrid:
        net.hybridize()
    with autograd.record():
        loss = loss_of(net(x), nd.array([0, 3, 4, 1])).mean()
    loss.backward()
    close(loss, expected["loss"].reshape(1))
    for name, param in net.collect_params().items():
        if param.grad_req == "null":
            close(param.data(), expected[f"after:{name}"], name)
        else:
            close(param.grad(), expected[f"grad:{name}"], name)
