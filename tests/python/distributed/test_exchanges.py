"""Exchanges between the workers of jobs with servers; test_mpi.py has the same programs under MPI."""

import os
import pathlib
import subprocess
import sys

import numpy
import pytest
from mismatches import assert_told_to_all, every_mismatch, seen_in

from headrace._ports import free_ports

PROGRAMS = pathlib.Path(__file__).parent / "programs"
SECONDS = 180  # that a job may take on a busy machine


def launch(program, *arguments, options=("-n", "3", "-s", "2"), environment=None):
    command = [sys.executable, "-m", "headrace.launch", *options]
    command += [sys.executable, str(PROGRAMS / f"{program}.py"), *arguments]
    variables = {**os.environ, **(environment or {})}
    return subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, env=variables)


def text_of(job):
    return job.stdout + job.stderr


@pytest.mark.parametrize("shares_memory", ["1", "0"])
def test_workers_exchange_arrays(shares_memory):
    job = launch("exchanges", environment={"HEADRACE_SHARED_MEMORY": shares_memory})
    assert job.returncode == 0, text_of(job)
    assert sorted(job.stdout.splitlines()) == [f"[worker {rank}] all as it should be" for rank in range(3)]


@every_mismatch
def test_workers_that_do_not_agree_are_told_on_all_ranks(what, texts):
    assert_told_to_all(launch("mismatch", what), texts)


def test_who_waits_for_a_worker_that_has_ended_is_told():
    job = launch("mismatch", "end")
    seen = seen_in(job)
    assert len(seen) == 2 and all("rank 1 has ended, but rank" in line for line in seen), text_of(job)


@pytest.mark.parametrize(
    ("what", "status", "fate"),
    [("kill", 137, "worker 1 was ended by SIGKILL"), ("error", 1, "worker 1 ended with status 1")],
)
def test_a_worker_that_dies_ends_the_job(what, status, fate):
    job = launch("mismatch", what)
    assert job.returncode == status, text_of(job)
    assert f"headrace.launch: {fate}" in job.stderr, text_of(job)


def test_a_lost_server_neither_loses_nor_repeats_an_exchange(tmp_path):
    """Both primaries, twice: the second time those serve that have come later."""
    options = ("-n", "2", "-s", "2", "--replicas", "2", "--plain")
    job = launch("exchanges_replicas", "2", options=options, environment={"HEADRACE_HISTORY": str(tmp_path)})
    assert job.returncode == 0, text_of(job)
    assert job.stdout.count("all as it should be") == 2, text_of(job)
    assert job.stdout.count("the backup serves in its place") == 4, text_of(job)


def test_ranks_with_less_data_take_part_in_the_steps_of_others(tmp_path):
    subprocess.run(
        [sys.executable, str(PROGRAMS / "uneven.py"), str(tmp_path), "none", "None"],
        check=True,
        timeout=SECONDS,
    )
    job = launch("uneven", str(tmp_path), "mpi", "None")
    assert job.returncode == 0, text_of(job)
    alone = numpy.load(tmp_path / "alone.npy")
    joined = [numpy.load(tmp_path / f"{rank}.npy") for rank in range(3)]
    numpy.testing.assert_allclose(joined[0], alone, rtol=1e-4, atol=1e-5)
    assert (joined[1] == joined[0]).all() and (joined[2] == joined[0]).all()


ELASTIC = """
from headrace import distributed, kv
store = kv.create("dist_async")
try:
    distributed.rank()
except Exception as error:
    print(type(error).__name__, error, flush=True)
"""


def test_workers_that_come_and_go_are_told_what_to_do():
    command = [sys.executable, "-m", "headrace.launch", "-n", "2", "--elastic", "1:3"]
    job = subprocess.run(
        [*command, sys.executable, "-c", ELASTIC], capture_output=True, text=True, timeout=SECONDS
    )
    assert job.returncode == 0, text_of(job)
    told = [line for line in job.stdout.splitlines() if "MXNetError" in line]
    assert len(told) == 2, text_of(job)
    assert all("workers come and go in this job" in line and "without --elastic" in line for line in told)


def test_processes_started_as_those_of_mxnet_are():
    code = (
        "from headrace import distributed, nd\n"
        "print(distributed.all_reduce(nd.array([distributed.rank() + 1.0])).asscalar())"
    )
    with subprocess.Popen(
        [sys.executable, "-m", "headrace.kvstore"],
        env={**os.environ, **_variables("scheduler", port := free_ports(1)[0])},
    ) as scheduler:
        server = subprocess.Popen(
            [sys.executable, "-m", "headrace.kvstore"], env={**os.environ, **_variables("server", port)}
        )
        workers = [
            subprocess.Popen(
                [sys.executable, "-c", code],
                env={**os.environ, **_variables("worker", port)},
                stdout=subprocess.PIPE,
                text=True,
            )
            for _ in range(2)
        ]
        assert [worker.communicate(timeout=SECONDS)[0] for worker in workers] == ["3.0\n", "3.0\n"]
        assert server.wait(SECONDS) == 0 and scheduler.wait(SECONDS) == 0


def _variables(role, port):
    return {
        "DMLC_ROLE": role,
        "DMLC_PS_ROOT_URI": "127.0.0.1",
        "DMLC_PS_ROOT_PORT": str(port),
        "DMLC_NUM_WORKER": "2",
        "DMLC_NUM_SERVER": "1",
    }
