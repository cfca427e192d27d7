"""Two workers train, and all primaries that have backups end, so often: `replicas.py KIND TIMES`."""

import os
import pathlib
import signal
import sys
import time

import numpy

from headrace import kv, nd, optimizer

SERVERS = 2
STEPS = 12
SHAPES = {"small": (3,), "split": (40, 50), "rows": (30, 4), "few": (400, 4), "of_dense": (300, 3)}
ROWS = {  # of which gradients are row_sparse: from the rank of the worker on, every so many
    "rows": lambda step: 2 + step % 3,
    "few": lambda step: 37 + step,
    "of_dense": lambda step: 50 - step,
}
RULES = {
    "compressed": lambda: optimizer.SGD(learning_rate=0.1, momentum=0.9),
    "mixed": optimizer.Adam,
    "adam": optimizer.Adam,
    "sgd": lambda: optimizer.SGD(momentum=0.9, wd=0.01),
    "adagrad": optimizer.AdaGrad,
    "ftrl": optimizer.Ftrl,
}
KEYS = {"compressed": ["small", "split"], "mixed": ["small", "split", "rows"]}


def main(what, times):
    store = kv.create("dist_sync")
    if what == "compressed":
        store.set_gradient_compression({"type": "2bit", "threshold": 0.5})
    rule = RULES[what]()
    store.set_optimizer(rule)
    keys = KEYS.get(what, list(ROWS))
    outs = {key: zeros(key) for key in keys}
    for key in keys:
        store.init(key, zeros(key))
    for step in range(STEPS):
        if store.rank == 0 and step in range(4, 4 + 3 * times, 3):
            end_primaries(epoch=step // 3)
        if step % 3 == 1 and what != "compressed":
            rule.set_learning_rate(0.01 * step)
        for key in keys:
            store.push(key, gradient(store.rank, key, step))
    pull(store, outs)
    store.barrier()
    if store.rank == 0:
        store.save_optimizer_states("after.states", dump_optimizer=True)
        numpy.savez("weights.npz", **{key: out.asnumpy() for key, out in outs.items()})
    store.barrier()


def zeros(key):
    return nd.zeros(SHAPES[key], stype="row_sparse") if key in ("rows", "few") else nd.zeros(SHAPES[key])


def gradient(rank, key, step):
    size = int(numpy.prod(SHAPES[key]))
    values = numpy.sin(numpy.arange(size) + 7 * rank + step).astype("float32").reshape(SHAPES[key])
    if key not in ROWS:
        return nd.array(values)
    ids = numpy.arange(rank, SHAPES[key][0], ROWS[key](step))
    return nd.sparse.row_sparse_array((values[ids], ids), shape=SHAPES[key])


def pull(store, outs):
    for key, out in outs.items():
        if out.stype == "row_sparse":
            store.row_sparse_pull(key, out=out, row_ids=nd.arange(SHAPES[key][0]))
        else:
            store.pull(key, out=out)


def end_primaries(epoch):
    while len(primaries := _primaries(epoch)) < SERVERS:
        time.sleep(0.02)
    for process in primaries:
        os.kill(process, signal.SIGKILL)


def _primaries(epoch):
    """Processes that serve in an epoch, and have a backup that has all; in the first one they have."""
    line = "serving" if epoch == 1 else "backed"
    found = []
    for history in pathlib.Path(os.environ["HEADRACE_HISTORY"]).glob("*-server-*"):
        if any(line in one and one.endswith(f" {epoch}") for one in history.read_text().splitlines()):
            found.append(int(history.stem.rpartition("-")[2]))
    return found


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
