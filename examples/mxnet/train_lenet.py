"""LeNet learns handwritten digits: a plain MXNet Gluon program.

Run it with `python -m headrace.mxnet examples/mxnet/train_lenet.py`.
"""

import argparse
import math
import time

import mxnet as mx
import numpy
from mxnet import autograd, gluon, nd
from mxnet.gluon import nn
from mxnet.gluon.data.vision import transforms
from tqdm import tqdm

BATCH_SIZE = 50


def load_digits(train, samples=None):
    """Batches of 28 x 28 images, values 0 to 1, and their labels; the first `samples` of them."""
    digits = gluon.data.vision.Digits(train=train).take(samples)
    to_input = transforms.Compose([transforms.Resize(28), transforms.ToTensor()])
    return gluon.data.DataLoader(digits.transform_first(to_input), BATCH_SIZE, shuffle=train)


def shifted(images):
    """The images of a batch, moved by up to three pixels."""
    padded = nd.pad(images, mode="constant", pad_width=(0, 0, 0, 0, 3, 3, 3, 3))
    top, left = (int(start) for start in numpy.random.randint(7, size=2))
    return padded[:, :, top : top + 28, left : left + 28]


def make_network():
    network = nn.HybridSequential()
    network.add(
        nn.Conv2D(20, kernel_size=5, activation="relu"),
        nn.MaxPool2D(pool_size=2, strides=2),
        nn.Conv2D(50, kernel_size=5, activation="relu"),
        nn.MaxPool2D(pool_size=2, strides=2),
        nn.Dense(256, activation="relu"),
        nn.Dropout(0.5),
        nn.Dense(10),
    )
    network.initialize(mx.init.Xavier())
    network.hybridize()
    return network


def train_epoch(network, batches, trainer, title):
    loss_of = gluon.loss.SoftmaxCrossEntropyLoss()
    start, seen, total = time.time(), 0, nd.zeros((1,))
    with tqdm(total=len(batches), desc=title, unit="batch") as bar:
        for images, labels in batches:
            images = shifted(images)
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
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--samples", type=int, help="train on the first so many images (default: all)")
    arguments = parser.parse_args()
    mx.random.seed(1)
    numpy.random.seed(1)  # for the order of the images and their shifts
    train, test = load_digits(True, arguments.samples), load_digits(False)
    network = make_network()
    trainer = gluon.Trainer(network.collect_params(), "adam")
    for epoch in range(1, arguments.epochs + 1):
        trainer.set_learning_rate(0.001 + 0.001 * math.cos(math.pi * (epoch - 1) / arguments.epochs))
        train_epoch(network, train, trainer, f"epoch {epoch:2d}/{arguments.epochs}")
    print(f"test accuracy: {test_accuracy(network, test):.3f}")


if __name__ == "__main__":
    main()
