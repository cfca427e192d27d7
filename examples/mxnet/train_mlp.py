"""A multilayer perceptron learns handwritten digits: a plain MXNet Gluon program.

Run it with `python -m headrace.mxnet examples/mxnet/train_mlp.py`.
"""

import math
import time

import mxnet as mx
import numpy
from mxnet import autograd, gluon, nd
from mxnet.gluon import nn
from tqdm import tqdm

BATCH_SIZE = 50
EPOCHS = 30


def to_unit_range(image, label):
    """Makes 8 x 8 x 1 grey levels from 0 to 255 into 8 x 8 numbers from 0 to 1."""
    return image.reshape((8, 8)).astype("float32") / 255, label


def shifted(images, axis):
    """Moves each image along an axis at random, by up to half a pixel."""
    border = nd.zeros_like(nd.slice_axis(images, axis=axis, begin=0, end=1))
    left = nd.concat(nd.slice_axis(images, axis=axis, begin=1, end=None), border, dim=axis)
    right = nd.concat(border, nd.slice_axis(images, axis=axis, begin=0, end=-1), dim=axis)
    step = nd.random.uniform(-0.5, 0.5, shape=(len(images), 1, 1))
    return (1 - nd.abs(step)) * images + nd.relu(-step) * left + nd.relu(step) * right


def augmented(images):
    """New images from known ones: other writers place their digits elsewhere, and use other pens."""
    images = shifted(shifted(images, axis=1), axis=2)
    return images + nd.random.normal(scale=0.1, shape=images.shape)


def make_network():
    network = nn.Sequential()
    network.add(nn.Flatten(), nn.LayerNorm())
    for width in (256, 128):
        network.add(nn.Dense(width), nn.LayerNorm(), nn.Activation("relu"))
    network.add(nn.Dense(10))
    network.initialize(mx.init.Xavier())
    return network


def train_epoch(network, batches, trainer, title):
    loss_of = gluon.loss.SoftmaxCrossEntropyLoss()
    start, seen, total = time.time(), 0, nd.zeros((1,))
    with tqdm(total=len(batches), desc=title, unit="batch") as bar:
        for images, labels in batches:
            images = augmented(images)
            with autograd.record():
                loss = loss_of(network(images), labels)
            loss.backward()
            trainer.step(len(images))
            total += loss.sum()  # queued like all the rest: nothing waits here
            seen += len(images)
            bar.update()
        mean = total.asscalar() / seen  # waits for the whole epoch
        bar.set_postfix_str(f"loss {mean:.3f}, {seen / (time.time() - start):,.0f} samples/s")


def test_accuracy(network, batches):
    accuracy = mx.metric.Accuracy()
    for images, labels in batches:
        accuracy.update(labels, network(images))
    return accuracy.get()[1]


def main():
    mx.random.seed(1)
    numpy.random.seed(1)  # for the order of the images
    digits = gluon.data.vision.Digits
    train = gluon.data.DataLoader(digits(train=True).transform(to_unit_range), BATCH_SIZE, shuffle=True)
    test = gluon.data.DataLoader(digits(train=False).transform(to_unit_range), BATCH_SIZE)
    network = make_network()
    trainer = gluon.Trainer(network.collect_params(), "adam")
    for epoch in range(1, EPOCHS + 1):
        trainer.set_learning_rate(0.001 + 0.001 * math.cos(math.pi * (epoch - 1) / EPOCHS))
        train_epoch(network, train, trainer, f"epoch {epoch:2d}/{EPOCHS}")
    print(f"test accuracy: {test_accuracy(network, test):.2f}")


if __name__ == "__main__":
    main()
