"""How long ranks need to sum the gradients of 44 parameters of 1 MB and to update by them: each all of them,
as stores do, or each its part of every one, which are gathered afterwards.

`python benchmarks/ranks/updates.py [-n RANKS...]` prints the best time of each.
"""

import functools

from pushpull import best
from starting import least_of, options_of

ARRAYS, ELEMENTS = 44, 1 << 18


def seconds_of(name, is_sharded):
    """(seconds, rank) of one step."""
    from headrace import distributed, nd, optimizer

    distributed.init()
    size, rank = distributed.size(), distributed.rank()
    elements = ELEMENTS // size * size  # as many for each
    own = elements // size if is_sharded else elements
    updater = optimizer.get_updater(optimizer.create(name, learning_rate=0.01))
    gradients = [nd.ones((elements,)) for _ in range(ARRAYS)]
    weights = [nd.ones((elements,)) for _ in range(ARRAYS)]
    begin = rank * own if is_sharded else 0

    def run():
        exchange = distributed.reduce_scatter if is_sharded else distributed.all_reduce
        sums = [exchange(gradient, name=f"sum {k}") for k, gradient in enumerate(gradients)]
        parts = [weight[begin : begin + own] for weight in weights]
        updater(list(range(ARRAYS)), sums, parts)
        if is_sharded:
            for k, part in enumerate(parts):
                weights[k] = distributed.all_gather(part, name=f"weight {k}")
        nd.waitall()

    run()
    seconds = best(run, distributed.barrier)
    assert (weights[-1][0] == weights[-1][-1]).asscalar()
    return seconds, rank


WAYS = {
    f"{name}, {'its part' if is_sharded else 'all'}": functools.partial(seconds_of, name, is_sharded)
    for name in ("sgd", "adam")
    for is_sharded in (False, True)
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
