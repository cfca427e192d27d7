"""What quantization costs a trained network: real digits."""

import pytest

import headrace as mx
from headrace import autograd, gluon, nd
from headrace.gluon import nn
from headrace.mxnet.contrib import quantization


def digits(train):
    images, labels = gluon.data.vision.Digits(train=train)[:]
    return nd.array(images.reshape((-1, 1, 8, 8)), dtype="float32") / 16, nd.array(labels)


def accuracy(net, images, labels):
    return float((net(images).argmax(axis=1) == labels).mean().asscalar())


@pytest.fixture(scope="module")
def trained():
    """A small residual network, and its data."""
    mx.random.seed(3)
    net = nn.HybridSequential()
    net.add(nn.Conv2D(16, 3, padding=1, use_bias=False), nn.BatchNorm(), nn.Activation("relu"))
    net.add(gluon.model_zoo.vision.BasicBlockV1(32, 2, downsample=True), nn.GlobalAvgPool2D(), nn.Dense(10))
    net.initialize(mx.init.Xavier())
    net.hybridize()
    images, labels = digits(train=True)
    trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.005})
    loss_of = gluon.loss.SoftmaxCrossEntropyLoss()
    for _ in range(20):
        for begin in range(0, 1500, 50):
            with autograd.record():
                loss = loss_of(net(images[begin : begin + 50]), labels[begin : begin + 50])
            loss.backward()
            trainer.step(50)
    return net, images, digits(train=False)


@pytest.mark.parametrize("calib_mode", ["naive", "entropy"])
@pytest.mark.parametrize("dtype", ["auto", "int8"])
def test_a_network_of_bytes_recognizes_what_that_of_floats_does(trained, calib_mode, dtype):
    net, images, (test_images, test_labels) = trained
    before = accuracy(net, test_images, test_labels)
    assert before > 0.9
    loader = gluon.data.DataLoader(gluon.data.ArrayDataset(images[:500]), batch_size=100)
    small = quantization.quantize_net_v2(
        net, quantized_dtype=dtype, calib_mode=calib_mode, calib_data=loader, ctx=mx.cpu()
    )
    assert accuracy(small, test_images, test_labels) >= before - 0.01
