"""Trains at two bits an element, by factors and rates that change: `compressed.py FOLDER KVSTORE`.

With `none` one process does what all workers do: it has their gradients, and keeps for each what compression
leaves out. Both write the parameters into FOLDER.
"""

import os
import pathlib
import sys

import numpy

import headrace as mx
from headrace import autograd, gluon, nd

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))

from chaos.training import THRESHOLD, Residual

WORKERS, STEPS, BATCH = 2, 10, 8


def network():
    mx.random.seed(1)
    net = gluon.nn.HybridSequential(prefix="net_")
    with net.name_scope():
        net.add(gluon.nn.Dense(16, activation="tanh", in_units=5), gluon.nn.Dense(3, in_units=16))
    net.initialize(mx.init.Xavier())
    net[0].bias.lr_mult = 3.0
    return net


def gradients(net, rank, step):
    """Those of a worker are in the network's parameters then."""
    random = numpy.random.RandomState(100 * step + rank)
    x, y = random.rand(BATCH, 5).astype("float32"), random.randint(0, 3, BATCH)
    with autograd.record():
        loss = 2 * gluon.loss.SoftmaxCrossEntropyLoss()(net(nd.array(x)), nd.array(y))
    loss.backward()


def change(net, trainer, step):
    if step == 4:
        trainer.set_learning_rate(0.02)
    if step == 6:
        net[1].weight.lr_mult = 0.5


def trainer_of(net, **options):
    return gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1, "momentum": 0.9}, **options)


def shared(net, kvstore):
    store = mx.kv.create(kvstore)
    assert store.num_workers == WORKERS
    trainer = trainer_of(net, kvstore=store, compression_params={"type": "2bit", "threshold": THRESHOLD})
    for step in range(STEPS):
        change(net, trainer, step)
        gradients(net, store.rank, step)
        trainer.step(WORKERS * BATCH)
    return store.rank


def alone(net):
    trainer = trainer_of(net, kvstore=None)
    parameters = list(net.collect_params().values())
    residuals = [[Residual() for _ in parameters] for _ in range(WORKERS)]
    for step in range(STEPS):
        change(net, trainer, step)
        sums = [0] * len(parameters)
        for rank, of_worker in enumerate(residuals):
            gradients(net, rank, step)
            sent = [left.sent_of(one.grad().asnumpy()) for left, one in zip(of_worker, parameters)]
            sums = [before + one for before, one in zip(sums, sent)]
        assert any(numpy.count_nonzero(one) for one in sums)
        for one, total in zip(parameters, sums):
            one.grad()[:] = nd.array(total)
        trainer.step(WORKERS * BATCH)
    return "alone"


def main(folder, kvstore):
    net = network()
    name = alone(net) if kvstore == "none" else shared(net, kvstore)
    arrays = [one.data().asnumpy() for one in net.collect_params().values()]
    numpy.savez(os.path.join(folder, f"{name}.npz"), *arrays)


main(*sys.argv[1:])
