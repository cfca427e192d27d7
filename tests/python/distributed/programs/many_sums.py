"""Sums of many sizes RUNS times, after delays of each rank: prints a digest of all bits."""

import hashlib
import random
import sys
import time

import numpy

from headrace import distributed, kv, nd

SIZES = (10, 5000, 300_000)  # sent whole, in one chunk, in several


def run(number, values):
    """The bytes of the sums of a store and of exchanges that are on their way at the same time."""
    delays = random.Random(1000 * number + distributed.rank())
    store = kv.create("mpi")
    outs = []
    for key, value in enumerate(values):
        store.init(key, nd.zeros(value.shape, dtype=value.dtype))
    order = list(range(len(values)))
    delays.shuffle(order)
    for key in order:
        time.sleep(delays.random() / 300)
        store.push(key, values[key])
    for key, value in enumerate(values):
        outs.append(nd.zeros(value.shape, dtype=value.dtype))
        outs.append(distributed.all_reduce(value))
        store.pull(key, out=outs[-2])
    return b"".join(out.asnumpy().tobytes() for out in outs)


def main(runs):
    source = numpy.random.RandomState(distributed.rank())
    values = [nd.array(source.rand(size), dtype=dtype) for size in SIZES for dtype in ("float32", "float16")]
    digests = {hashlib.sha256(run(number, values)).hexdigest() for number in range(int(runs))}
    digests.update(*distributed.all_gather_object(digests))
    assert len(digests) == 1, digests
    print("digest", *digests)


main(*sys.argv[1:])
