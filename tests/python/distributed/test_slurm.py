"""Jobs whose servers and workers Slurm places, with stand-ins for its commands on this machine."""

import collections
import json
import os
import pathlib
import re
import signal
import subprocess
import sys

import placed_jobs
import pytest
from placed_jobs import FOLDER, SECONDS, is_running, outcome, program


@pytest.fixture
def allocation(tmp_path):
    """Variables of a program within an allocation of two nodes, both of which are this machine."""
    return {
        **{name: value for name, value in os.environ.items() if not name.startswith(("SLURM_", "DMLC_"))},
        "PATH": f"{FOLDER / 'slurm'}:{os.environ['PATH']}",
        "SLURM_JOB_ID": "7",
        "SLURM_JOB_NODELIST": "localhost,127.0.0.1",
        "FAKE_SLURM_LOG": str(tmp_path / "log"),
    }


def start(allocation, *command, workers=3, options=()):
    folder = pathlib.Path(allocation["FAKE_SLURM_LOG"]).parent
    placed = ["--slurm", "-n", str(workers), "-s", "2", *options]
    return placed_jobs.start(placed, command, allocation, folder)


def run(*arguments, **options):
    return outcome(start(*arguments, **options))


def test_servers_and_workers_are_placed_on_the_nodes(allocation, tmp_path):
    status, out, err = run(allocation, *program("exchange", "nothing"))
    assert status == 0, out + err
    assert sorted(out.splitlines()) == [f"[worker {rank}] done {rank} 3 dist_sync" for rank in range(3)]
    servers, workers = sorted(
        map(json.loads, (tmp_path / "log").read_text().splitlines()), key=lambda step: step["ntasks"]
    )
    assert (servers["ntasks"], workers["ntasks"]) == (2, 3)
    assert all(step["overlap"] and step["nodes"] == 2 for step in (servers, workers))
    assert [path.name for path in tmp_path.iterdir()] == ["log"]  # the certificates were removed


@pytest.mark.parametrize(
    ("what", "status", "fate"),
    [
        ("kill", 128 + signal.SIGKILL, "was ended by SIGKILL"),
        ("exit", 3, "ended with status 3"),
        ("raise", 1, "ended with status 1"),
    ],
)
def test_a_worker_that_fails_ends_the_job_with_its_status(allocation, what, status, fate):
    found, out, err = run(allocation, *program("exchange", what))
    assert len([line for line in out.splitlines() if "seen:" in line]) == 2, out + err
    assert (found, "headrace.launch: worker" in err) in ((status, True), (3, True)), out + err
    assert fate in err or "ended with status 3" in err  # who is noticed first


def test_a_job_is_started_again(allocation):
    code = "import os, sys; print('life', os.environ['HEADRACE_RESTARTS'], os.environ['KIND'])\n"
    code += "from headrace import kv; kv.create('dist_sync').barrier()\n"
    code += "sys.exit(4 if os.environ['HEADRACE_RESTARTS'] == '0' else 0)"
    options = ["--restart", "1", "--env", "KIND=asked for"]
    status, out, err = run(allocation, sys.executable, "-c", code, options=options)
    assert status == 0 and "starting the job again, 1 of 1" in err, out + err
    assert out.count("life 0 asked for") == out.count("life 1 asked for") == 3, out


def test_another_server_takes_the_place_of_one_that_is_lost(allocation, tmp_path):
    """Both primaries are killed twice, the second time those that were backups."""
    allocation["HEADRACE_HISTORY"] = str(tmp_path)
    status, out, err = run(
        allocation, *program("replicas", "mixed", "2"), workers=2, options=["--replicas", "2"]
    )
    assert status == 0, out + err
    assert out.count("the backup serves in its place") == err.count("another one takes its place") == 4, (
        out + err
    )
    steps = map(json.loads, (tmp_path / "log").read_text().splitlines())
    nodes = collections.Counter(step["nodelist"] for step in steps if step["nodelist"])
    # In turn; the job may end before the last one has come to say so.
    assert sorted(nodes.values()) in ([4, 4], [3, 4]) and nodes.keys() == {"127.0.0.1", "localhost"}


COME_AND_GO = """
import os, pathlib, signal, sys, time
from headrace import kv, nd, optimizer

store = kv.create("dist_async")
store.set_optimizer(optimizer.SGD(learning_rate=1))
store.init(0, nd.zeros((3,)))
if store.rank == 1 and not store.has_joined:
    os.kill(os.getpid(), signal.SIGKILL)
has_come = pathlib.Path("has come")
if store.has_joined:
    has_come.touch()
while not has_come.exists():
    time.sleep(0.02)
store.barrier()
print("done", store.rank, store.num_workers, store.has_joined)
"""


def test_another_worker_takes_the_place_of_one_that_is_lost(allocation):
    status, out, err = run(allocation, sys.executable, "-c", COME_AND_GO, options=["--elastic", "2"])
    assert status == 0 and "worker 1 was ended by SIGKILL; another one takes its place" in err, out + err
    done = [f"[worker {rank}] done {rank} 3 {rank == 1}" for rank in range(3)]
    assert sorted(line for line in out.splitlines() if "done" in line) == done, out + err


def test_servers_end_where_no_worker_makes_a_store(allocation):
    status, out, err = run(allocation, sys.executable, "-c", "print('alone')")
    assert status == 0 and out.count("alone") == 3, out + err


def test_an_interrupt_ends_all_processes(allocation):
    code = "import os, time; from headrace import kv; kv.create('dist_sync')\n"
    code += "print('is', os.getpid(), flush=True); time.sleep(600)"
    job = start(allocation, sys.executable, "-c", code)
    try:
        lines = [job.stdout.readline() for _ in range(3)]
        job.send_signal(signal.SIGTERM)
        _, err = job.communicate(timeout=SECONDS)
    finally:
        job.kill()
    assert job.returncode == 128 + signal.SIGTERM and "interrupted" in err
    for line in lines:
        assert not is_running(re.search(r"is (\d+)", line)[1]), lines


class TestErrors:
    def test_without_an_allocation(self, allocation):
        del allocation["SLURM_JOB_NODELIST"]
        status, _, err = run(allocation, "true")
        assert status == 1 and "there is none (SLURM_JOB_NODELIST); run it by sbatch" in err

    def test_without_slurm(self, allocation, tmp_path):
        status, _, err = run({**allocation, "PATH": str(tmp_path)}, "true", options=["--plain"])
        assert status == 1 and "there is no scontrol" in err and "apt install slurm-client" in err

    def test_a_node_that_has_no_address(self, allocation):
        allocation["SLURM_JOB_NODELIST"] = "nowhere.invalid"
        status, _, err = run(allocation, "true")
        assert status == 1 and "the machine nowhere.invalid has no address here" in err

    def test_a_program_that_is_not_there(self, allocation):
        status, _, err = run(allocation, "no-such-program")
        assert status == 127 and "no-such-program cannot be started" in err

    def test_ranks_of_mpi_are_not_placed_so(self, allocation):
        command = [sys.executable, "-m", "headrace.launch", "--mpi", "--slurm", "true"]
        job = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
        assert job.returncode == 2 and "start ranks by srun or mpirun itself" in job.stderr
