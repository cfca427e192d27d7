"""What each process of a job with a store runs; servers and schedulers get no further than the store.

python worker.py FOLDER KIND KEYS ELEMENTS ROUNDS
"""

import sys

from rounds import Member

import headrace as mx


def main(folder, kind, *numbers):
    keys, elements, rounds = map(int, numbers)
    store = mx.kv.create(kind)
    names = list(range(keys))
    gradients, sums = ([mx.nd.full((elements,), value) for _ in names] for value in (store.rank + 1, 0))
    store.init(names, sums)
    store.barrier()

    def exchange():
        store.pushpull(names, gradients, out=sums)
        mx.nd.waitall()

    Member(folder, store.rank).run(rounds, exchange)
    expected = store.num_workers * (store.num_workers + 1) / 2
    if any((one.asnumpy() != expected).any() for one in sums):
        sys.exit(f"worker {store.rank}: a sum is wrong")
    store.barrier()


if __name__ == "__main__":
    main(*sys.argv[1:])
