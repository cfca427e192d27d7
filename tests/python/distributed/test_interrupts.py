"""Jobs that are interrupted: by Ctrl-C, by the end of the terminal."""

import pathlib
import signal
import subprocess
import sys
import time

import pytest

SECONDS = 120  # that a job may take on a busy machine
# Says that it runs, and what it hears of signals that it does not follow.
DEAF = """
import os, signal

def hear(number, frame):
    print("heard", number, flush=True)

signal.signal(signal.SIGINT, hear)
signal.signal(signal.SIGTERM, hear)
print("runs", os.getpid(), flush=True)
while True:
    signal.pause()
"""


def hear_interrupts():
    """In a process that is to be started: also where this one ignores them."""
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


def start_deaf(*options):
    """(job, numbers of its two workers), which no signal ends but SIGKILL."""
    command = [sys.executable, "-m", "headrace.launch", "-n", "2", *options, sys.executable, "-c", DEAF]
    job = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=hear_interrupts
    )
    return job, [int(line.split()[-1]) for line in lines_with("runs", job, 2)]


def lines_with(text, job, count):
    found = []
    while len(found) < count:
        line = job.stdout.readline()
        assert line, job.stderr.read()
        found += [line] if text in line else []
    return found


def ends_of(job, workers):
    """What the launcher says in the end, when no worker is left."""
    _, err = job.communicate(timeout=SECONDS)
    deadline = time.monotonic() + SECONDS
    while any(pathlib.Path(f"/proc/{number}").exists() for number in workers):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return err


@pytest.mark.parametrize("options", [(), ("--mpi",)], ids=["servers", "mpi"])
def test_who_interrupts_a_second_time_waits_for_nobody(options):
    job, workers = start_deaf(*options)
    try:
        job.send_signal(signal.SIGINT)
        lines_with("heard", job, 1)
        job.send_signal(signal.SIGINT)
        err = ends_of(job, workers)
    finally:
        job.kill()
    assert job.returncode == 128 + signal.SIGINT, err
    assert "interrupted; all processes were ended" in err and "Traceback" not in err


def test_a_job_ends_with_its_terminal(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))  # where certificates are
    job, workers = start_deaf()
    try:
        job.send_signal(signal.SIGHUP)
        err = ends_of(job, workers)
    finally:
        job.kill()
    assert job.returncode == 128 + signal.SIGINT and "interrupted" in err, err
    assert not list(tmp_path.iterdir())


def test_an_interrupt_counts_that_other_code_has_swallowed():
    code = """
import contextlib, os, signal, sys
from headrace import _processes, launch

status, left = _processes.Process.status, [20]

def swallowing(process):
    left[0] -= 1
    if left[0] == 0:
        with contextlib.suppress(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGTERM)
            os.getpid()
    return status(process)

_processes.Process.status = swallowing
sys.exit(launch.main(["-n", "1", sys.executable, "-c", "import time; time.sleep(600)"]))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=SECONDS)
    assert done.returncode == 128 + signal.SIGINT and "interrupted" in done.stderr, done.stderr
