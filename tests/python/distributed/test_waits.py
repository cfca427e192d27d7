"""Calls of a worker that wait for others leave its own threads alone."""

import pathlib
import subprocess
import sys

import pytest

PROGRAM = pathlib.Path(__file__).parent / "programs" / "waits.py"
SECONDS = 120  # that a job may take on a busy machine


@pytest.mark.parametrize("call", ["pull", "pushpull"])
def test_threads_run_while_rows_are_waited_for(tmp_path, call):
    command = [sys.executable, "-m", "headrace.launch", "-n", "2", sys.executable, str(PROGRAM)]
    job = subprocess.run([*command, str(tmp_path), call], capture_output=True, text=True, timeout=SECONDS)
    assert job.returncode == 0, job.stdout + job.stderr
