"""LeNet with batch normalization learns handwritten digits: a plain MXNet Gluon program.

Run it with `python -m headrace.mxnet examples/mxnet/train_lenet.py`, or as two workers that share each batch,
and two servers that keep the parameters and run the optimizer, by the same command and `--kvstore dist_sync`
after `python -m headrace.launch -n 2 -s 2`.
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

BATCH_SIZE = 50  # of all workers together


def load_digits(train, samples=None, workers=1, rank=0):
    """A worker's batches of the first `samples`: 28 x 28 images, values 0 to 1, and labels."""
    digits = gluon.data.vision.Digits(train=train).take(samples)
    digits = digits.shard(workers, rank).take(len(digits) // workers)  # as many for each
    to_input = transforms.Compose([transforms.Resize(28), transforms.ToTensor()])
    batch_size = max(1, BATCH_SIZE // workers)
    return gluon.data.DataLoader(digits.transform_first(to_input), batch_size, shuffle=train)


def distorted(images):
    """New images from known ones: each is turned, sheared, zoomed, moved and lit differently at random."""

    def amounts(most):
        return numpy.random.uniform(-most, most, (len(images), 1, 1))

    height, width = images.shape[2:]
    y, x = numpy.mgrid[:height, :width] - (height - 1) / 2
    angle = amounts(0.2)
    rows = (1 + amounts(0.12)) * (numpy.cos(angle) * y - numpy.sin(angle) * x) + amounts(0.15) * x
    columns = (1 + amounts(0.12)) * (numpy.sin(angle) * y + numpy.cos(angle) * x)
    rows = (rows + amounts(2.5) + (height - 1) / 2).clip(0, height - 1.001)
    columns = (columns + amounts(2.5) + (width - 1) / 2).clip(0, width - 1.001)
    top, left = rows.astype(int), columns.astype(int)
    down, right = rows - top, columns - left
    pixels, number = images.asnumpy()[:, 0], numpy.arange(len(images)).reshape(-1, 1, 1)
    upper = pixels[number, top, left] * (1 - right) + pixels[number, top, left + 1] * right
    lower = pixels[number, top + 1, left] * (1 - right) + pixels[number, top + 1, left + 1] * right
    between = upper * (1 - down) + lower * down
    return nd.array((between * (1 + amounts(0.3)))[:, None], dtype="float32")


def make_network():
    network = nn.HybridSequential()
    network.add(
        nn.Conv2D(32, kernel_size=5, use_bias=False),
        nn.BatchNorm(),
        nn.Activation("relu"),
        nn.MaxPool2D(pool_size=2, strides=2),
        nn.Conv2D(64, kernel_size=5, use_bias=False),
        nn.BatchNorm(),
        nn.Activation("relu"),
        nn.MaxPool2D(pool_size=2, strides=2),
        nn.Dense(256, use_bias=False),
        nn.BatchNorm(),
        nn.Activation("relu"),
        nn.Dropout(0.5),
        nn.Dense(10),
    )
    network.initialize(mx.init.Xavier())
    network.hybridize()
    return network


def train_epoch(network, batches, trainer, store, title):
    loss_of = gluon.loss.SoftmaxCrossEntropyLoss()
    start, seen, total = time.time(), 0, nd.zeros((1,))
    with tqdm(total=len(batches), desc=title, unit="batch", disable=store.rank > 0) as bar:
        for images, labels in batches:
            images = distorted(images)
            with autograd.record():
                loss = loss_of(network(images), labels)
            loss.backward()
            trainer.step(len(images) * store.num_workers)
            total += loss.sum()  # queued like all the rest: nothing waits here
            seen += len(images)
            bar.update()
        mean = total.asscalar() / seen  # waits for the whole epoch
        speed = seen * store.num_workers / (time.time() - start)
        bar.set_postfix_str(f"loss {mean:.3f}, {speed:,.0f} samples/s")


def test_accuracy(network, batches):
    accuracy = mx.metric.Accuracy()
    for images, labels in batches:
        accuracy.update(labels, network(images))
    return accuracy.get()[1]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--samples", type=int, help="train on the first so many images (default: all)")
    parser.add_argument("--kvstore", default="device", help="device, or of several workers dist_sync or mpi")
    arguments = parser.parse_args()
    store = mx.kv.create(arguments.kvstore)
    mx.random.seed(1)  # the same first parameters for all
    numpy.random.seed(1 + store.rank)  # for the order of the images and their distortions
    train = load_digits(True, arguments.samples, store.num_workers, store.rank)
    network = make_network()
    trainer = gluon.Trainer(network.collect_params(), "adam", kvstore=store)
    for epoch in range(1, arguments.epochs + 1):
        trainer.set_learning_rate(0.001 + 0.001 * math.cos(math.pi * (epoch - 1) / arguments.epochs))
        train_epoch(network, train, trainer, store, f"epoch {epoch:2d}/{arguments.epochs}")
    if store.rank == 0:
        print(f"test accuracy: {test_accuracy(network, load_digits(False)):.3f}")


if __name__ == "__main__":
    main()
