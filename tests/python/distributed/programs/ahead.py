"""One worker waits for the results of a step while others state many more; `ahead.py KIND`.

More exchanges wait for it then than there are threads for, and what it waits for is behind them.
"""

import sys

import headrace as mx
from headrace import distributed, kv, nd

SHAPE, STEPS, WAITS_AFTER = (600, 601), 150, 20
kind = sys.argv[1]


def exchanges():
    gradient, weight = nd.ones((3000,)), nd.zeros((3000,))
    for step in range(STEPS):
        if distributed.rank() == 1 and step == WAITS_AFTER:
            weight.wait_to_read()
        total = distributed.all_reduce(gradient, name="gradient", reduction="max")
        weight = distributed.all_reduce(weight + total, name="weight", reduction="max")
    assert weight[0].asscalar() == STEPS


def updates():
    store, out = kv.create(kind), nd.zeros(SHAPE)
    store.init(["first", "second"], [nd.zeros(SHAPE), nd.zeros(SHAPE)])
    store.set_optimizer(mx.optimizer.SGD(learning_rate=1.0))
    for step in range(STEPS):
        if store.rank == 1 and step == WAITS_AFTER:
            nd.waitall()
        store.pushpull("first", nd.ones(SHAPE), out=out)
        store.pushpull("second", out, out=nd.zeros(SHAPE))
    assert out[0, 0].asscalar() == -STEPS * store.num_workers
    store.barrier()


exchanges()
updates()
print("all as it should be")
