"""How long ranks need to sum 100 arrays of 1 MB: a store of Headrace beside MPI_Allreduce of the arrays in
turn.

`python benchmarks/ranks/pushpull.py [-n RANKS...]` starts both by mpirun, one after the other, ROUNDS times,
and prints the best time of each and their ratio: below 1, Headrace is faster. The best of several is taken
because other processes of the machine make both slower.
"""

import argparse
import ctypes
import os
import pathlib
import subprocess
import sys
import time

ARRAYS, ELEMENTS = 100, 1 << 18
ROUNDS, REPEATS = 3, 5
PACKAGE = pathlib.Path(__file__).parents[2] / "build/release/python"


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


WAYS = {"headrace": headrace_store, "mpi": raw_mpi}


def seconds_of(way, ranks):
    command = ["mpirun", "--oversubscribe", "--bind-to", "none", "-n", str(ranks)]
    command += ["--allow-run-as-root"] if os.geteuid() == 0 else []
    command += [sys.executable, __file__, "--way", way]
    environment = {**os.environ, "PYTHONPATH": os.environ.get("PYTHONPATH", str(PACKAGE))}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return float(done.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-n", "--ranks", type=int, nargs="+", default=[2, 4])
    parser.add_argument("--way", choices=WAYS, help=argparse.SUPPRESS)  # of a rank
    options = parser.parse_args()
    if options.way:
        seconds, rank = WAYS[options.way]()
        if rank == 0:
            print(seconds)
        return
    print("| ranks | Headrace | MPI_Allreduce | ratio |\n|---|---|---|---|")
    for ranks in options.ranks:
        found = {way: [] for way in WAYS}
        for _ in range(ROUNDS):
            for way in WAYS:
                found[way].append(seconds_of(way, ranks))
        ours, raw = (min(found[way]) for way in WAYS)
        print(f"| {ranks} | {1e3 * ours:.0f} ms | {1e3 * raw:.0f} ms | {ours / raw:.2f} |", flush=True)


if __name__ == "__main__":
    main()
