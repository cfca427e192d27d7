"""How long ranks need to sum 100 arrays of 1 MB: a store of Headrace beside MPI_Allreduce of the arrays in
turn, and beside PyTorch's gloo, which is given all of them at once.

`python benchmarks/ranks/pushpull.py [-n RANKS...]` prints the best time of each and ratios: below 1, Headrace
is faster.
"""

import ctypes
import time

from starting import begin_gloo, end_gloo, least_of, options_of, ways_there

ARRAYS, ELEMENTS = 100, 1 << 18
REPEATS = 5


def best(run, barrier):
    """Seconds of one call of `run`, begun on all ranks together."""
    times = []
    for _ in range(REPEATS):
        barrier()
        begin = time.perf_counter()
        run()
        times.append(time.perf_counter() - begin)
    return min(times)


def headrace_store():
    """(seconds, rank)"""
    from headrace import distributed, kv, nd

    store, keys = kv.create("mpi"), list(range(ARRAYS))
    gradients = [nd.ones((ELEMENTS,)) for _ in keys]
    sums = [nd.zeros((ELEMENTS,)) for _ in keys]
    store.init(keys, sums)

    def run():
        store.pushpull(keys, gradients, out=sums)
        nd.waitall()

    seconds = best(run, store.barrier)
    assert (sums[-1].asnumpy() == store.num_workers).all()
    return seconds, distributed.rank()


def raw_mpi():
    """(seconds, rank): Open MPI by its C functions."""
    import numpy

    mpi = ctypes.CDLL("libmpi.so.40", ctypes.RTLD_GLOBAL)
    world, single, total = (
        ctypes.byref(ctypes.c_char.in_dll(mpi, name))
        for name in ("ompi_mpi_comm_world", "ompi_mpi_float", "ompi_mpi_op_sum")
    )
    mpi.MPI_Init(None, None)
    gradients = [numpy.ones(ELEMENTS, "float32") for _ in range(ARRAYS)]
    sums = [numpy.zeros(ELEMENTS, "float32") for _ in range(ARRAYS)]

    def run():
        for gradient, result in zip(gradients, sums):
            mpi.MPI_Allreduce(
                ctypes.c_void_p(gradient.ctypes.data),
                ctypes.c_void_p(result.ctypes.data),
                ELEMENTS,
                single,
                total,
                world,
            )

    seconds = best(run, lambda: mpi.MPI_Barrier(world))
    rank, size = ctypes.c_int(), ctypes.c_int()
    mpi.MPI_Comm_rank(world, ctypes.byref(rank))
    mpi.MPI_Comm_size(world, ctypes.byref(size))
    assert (sums[-1] == size.value).all()
    mpi.MPI_Finalize()
    return seconds, rank.value


def gloo():
    """(seconds, rank)"""
    distributed = begin_gloo()
    import torch

    gradients = [torch.ones(ELEMENTS) for _ in range(ARRAYS)]

    def run():
        for work in [distributed.all_reduce(one, async_op=True) for one in gradients]:
            work.wait()

    seconds, rank = best(run, distributed.barrier), distributed.get_rank()
    assert (gradients[-1] == float(distributed.get_world_size()) ** REPEATS).all()
    end_gloo(distributed)
    return seconds, rank


WAYS = {"headrace": headrace_store, "mpi": raw_mpi, "gloo": gloo}


def main():
    options = options_of(__doc__, WAYS, nargs="+", default=[2, 4])
    ways = ways_there(WAYS)
    print(f"| ranks | {' | '.join(ways)} | Headrace / others |")
    for ranks in options.ranks:
        ours, *others = least_of(__file__, ways, ranks).values()
        times = " | ".join(f"{1e3 * one:.0f} ms" for one in (ours, *others))
        print(f"| {ranks} | {times} | {', '.join(f'{ours / other:.2f}' for other in others)} |", flush=True)


if __name__ == "__main__":
    main()
