"""A network learns handwritten digits on several ranks, which sum gradients among themselves by Horovod's calls.

Run it with `python -m headrace.launch --mpi -n 2 python -m headrace.mxnet examples/mxnet/train_horovod.py`.
"""

import argparse

import horovod.mxnet as hvd
import mxnet as mx
from mxnet import autograd, gluon, nd
from mxnet.gluon import nn

BATCH_SIZE = 32  # of each rank


def digits(train):
    """(images in rows from 0 to 1, labels)."""
    images, labels = gluon.data.vision.Digits(train=train)[:]
    return images.astype("float32").reshape((len(labels), -1)) / 255, nd.array(labels)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=20)
    options = parser.parse_args()

    hvd.init()
    images, labels = digits(train=True)
    own = slice(hvd.rank(), len(labels) // hvd.size() * hvd.size(), hvd.size())  # as many for each
    data = gluon.data.DataLoader(
        gluon.data.ArrayDataset(images[own], labels[own]), BATCH_SIZE, shuffle=True, last_batch="discard"
    )
    network = nn.Sequential()
    network.add(nn.Dense(128, activation="relu"), nn.Dense(10))
    network.initialize(mx.init.Xavier())
    parameters = network.collect_params()
    hvd.broadcast_parameters(parameters, root_rank=0)
    trainer = hvd.DistributedTrainer(parameters, "adam", {"learning_rate": 0.003})
    loss_of = gluon.loss.SoftmaxCrossEntropyLoss()

    for epoch in range(options.epochs):
        total = nd.zeros((1,))
        for batch, expected in data:
            with autograd.record():
                loss = loss_of(network(batch), expected)
            loss.backward()
            trainer.step(BATCH_SIZE)
            total += loss.mean() / len(data)
        mean = hvd.allreduce(total).asscalar()
        if hvd.rank() == 0:
            print(f"epoch {epoch + 1}: loss {mean:.4f}")
    if hvd.rank() == 0:
        images, labels = digits(train=False)
        print(f"test accuracy: {(network(images).argmax(axis=1) == labels).mean().asscalar():.4f}")


if __name__ == "__main__":
    main()
