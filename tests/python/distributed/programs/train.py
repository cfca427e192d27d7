"""Trains a small network on one worker's share of each batch, and writes the parameters into FOLDER/RANK.npy.

train.py FOLDER KVSTORE OPTIMIZER [UPDATE_ON_KVSTORE]: a KVSTORE of `none` trains alone, on whole batches.
"""

import sys

import numpy

import headrace as mx
from headrace import autograd, gluon, nd

STEPS, BATCH = 8, 24


def main(folder, kvstore, optimizer, update_on_kvstore="None"):
    store = None if kvstore == "none" else mx.kv.create(kvstore)
    workers, rank = (1, 0) if store is None else (store.num_workers, store.rank)
    random = numpy.random.RandomState(0)
    x, y = random.rand(BATCH, 5).astype("float32"), random.randint(0, 3, BATCH)
    mx.random.seed(1)
    net = gluon.nn.HybridSequential()
    net.add(gluon.nn.Dense(16, activation="relu", in_units=5), gluon.nn.Dense(3, in_units=16))
    net.initialize(mx.init.Xavier())
    net[0].bias.lr_mult = 3.0
    trainer = gluon.Trainer(
        net.collect_params(),
        optimizer,
        {"learning_rate": 0.1},
        kvstore=store,
        update_on_kvstore={"None": None, "False": False}[update_on_kvstore],
    )
    loss = gluon.loss.SoftmaxCrossEntropyLoss()
    for step in range(STEPS):
        if step == 4:
            trainer.set_learning_rate(0.02)
        with autograd.record():
            error = loss(net(nd.array(x[rank::workers])), nd.array(y[rank::workers]))
        error.backward()
        trainer.step(BATCH if step < 6 else 2 * BATCH)
    parameters = [one.data().asnumpy().ravel() for one in net.collect_params().values()]
    numpy.save(f"{folder}/{rank}.npy", numpy.concatenate(parameters))


main(*sys.argv[1:])
