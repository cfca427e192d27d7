"""Ranks of a benchmark: the same program once for each, started by mpirun, with Headrace or with PyTorch."""

import argparse
import os
import pathlib
import socket
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "build/release/python"
TORCH = ROOT / ".peers/torch/bin/python"  # which tools/peers.sh makes
ROUNDS = 3


def options_of(description, ways, **ranks):
    """The options of a program; `ranks` is what `-n` takes. A rank measures in its way, says it, and ends."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("-n", "--ranks", type=int, **ranks)
    parser.add_argument("--way", choices=ways, help=argparse.SUPPRESS)  # of a rank
    options = parser.parse_args()
    if options.way:
        seconds, rank = ways[options.way]()
        if rank == 0:
            print(seconds)
        sys.exit()
    return options


def ways_there(ways):
    """Those that can run: PyTorch's need its environment."""
    return [way for way in ways if way != "gloo" or TORCH.exists()]


def seconds_of(program, way, ranks, binding="none"):
    """What rank 0 prints of `program --way WAY`. `binding`: "core" for a core each."""
    command = ["mpirun", "--oversubscribe", "--bind-to", binding, "-n", str(ranks)]
    command += ["--allow-run-as-root"] if os.geteuid() == 0 else []
    if way == "gloo":
        command, environment = [*command, str(TORCH)], {**os.environ, **_address()}
    else:
        environment = {**os.environ, "PYTHONPATH": os.environ.get("PYTHONPATH", str(PACKAGE))}
        command.append(sys.executable)
    command += [program, "--way", way]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)} has failed:\n{done.stderr}")
    return float(done.stdout)


def least_of(program, ways, ranks, binding="none"):
    """{way: seconds}: the least of ROUNDS, by turns, as other processes of the machine make all slower."""
    found = {way: [] for way in ways}
    for _ in range(ROUNDS):
        for way, times in found.items():
            times.append(seconds_of(program, way, ranks, binding))
    return {way: min(times) for way, times in found.items()}


def begin_gloo():
    """torch.distributed, of this rank, which computes on one thread."""
    import torch
    from torch import distributed

    for theirs, ours in (("RANK", "OMPI_COMM_WORLD_RANK"), ("WORLD_SIZE", "OMPI_COMM_WORLD_SIZE")):
        os.environ[theirs] = os.environ[ours]
    torch.set_num_threads(1)
    distributed.init_process_group("gloo", init_method="env://")
    return distributed


def end_gloo(distributed):
    """Ranks that leave while others are at work make these fail."""
    distributed.barrier()
    distributed.destroy_process_group()


def _address():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(found.getsockname()[1])}
