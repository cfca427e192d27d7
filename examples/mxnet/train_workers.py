"""A network learns handwritten digits in several processes, each of which has its share of the images.

Run it with `python -m headrace.launch -n 2 python -m headrace.mxnet examples/mxnet/train_workers.py`.
"""

import argparse

import mxnet as mx
from mxnet import autograd, gluon, nd
from mxnet.gluon import nn

BATCH_SIZE = 64  # of all workers together


def digits(train):
    """(images in rows from 0 to 1, labels)."""
    images, labels = gluon.data.vision.Digits(train=train)[:]
    return images.astype("float32").reshape((len(labels), -1)) / 255, nd.array(labels)


def accuracy_on(network, images, labels):
    return (network(images).argmax(axis=1) == labels).mean().asscalar()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--kvstore", default="dist_sync", help="dist_sync or dist_async")
    options = parser.parse_args()

    store = mx.kv.create(options.kvstore)
    mx.random.seed(7)  # the same order of images, and the same first parameters, for all
    images, labels = digits(train=True)
    network = nn.Sequential()
    network.add(nn.Dense(128, activation="relu"), nn.Dense(10))
    network.initialize(mx.init.Xavier())
    trainer = gluon.Trainer(network.collect_params(), "adam", {"learning_rate": 0.003}, kvstore=store)
    loss_of = gluon.loss.SoftmaxCrossEntropyLoss()

    for epoch in range(options.epochs):
        order = nd.random.shuffle(nd.arange(len(labels)))
        total = nd.zeros((1,))
        for start in range(0, len(labels) - BATCH_SIZE + 1, BATCH_SIZE):
            mine = order[start + store.rank : start + BATCH_SIZE : store.num_workers]
            with autograd.record():
                loss = loss_of(network(images.take(mine)), labels.take(mine))
            loss.backward()
            trainer.step(BATCH_SIZE)
            total += loss.mean()
        if store.rank == 0:
            print(f"epoch {epoch + 1}: loss {total.asscalar() / (len(labels) // BATCH_SIZE):.4f}")
    if store.rank == 0:
        print(f"test accuracy: {accuracy_on(network, *digits(train=False)):.4f}")


if __name__ == "__main__":
    main()
