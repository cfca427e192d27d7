"""How long ranks need to sum the gradients of 44 parameters of 1 MB and to update by them: each all of them,
as the store 'mpi' does, or each its share of every one, as 'mpi_sharded'.

`python benchmarks/ranks/updates.py [-n RANKS...]` prints the best time of each.
"""

import functools

from pushpull import best
from starting import least_of, options_of

ARRAYS, ELEMENTS = 44, 1 << 18
KINDS = ("mpi", "mpi_sharded")


def seconds_of(kind, optimizer):
    """(seconds, rank) of one step."""
    from headrace import kv, nd
    from headrace import optimizer as optimizers

    store, keys = kv.create(kind), list(range(ARRAYS))
    gradients = [nd.ones((ELEMENTS,)) for _ in keys]
    weights = [nd.ones((ELEMENTS,)) for _ in keys]
    store.init(keys, weights)
    store.set_optimizer(optimizers.create(optimizer, learning_rate=0.01))

    def run():
        store.pushpull(keys, gradients, out=weights)
        nd.waitall()

    run()
    seconds = best(run, store.barrier)
    assert (weights[-1][0] == weights[-1][-1]).asscalar()
    return seconds, store.rank


WAYS = {
    f"{optimizer}, {kind}": functools.partial(seconds_of, kind, optimizer)
    for optimizer in ("sgd", "adam")
    for kind in KINDS
}


def main():
    options = options_of(__doc__, WAYS, nargs="+", default=[2, 4])
    for ranks in options.ranks:
        print(
            ranks,
            {way: f"{1e3 * one:.1f} ms" for way, one in least_of(__file__, WAYS, ranks).items()},
            flush=True,
        )


if __name__ == "__main__":
    main()
