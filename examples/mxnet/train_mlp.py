"""A multilayer perceptron learns handwritten digits: a plain MXNet Gluon program.

Run it with `python -m headrace.mxnet examples/mxnet/train_mlp.py`.
"""

import time

import mxnet as mx
from mxnet import autograd, gluon, nd
from tqdm import tqdm

BATCH_SIZE = 50
EPOCHS = 20


def to_float(image, label):
    """8 x 8 grey levels from 0 to 255 become 64 numbers from 0 to 1."""
    return image.reshape(-1).astype("float32") / 255, label


def make_network():
    network = gluon.nn.Sequential()
    network.add(gluon.nn.Dense(64, activation="relu"), gluon.nn.Dense(64, activation="relu"), gluon.nn.Dense(10))
    network.initialize(mx.init.Xavier())
    return network


def train_epoch(network, batches, trainer, epoch):
    loss_of = gluon.loss.SoftmaxCrossEntropyLoss()
    start, seen, total = time.time(), 0, nd.zeros(1)
    with tqdm(batches, desc=f"epoch {epoch:2d}/{EPOCHS}", unit="batch") as bar:
        for images, labels in bar:
            with autograd.record():
                loss = loss_of(network(images), labels)
            loss.backward()
            trainer.step(len(images))
            total += loss.sum()  # only queued: nothing waits here
            seen += len(images)
        bar.set_postfix_str(
            f"loss {total.asscalar() / seen:.3f}, {seen / (time.time() - start):,.0f} samples/s", refresh=True
        )


def test_accuracy(network, batches):
    accuracy = mx.metric.Accuracy()
    for images, labels in batches:
        accuracy.update(labels, network(images))
    return accuracy.get()[1]


def main():
    mx.random.seed(1)
    digits = gluon.data.vision.Digits
    train_batches = gluon.data.DataLoader(digits(train=True).transform(to_float), BATCH_SIZE, shuffle=True)
    test_batches = gluon.data.DataLoader(digits(train=False).transform(to_float), BATCH_SIZE)
    network = make_network()
    trainer = gluon.Trainer(network.collect_params(), "adam", {"learning_rate": 0.003})
    for epoch in range(1, EPOCHS + 1):
        train_epoch(network, train_batches, trainer, epoch)
    print(f"test accuracy: {test_accuracy(network, test_batches):.2f}")


if __name__ == "__main__":
    main()
