"""Trains with gradients in another order on each rank, after delays; rank 2 leaves a layer out now and then.

skips.py RUNS UPDATE_ON_KVSTORE KVSTORE: prints a digest of the parameters when all runs and
ranks had the same.
"""

import hashlib
import random
import sys
import time

import headrace as mx
from headrace import autograd, distributed, gluon, nd

STEPS, BATCH = 4, 6


def train(run, update_on_kvstore, kvstore):
    rank = distributed.rank()
    delays = random.Random(1000 * run + rank)
    mx.random.seed(5)
    net = gluon.nn.Sequential(prefix="net_")
    with net.name_scope():
        net.add(*(gluon.nn.Dense(4, in_units=3) for _ in range(3)))
    net.initialize(mx.init.Uniform(0.5))
    optimizer = {"learning_rate": 0.1, "momentum": 0.9}
    trainer = gluon.Trainer(
        net.collect_params(), "sgd", optimizer, kvstore=kvstore, update_on_kvstore=update_on_kvstore
    )
    data = nd.random.uniform(shape=(STEPS, BATCH, 3)) * (rank + 1)
    for step in range(STEPS):
        layers = [0, 1, 2]
        if step == 2:
            layers.remove(2)  # nobody has a gradient for this one
        if rank == 2 and step % 2 == 1:
            layers.remove(1)
        layers = layers[rank % len(layers) :] + layers[: rank % len(layers)]
        with autograd.record():
            loss = sum((net[layer](data[step]) ** 2).sum() for layer in layers)
        time.sleep(delays.random() / 200)
        loss.backward()
        time.sleep(delays.random() / 200)
        trainer.step(BATCH * distributed.size(), ignore_stale_grad=True)
    parameters = [one.data().asnumpy().tobytes() for one in net.collect_params().values()]
    return hashlib.sha256(b"".join(parameters)).hexdigest()


def main(runs, update_on_kvstore, kvstore):
    digests = {train(run, update_on_kvstore == "True", kvstore) for run in range(int(runs))}
    digests.update(*distributed.all_gather_object(digests))
    assert len(digests) == 1, digests
    print("digest", *digests)


main(*sys.argv[1:])
