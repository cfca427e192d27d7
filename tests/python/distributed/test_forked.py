"""A worker that forks: its children leave its connections alone."""

import pathlib
import subprocess
import sys

PROGRAM = pathlib.Path(__file__).parent / "programs/forked.py"


def test_children_are_refused_and_the_worker_goes_on():
    command = [sys.executable, "-m", "headrace.launch", "-n", "1", "-s", "1", sys.executable, str(PROGRAM)]
    job = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert job.returncode == 0, job.stdout + job.stderr
    *refused, last = job.stdout.splitlines()
    assert last == "[worker 0] worker [1.0, 1.0]"
    assert [line.split()[2] for line in refused] == ["init:", "push:", "pull:", "barrier:"]
    assert all("a process that a worker has forked" in line for line in refused)
