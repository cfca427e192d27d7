"""Two workers train; halfway all primaries end: `replicas.py KIND lose`, or none: `replicas.py KIND keep`."""

import os
import pathlib
import signal
import sys

import numpy

from headrace import kv, nd, optimizer

STEPS = 12
SHAPES = {"small": (3,), "split": (40, 50), "rows": (30, 4)}


def main(what, loses):
    store = kv.create("dist_sync")
    if what == "compressed":
        store.set_gradient_compression({"type": "2bit", "threshold": 0.5})
    rule = optimizer.SGD(learning_rate=0.1, momentum=0.9) if what == "compressed" else optimizer.Adam()
    store.set_optimizer(rule)
    keys = ["small", "split"] if what == "compressed" else list(SHAPES)
    outs = {key: zeros(key) for key in keys}
    for key in keys:
        store.init(key, zeros(key))
    for step in range(STEPS):
        if loses and store.rank == 0 and step == STEPS // 2:
            end_primaries()
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
    return nd.zeros(SHAPES[key], stype="row_sparse") if key == "rows" else nd.zeros(SHAPES[key])


def gradient(rank, key, step):
    size = int(numpy.prod(SHAPES[key]))
    values = numpy.sin(numpy.arange(size) + 7 * rank + step).astype("float32").reshape(SHAPES[key])
    if key != "rows":
        return nd.array(values)
    ids = numpy.arange(rank, SHAPES[key][0], 2 + step % 3)
    return nd.sparse.row_sparse_array((values[ids], ids), shape=SHAPES[key])


def pull(store, outs):
    for key, out in outs.items():
        if key == "rows":
            store.row_sparse_pull(key, out=out, row_ids=nd.arange(SHAPES[key][0]))
        else:
            store.pull(key, out=out)


def end_primaries():
    for history in pathlib.Path(os.environ["HEADRACE_HISTORY"]).glob("*-server-*"):
        if "serving" in history.read_text():
            os.kill(int(history.stem.rpartition("-")[2]), signal.SIGKILL)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2] == "lose")
