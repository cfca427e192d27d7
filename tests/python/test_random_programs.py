"""Random programs over arrays leave the same bits on every engine."""

import functools
import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[1] / "support" / "random_arrays.py"
SEEDS = 400


def run(threads=1, **environment):
    done = subprocess.run(
        [sys.executable, str(SCRIPT), "0", str(SEEDS), str(threads)],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@functools.cache
def expected():
    return run(HEADRACE_ENGINE="serial")


@pytest.mark.parametrize("workers", [1, 2, 4, 16])
def test_bits_of_the_serial_engine(workers):
    assert run(HEADRACE_WORKERS=str(workers)) == expected()


@pytest.mark.parametrize("workers", [1, 4])
def test_several_threads(workers):
    assert run(threads=3, HEADRACE_WORKERS=str(workers)) == expected()


def test_programs_differ():
    assert len({line.split()[1] for line in expected()}) > 0.9 * SEEDS
