"""Ranks with a GPU each, which exchange arrays by NCCL: jobs on what stands in for NVIDIA's libraries."""

import signal
import socket
import subprocess
import sys

import pytest
from cuda_stand_in import environment_with_gpus, needs_stand_in
from mpi_jobs import PROGRAMS, SECONDS, lines_of, needs_mpi, of_workers, text_of

pytestmark = needs_stand_in


def variables(**more):
    return environment_with_gpus(HEADRACE_STAND_IN_GPUS="4", HEADRACE_LOG="warn", **more)


def launch(options, *arguments, environment=None):
    command = [sys.executable, "-m", "headrace.launch", *options]
    command += [sys.executable, str(PROGRAMS / "on_gpus.py"), *arguments]
    return subprocess.run(
        command, capture_output=True, text=True, timeout=SECONDS, env=environment or variables()
    )


def assert_all_as_it_should_be(job, ranks):
    assert job.returncode == 0, text_of(job)
    said = [line for line in lines_of(job) if " headrace warn: " not in line]
    assert sorted(said) == of_workers("all as it should be", ranks), text_of(job)


@needs_mpi
@pytest.mark.parametrize("ranks", [2, 3])
def test_ranks_of_mpi_exchange_arrays_of_gpus(ranks):
    job = launch(("--mpi", "-n", str(ranks)), "own")
    assert_all_as_it_should_be(job, ranks)
    assert "memory of the host" not in text_of(job)


def test_workers_with_servers_exchange_arrays_of_gpus():
    job = launch(("-n", "3", "-s", "1"), "own", "mixed", "own")
    assert_all_as_it_should_be(job, 3)
    assert "memory of the host" not in text_of(job)


def test_nccl_is_asked():
    """The calls of the programs above are those of the library: without it, they fail."""
    failing = variables(HEADRACE_STAND_IN_FAIL="ncclAllReduce:1:2")
    job = launch(("-n", "2", "-s", "1"), "own", environment=failing)
    assert job.returncode != 0
    assert "ncclAllReduce answered unhandled system error" in text_of(job)


@pytest.mark.parametrize(
    ("what", "nccl", "text"),
    [
        ("same", None, "rank 1: it has the same GPU as rank 0"),
        ("own", "/none.so", "/none.so"),
        ("own", "none", ""),
    ],
)
def test_ranks_that_nccl_does_not_connect_pass_through_the_host(what, nccl, text):
    chosen = variables(HEADRACE_CUDA_NCCL=nccl) if nccl else variables()
    job = launch(("-n", "2", "-s", "1"), what, environment=chosen)
    assert_all_as_it_should_be(job, 2)
    assert text_of(job).count("pass through the memory of the host") == (1 if text else 0), text_of(job)
    assert text in text_of(job)


def start(role, port, program, **more):
    return subprocess.Popen(
        [sys.executable, *program],
        env={
            **variables(**more),
            "DMLC_ROLE": role,
            "DMLC_PS_ROOT_URI": "127.0.0.1",
            "DMLC_PS_ROOT_PORT": str(port),
            "DMLC_NUM_WORKER": "3",
            "DMLC_NUM_SERVER": "1",
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_who_waits_for_the_gpu_of_a_rank_that_dies_is_told():
    """In the middle of a sum: the GPUs of the others wait for that of the rank."""
    with socket.create_server(("127.0.0.1", 0)) as found:
        port = found.getsockname()[1]
    module = ["-m", "headrace.kvstore"]
    others = [start(role, port, module) for role in ("scheduler", "server")]
    program = [str(PROGRAMS / "lost_on_gpus.py")]
    stuck = {"HEADRACE_STAND_IN_NCCL_STUCK": "2", "HEADRACE_STAND_IN_NCCL_SILENT": "1"}
    workers = [start("worker", port, program, **stuck) for _ in range(3)]
    try:
        for worker in workers:
            assert worker.stdout.readline() == "first 6.0\n", worker.communicate()
            assert "waits in a call that one never comes to" in worker.stderr.readline(), worker.communicate()
        workers[2].send_signal(signal.SIGKILL)
        for worker in workers[:2]:
            out, err = worker.communicate(timeout=SECONDS)
            assert "seen by" in out and "what connects the ranks has failed: worker" in out, out + err
            assert "was lost" in out and "all_reduce of 1000 elements of float32" in out, out + err
            assert "HEADRACE_CUDA_NCCL=none" in out and "kept" in out, out + err
    finally:
        for process in (*workers, *others):
            process.kill()
            process.communicate()
