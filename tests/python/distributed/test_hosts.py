"""Jobs whose servers and workers run on machines that are reached by ssh, with a stand-in for it."""

import os
import re
import signal
import sys
import time

import placed_jobs
import pytest
from placed_jobs import FOLDER, SECONDS, is_running, outcome, program

from headrace.launch import main


def start(folder, hosts, *command):
    (folder / "hosts").write_text(hosts)
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("DMLC_")},
        "PATH": f"{FOLDER / 'ssh'}:{os.environ['PATH']}",
        "FAKE_SSH_LOG": str(folder / "log"),
    }
    return placed_jobs.start(["--hosts", "hosts", "-n", "3", "-s", "2"], command, environment, folder)


def run(*arguments):
    return outcome(start(*arguments))


def test_processes_are_placed_on_the_machines_in_turn(tmp_path):
    hosts = "# two of them\nlocalhost\n\n127.0.0.1  # the same\n"
    status, out, err = run(tmp_path, hosts, *program("exchange", "nothing"))
    assert status == 0, out + err
    assert sorted(out.splitlines()) == [f"[worker {rank}] done {rank} 3 dist_sync" for rank in range(3)]
    names = (tmp_path / "log").read_text().split()
    assert (names.count("localhost"), names.count("127.0.0.1")) == (3, 2)  # 1 and 1 servers, 2 and 1 workers
    assert sorted(path.name for path in tmp_path.iterdir()) == ["hosts", "log"]  # no certificates


def test_variables_and_ports_that_are_asked_for_go_along(tmp_path):
    look = "import os; print(os.environ.get('KIND'), os.environ.get('MINE'), os.environ.get('OTHER'))"
    options = ["--env", "MINE=a 'b'", "--env-worker", "KIND:c", "--env-server", "OTHER:d"]
    hosts = "me@localhost:22\nme@127.0.0.1\n"
    status, out, err = run(tmp_path, hosts, *options, sys.executable, "-c", look)
    assert status == 0, out + err
    assert set((tmp_path / "log").read_text().split()) == {"ssh://me@localhost:22", "me@127.0.0.1"}
    told = [
        line for line in out.splitlines() if line.startswith("[worker")
    ]  # a server may come when all is over
    assert sorted(told) == [f"[worker {rank}] c a 'b' None" for rank in range(3)]


def test_a_worker_that_is_killed_is_named(tmp_path):
    status, out, err = run(tmp_path, "localhost\n", *program("exchange", "kill"))
    assert len([line for line in out.splitlines() if "seen:" in line]) == 2, out + err
    assert status in (128 + signal.SIGKILL, 3) and "headrace.launch: worker" in err, out + err


def test_processes_end_with_the_launcher(tmp_path):
    code = "import os, time; from headrace import kv; kv.create('dist_sync')\n"
    code += "print('is', os.getpid(), flush=True); time.sleep(600)"
    job = start(tmp_path, "localhost\n", sys.executable, "-c", code)
    try:
        lines = [job.stdout.readline() for _ in range(3)]
    finally:
        job.kill()  # it can tell nobody
        job.communicate(timeout=SECONDS)
    deadline = time.monotonic() + SECONDS
    while any(is_running(re.search(r"is (\d+)", line)[1]) for line in lines):
        assert time.monotonic() < deadline, lines
        time.sleep(0.1)


def without_a_machine(tmp_path, least):
    """The outcome of a job that starts again from its checkpoint, as one of three machines is gone."""
    options = ["--elastic", least, "--restart", "1", "--checkpoint", "in", "--checkpoint-interval", "0"]
    names = "127.0.0.2\n127.0.0.3\n127.0.0.4\n"
    return outcome(start(tmp_path, names, *options, *program("epochs", str(tmp_path), "loader", "3", "9")))


def test_a_job_goes_on_with_the_workers_whose_machines_are_left(tmp_path):
    status, out, err = without_a_machine(tmp_path, "2")
    assert status == 0 and "the job goes on with 2 workers" in err, out + err
    assert "going on from the checkpoint" in out
    for rank in range(2):
        begun = [line for line in out.splitlines() if line.startswith(f"[worker {rank}] in epoch")]
        assert begun[-2:] == [f"[worker {rank}] in epoch 1", f"[worker {rank}] in epoch 2"], out
    assert sorted(path.name for path in tmp_path.glob("*.npy")) == ["0.npy", "1.npy"]


def test_too_few_machines_end_the_job(tmp_path):
    status, out, err = without_a_machine(tmp_path, "3")
    assert status == 1 and "of 3 machines 2 are left, with 2 of at least 3 workers" in err, out + err


class TestErrors:
    def test_a_machine_that_cannot_be_reached(self, tmp_path):
        status, out, err = run(tmp_path, "localhost\ndown\n", "true")
        assert status == 255 and "at down ended with status 255" in err, out + err
        assert "No route to host" in out

    @pytest.mark.parametrize(("text", "why"), [("# none\n", "names no machine"), (None, "No such file")])
    def test_no_machines(self, tmp_path, capsys, text, why):
        if text is not None:
            (tmp_path / "hosts").write_text(text)
        with pytest.raises(SystemExit):
            main(["--hosts", str(tmp_path / "hosts"), "true"])
        assert why in capsys.readouterr().err
