"""Jobs whose ranks run the programs of tests/python/distributed, and what their processes say."""

import pathlib
import shutil

import pytest

from headrace import _core

PROGRAMS = pathlib.Path(__file__).parents[1] / "python" / "distributed" / "programs"
SECONDS = 120  # that a job may take on a busy machine


def why_not():
    """Why this machine cannot run such jobs."""
    if shutil.which("mpirun") is None:
        return "there is no mpirun (openmpi-bin)"
    module = pathlib.Path(_core.__file__)
    places = (module.parent, module.parents[2] / "lib")
    if not any((place / "libheadrace_mpi.so").exists() for place in places):
        return "Headrace was built without MPI (libopenmpi-dev)"
    return None


needs_mpi = pytest.mark.skipif(why_not() is not None, reason=str(why_not()))


def text_of(job):
    return job.stdout + job.stderr


def lines_of(job):
    """What workers have printed; mpirun has lines of its own, of signals for example that it passes on."""
    return [line for line in job.stdout.splitlines() if line.startswith("[worker")]


def of_workers(text, ranks=3):
    return [f"[worker {rank}] {text}" for rank in range(ranks)]
