"""Two workers exchange arrays beside a store, and all primaries that have backups end, so often: TIMES."""

import sys

import numpy
from replicas import end_primaries

from headrace import distributed, kv, nd

STEPS = 14


def own(rank, step, size):
    return numpy.sin(numpy.arange(size) + 7 * rank + step).astype("float32")


def main(times):
    rank, size = distributed.rank(), distributed.size()
    store = kv.create("dist_sync")
    store.init("w", nd.zeros((5,)))
    for step in range(STEPS):
        if rank == 0 and step in range(3, 3 + 3 * times, 3):
            end_primaries(epoch=step // 3)
        length = 400_003 if step % 2 else 11
        sums = [distributed.all_reduce(nd.array(own(rank, step + i, length))) for i in range(3)]
        gathered = distributed.all_gather(nd.array(own(rank, step, rank + 2)))
        store.push("w", nd.ones((5,)))
        for i, total in enumerate(sums):
            expected = sum(own(other, step + i, length) for other in range(size))
            assert (total.asnumpy() == expected).all(), f"step {step}, {i}"
        rows = [own(other, step, other + 2) for other in range(size)]
        assert (gathered.asnumpy() == numpy.concatenate(rows)).all()
        assert distributed.broadcast_object(step if rank == 1 else None, root=1) == step
    out = nd.zeros((5,))
    store.pull("w", out=out)
    print("all as it should be", flush=True)


main(int(sys.argv[1]))
