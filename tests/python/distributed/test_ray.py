"""Jobs whose servers and workers Ray places, on a cluster of two nodes, both of which are this machine."""

import importlib.util
import os
import re
import signal
import socket
import sys
import time

import placed_jobs
import pytest
from placed_jobs import SECONDS, is_running, outcome, program

from headrace.launch import main

IDLE = "import os, time; from headrace import kv; kv.create('dist_sync')\n"
IDLE += "print('is', os.getpid(), flush=True); time.sleep(600)"


@pytest.fixture(scope="module")
def cluster():
    if importlib.util.find_spec("ray") is None:
        pytest.skip("needs the Python package ray")
    from ray.cluster_utils import Cluster

    head = {"num_cpus": 1, "include_dashboard": False, "env_vars": {"PLACE": "head"}}
    handler = signal.getsignal(signal.SIGTERM)  # Ray's would hold up children that later tests fork and end
    started = Cluster(initialize_head=True, head_node_args=head)
    try:
        started.add_node(num_cpus=1, env_vars={"PLACE": "other"})
        yield started
    finally:
        started.shutdown()
        signal.signal(signal.SIGTERM, handler)


def start(cluster, folder, *command, options=()):
    environment = {name: value for name, value in os.environ.items() if not name.startswith("DMLC_")}
    placed = ["--ray", cluster.address, "-n", "3", "-s", "2", *options]
    return placed_jobs.start(placed, command, environment, folder)


def run(*arguments, **options):
    return outcome(start(*arguments, **options))


def wait_for_ends(lines):
    """Until no process is there that one of these lines names."""
    deadline = time.monotonic() + SECONDS
    while any(is_running(re.search(r"is (\d+)", line)[1]) for line in lines):
        assert time.monotonic() < deadline, lines
        time.sleep(0.1)


def test_processes_are_placed_on_the_nodes_in_turn(cluster, tmp_path, monkeypatch):
    code = "import os; from headrace import kv; store = kv.create('dist_sync'); store.barrier()\n"
    code += "print(store.rank, store.num_workers, os.environ['PLACE'], os.getcwd(), os.environ['MXNET_MINE'],"
    code += " os.environ.get('OMP_NUM_THREADS'), os.environ['KIND'])"
    monkeypatch.setenv("MXNET_MINE", "goes along")
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    options = ["--env", "KIND=asked for"]
    status, out, err = run(cluster, tmp_path, sys.executable, "-c", code, options=options)
    assert status == 0, out + err
    lines = sorted(out.splitlines())
    places = [line.split()[4] for line in lines]
    for rank, (line, place) in enumerate(zip(lines, places)):
        assert line == f"[worker {rank}] {rank} 3 {place} {tmp_path} goes along None asked for"
    assert sorted(places) in (["head", "head", "other"], ["head", "other", "other"])
    assert not list(tmp_path.iterdir())  # the certificates were removed


@pytest.mark.parametrize(
    ("what", "status", "fate"),
    [("kill", 128 + signal.SIGKILL, "was ended by SIGKILL"), ("raise", 1, "ended with status 1")],
)
def test_a_worker_that_fails_ends_the_job_with_its_status(cluster, tmp_path, what, status, fate):
    found, out, err = run(cluster, tmp_path, *program("exchange", what))
    assert len([line for line in out.splitlines() if "seen:" in line]) == 2, out + err
    assert (found, fate in err) in ((status, True), (3, False)), out + err  # who is noticed first
    assert "headrace.launch: worker" in err


def test_a_job_is_started_again_without_the_node_that_was_lost(cluster, tmp_path):
    lost = cluster.add_node(num_cpus=1)
    job = start(cluster, tmp_path, sys.executable, "-c", code_of_two_lives(), options=["--restart", "1"])
    try:
        for _ in range(3):
            assert "first life" in job.stdout.readline()
        cluster.remove_node(lost)
    finally:
        status, out, err = outcome(job)
    assert status == 0 and out.count("second life") == 3, out + err
    assert " was lost: " in err and "starting the job again, 1 of 1" in err, err


def code_of_two_lives():
    code = "import os, time; from headrace import kv; store = kv.create('dist_sync'); store.barrier()\n"
    code += "first = os.environ['HEADRACE_RESTARTS'] == '0'\n"
    code += "print('first life' if first else 'second life', flush=True); time.sleep(600 if first else 0)"
    return code


def test_an_interrupt_ends_all_processes(cluster, tmp_path):
    job = start(cluster, tmp_path, sys.executable, "-c", IDLE)
    try:
        lines = [job.stdout.readline() for _ in range(3)]
        job.send_signal(signal.SIGTERM)  # some start tests so that interrupts are ignored
    finally:
        status, _, err = outcome(job)
    assert status == 128 + signal.SIGTERM and "interrupted" in err
    wait_for_ends(lines)


def test_processes_end_with_the_launcher(cluster, tmp_path):
    job = start(cluster, tmp_path, sys.executable, "-c", IDLE)
    try:
        lines = [job.stdout.readline() for _ in range(3)]
    finally:
        job.kill()  # it can tell nobody
        job.communicate(timeout=SECONDS)
    wait_for_ends(lines)


class TestErrors:
    def test_a_program_that_is_not_there(self, cluster, tmp_path):
        status, _, err = run(cluster, tmp_path, "no-such-program")
        assert status == 127 and "no-such-program cannot be started" in err

    def test_nobody_at_the_address(self):
        pytest.importorskip("ray")
        with socket.socket() as bound:
            bound.bind(("127.0.0.1", 0))
            address = f"127.0.0.1:{bound.getsockname()[1]}"
            with pytest.raises(SystemExit, match=f"no cluster of Ray can be joined at {address} .*refused"):
                main(["--ray", address, "true"])

    def test_an_address_that_is_none(self):
        pytest.importorskip("ray")
        with pytest.raises(SystemExit, match="at nowhere .*`ray start --head`"):
            main(["--ray", "nowhere", "true"])

    def test_without_ray(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "ray", None)
        with pytest.raises(SystemExit, match=r"pip install headrace\[ray\]"):
            main(["--ray", "auto", "true"])

    def test_ranks_of_mpi_are_not_placed_so(self, capsys):
        with pytest.raises(SystemExit):
            main(["--mpi", "--ray", "auto", "true"])
        assert "start ranks by srun or mpirun itself" in capsys.readouterr().err
