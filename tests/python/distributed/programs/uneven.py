"""Trains where each worker has another number of batches: `uneven.py FOLDER KVSTORE UPDATE_ON_KVSTORE`.

KVSTORE `horovod`: by Horovod's trainer. Each writes its parameters into FOLDER/RANK.npy; `none` trains alone,
on the sums that all workers would have made.
"""

import sys

import numpy

import headrace as mx
from headrace import autograd, distributed, gluon, nd
from headrace.mxnet import _horovod as hvd

EPOCHS, WORKERS = 3, 3


def batches_of(rank, epoch):
    random = numpy.random.RandomState(10 * rank + epoch)
    return [nd.array(random.rand(4, 5)) for _ in range(2 * ((rank + epoch) % WORKERS))]


def main(folder, kvstore, update_on_kvstore):
    store = mx.kv.create(kvstore) if kvstore.startswith("dist") else kvstore
    rank = store.rank if kvstore.startswith("dist") else 0 if kvstore == "none" else distributed.rank()
    mx.random.seed(1)
    net = gluon.nn.Sequential()
    net.add(gluon.nn.Dense(8, activation="relu", in_units=5), gluon.nn.Dense(1, in_units=8))
    net.initialize(mx.init.Xavier())
    optimizer = "sgd", {"learning_rate": 0.1, "momentum": 0.9, "wd": 0.01}
    if kvstore == "horovod":
        trainer = hvd.DistributedTrainer(net.collect_params(), *optimizer)
    else:
        trainer = gluon.Trainer(
            net.collect_params(),
            *optimizer,
            kvstore=None if kvstore == "none" else store,
            update_on_kvstore={"None": None, "False": False}[update_on_kvstore],
        )
    size = 4 if kvstore == "horovod" else 4 * WORKERS  # its trainer divides by the number of workers
    for epoch in range(EPOCHS):
        if kvstore == "none":
            for batches in sum_of_workers(epoch):
                train(net, trainer, batches, size)
            continue
        for batch in batches_of(rank, epoch):
            train(net, trainer, [batch], size)
        trainer.join(size)
    parameters = [one.data().asnumpy().ravel() for one in net.collect_params().values()]
    numpy.save(f"{folder}/{'alone' if kvstore == 'none' else rank}.npy", numpy.concatenate(parameters))


def sum_of_workers(epoch):
    """The batches of each step of all workers."""
    of_workers = [batches_of(rank, epoch) for rank in range(WORKERS)]
    for step in range(max(map(len, of_workers))):
        yield [batches[step] for batches in of_workers if step < len(batches)]


def train(net, trainer, batches, size):
    with autograd.record():
        loss = sum((net(batch) ** 2).sum() for batch in batches)
    loss.backward()
    trainer.step(size)


main(*sys.argv[1:])
