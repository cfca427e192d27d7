"""Training whose settings change: `changing.py FOLDER RULE KIND KILLED`; KIND `alone`: without a store."""

import os
import pathlib
import signal
import sys

import numpy

from headrace import autograd, gluon, init, kv, nd

BATCHES = [nd.array([[1, 2], [0, 1]]), nd.array([[2, 1]]), nd.array([[1, 1], [3, 0], [0, 2]])]


def main(folder, rule, kind, killed):
    """The same data on all workers, so that these do what one does alone.

    The learning rate changes in epoch 1. With KILLED, worker 1 of the first life is killed in epoch 3, and
    worker 0 has saved a checkpoint in epoch 2.
    """
    store = None if kind == "alone" else kv.create(kind)
    workers, rank = (store.num_workers, store.rank) if store else (1, 0)
    is_killed = killed == "True" and os.environ.get("HEADRACE_RESTARTS") == "0"
    net = gluon.nn.Dense(1, in_units=2, use_bias=False)
    net.initialize(init.One())
    options = {"learning_rate": 0.1, **({"momentum": 0.9} if rule == "lars" else {})}
    trainer = gluon.Trainer(net.collect_params(), rule, options, kvstore=store)
    for epoch, batches in store.epochs(BATCHES, 4) if store else ((epoch, BATCHES) for epoch in range(4)):
        if epoch == 1:
            trainer.set_learning_rate(0.05)
        for place, data in enumerate(batches):
            with autograd.record():
                loss = (net(data) ** 2).sum()
            loss.backward()
            trainer.step(workers * len(data))
            nd.waitall()
            if is_killed and (epoch, rank, place) == (2, 0, 1):
                store.save_checkpoint()
            if is_killed and (epoch, rank) == (3, 1):
                os.kill(os.getpid(), signal.SIGKILL)
    if rank == 0:
        numpy.save(pathlib.Path(folder) / "weights.npy", net.weight.data().asnumpy())


def asynchronous():
    """Gradients of 1; worker 1 divides its own by 4 from its second step on."""
    store = kv.create("dist_async")
    net = gluon.nn.Dense(1, in_units=1, use_bias=False)
    net.initialize(init.Zero())
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 1.0}, kvstore=store)
    seen = []
    for turn, (rank, batch_size) in enumerate([(0, 1), (1, 1), (0, 1), (1, 4), (0, 1), (1, 4), (0, 2)]):
        if store.rank == rank:
            with autograd.record():
                loss = net(nd.ones((1, 1)))
            loss.backward()
            trainer.step(batch_size)
            nd.waitall()
            seen.append((turn, float(net.weight.data().asscalar())))
        store.barrier()
    print(*(f"{turn}:{value}" for turn, value in seen))


if __name__ == "__main__":
    asynchronous(*sys.argv[2:]) if sys.argv[1] == "asynchronous" else main(*sys.argv[1:])
