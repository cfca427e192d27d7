"""A step of ResNet-18 in float32 (96 x 96, 16 images a rank) on two ranks with a core each, if there are as
many: a Trainer of Headrace over MPI beside PyTorch's DistributedDataParallel over gloo, channels-last.

`python benchmarks/ranks/resnet18.py [-n RANKS]` prints the best median of each and the ratio: below 1,
Headrace is faster.
"""

import os
import pathlib
import statistics
import sys
import time

from starting import begin_gloo, end_gloo, least_of, options_of, ways_there

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "peers"))

SHAPE, CLASSES = (16, 3, 96, 96), 1000
WARM, STEPS = 3, 12


def median(step, barrier):
    """Seconds of a step that all ranks begin together."""
    times = []
    for _ in range(WARM + STEPS):
        barrier()
        begin = time.perf_counter()
        step()
        times.append(time.perf_counter() - begin)
    return statistics.median(times[WARM:])


def headrace_trainer():
    """(seconds, rank)"""
    from headrace_cases.networks import resnet18, training

    from headrace import distributed

    step = training(resnet18(), SHAPE, CLASSES, kvstore="mpi")
    return median(step, distributed.barrier), distributed.rank()


def gloo():
    """(seconds, rank)"""
    distributed = begin_gloo()
    from torch.nn.parallel import DistributedDataParallel
    from torch_cases.networks import resnet18, training

    step = training(DistributedDataParallel(resnet18()), SHAPE)
    seconds, rank = median(step, distributed.barrier), distributed.get_rank()
    end_gloo(distributed)
    return seconds, rank


WAYS = {"headrace": headrace_trainer, "gloo": gloo}


def main():
    options = options_of(__doc__, WAYS, default=2)
    binding = "core" if options.ranks <= len(os.sched_getaffinity(0)) else "none"
    ours, *others = least_of(__file__, ways_there(WAYS), options.ranks, binding).values()
    times = ", ".join(f"{1e3 * one:.0f} ms" for one in (ours, *others))
    ratios = ", ".join(f"{ours / other:.2f}" for other in others)
    print(f"{options.ranks} ranks: {times}; Headrace / PyTorch {ratios or '-'}")


if __name__ == "__main__":
    main()
