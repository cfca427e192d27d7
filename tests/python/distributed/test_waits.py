"""Calls of a worker that wait for others leave its own threads alone, and say what they wait for."""

import os
import pathlib
import subprocess
import sys

import pytest
from mpi_jobs import lines_of, needs_mpi, of_workers, text_of

PROGRAM = pathlib.Path(__file__).parent / "programs" / "waits.py"
SECONDS = 120  # that a job may take on a busy machine


@pytest.mark.parametrize("call", ["pull", "pushpull"])
def test_threads_run_while_rows_are_waited_for(tmp_path, call):
    command = [sys.executable, "-m", "headrace.launch", "-n", "2", sys.executable, str(PROGRAM)]
    job = subprocess.run([*command, str(tmp_path), call], capture_output=True, text=True, timeout=SECONDS)
    assert job.returncode == 0, job.stdout + job.stderr


@pytest.mark.parametrize(
    ("options", "kind"),
    [
        (["-s", "1"], "dist_sync"),
        pytest.param(["--mpi"], "mpi", marks=needs_mpi),
        pytest.param(["--mpi"], "mpi_sharded", marks=needs_mpi),
    ],
)
def test_a_worker_may_wait_while_others_are_many_steps_ahead(options, kind):
    command = [sys.executable, "-m", "headrace.launch", "-n", "2", *options, sys.executable]
    command += [str(PROGRAM.with_name("ahead.py")), kind]
    job = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
    assert job.returncode == 0, text_of(job)
    assert sorted(lines_of(job)) == of_workers("all as it should be", 2)


def test_a_worker_that_waits_for_the_others_to_come_says_so(tmp_path):
    comes = tmp_path / "comes"
    code = f"""
import os, time
from headrace import kv
while os.environ["DMLC_WORKER_ID"] == "1" and not os.path.exists({os.fspath(comes)!r}):
    time.sleep(0.01)
kv.create("dist_sync").barrier()
"""
    command = [sys.executable, "-m", "headrace.launch", "-n", "2", "--env", "HEADRACE_STALL_SECONDS=1"]
    job = subprocess.Popen([*command, sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    try:
        while "the worker waits until all 2 workers and 1 servers of the job have come" not in (
            line := job.stdout.readline()
        ):
            assert line
        comes.touch()
        job.communicate(timeout=SECONDS)
    finally:
        job.kill()
    assert job.returncode == 0


@pytest.mark.parametrize("options", [[], ["-s", "2", "--replicas", "2"]])
def test_a_worker_that_ends_before_it_has_come_is_missed(options):
    code = "import os; from headrace import kv; os.environ['DMLC_WORKER_ID'] == '1' or kv.create('dist_sync')"
    command = [sys.executable, "-m", "headrace.launch", "-n", "2", *options, sys.executable, "-c", code]
    job = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
    assert job.returncode == 1, job.stdout + job.stderr
    assert "worker 1 has ended, and others wait for it: it made no store and no exchange" in job.stderr


def test_workers_may_end_one_after_the_other_without_a_store(tmp_path):
    code = f"""
import os, time
number = os.environ["DMLC_WORKER_ID"]
open(os.path.join({os.fspath(tmp_path)!r}, number), "w").close()
if number == "0":
    time.sleep(3)  # longer than one that is waited for has to come
"""
    command = [sys.executable, "-m", "headrace.launch", "-n", "2", sys.executable, "-c", code]
    job = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
    assert job.returncode == 0 and not job.stderr, job.stdout + job.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["0", "1"]
