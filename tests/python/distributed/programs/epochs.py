"""Trains with dropout and a shuffled DataLoader: `epochs.py FOLDER KIND EPOCHS [STEP]`.

In its first life worker 0 kills itself when it has made so many steps. Each worker saves its weights and the
numbers that it has seen.
"""

import os
import pathlib
import signal
import sys

import numpy

from headrace import autograd, gluon, init, kv, np, npx, random
from headrace.io import NDArrayIter


def batches_of(kind, rank):
    data = np.arange(44).reshape((11, 4)) / 10 + rank
    if kind == "loader":
        return gluon.data.DataLoader(data, batch_size=2, shuffle=True)
    numpy.random.seed(5)  # the first order is of its constructor
    return NDArrayIter(data.asnumpy(), batch_size=2, shuffle=True)


def main(folder, kind, epochs, step="-1"):
    npx.set_np()
    random.seed(3)
    store = kv.create("dist_sync")
    net = gluon.nn.HybridSequential()
    net.add(
        gluon.nn.Dense(5, activation="tanh", in_units=4), gluon.nn.Dropout(0.5), gluon.nn.Dense(1, in_units=5)
    )
    net.initialize(init.Normal(0.1))
    trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.05}, kvstore=store)
    left = int(step) if os.environ["HEADRACE_RESTARTS"] == "0" else -1
    for epoch, batches in store.epochs(batches_of(kind, store.rank), int(epochs), seed=7):
        print(f"in epoch {epoch}")
        trainer.set_learning_rate(0.05 / (epoch + 1))
        for batch in batches:
            data = batch if kind == "loader" else batch.data[0].as_np_ndarray()
            with autograd.record():
                loss = ((net(data) - data[:, :1]) ** 2).sum()
            loss.backward()
            trainer.step(2 * store.num_workers)
            left -= 1
            if left == 0 and store.rank == 0:
                (pathlib.Path(folder) / "gone").write_text("127.0.0.2")  # its machine, maybe
                os.kill(os.getpid(), signal.SIGKILL)
    weights = numpy.concatenate([one.data().asnumpy().ravel() for one in net.collect_params().values()])
    numpy.save(pathlib.Path(folder) / f"{store.rank}.npy", weights)
    store.barrier()


main(*sys.argv[1:])
