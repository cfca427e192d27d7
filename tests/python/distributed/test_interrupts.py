"""Jobs and processes of jobs that are interrupted: by Ctrl-C, by the end of the terminal."""

import os
import pathlib
import signal
import socket
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
    assert job.returncode == 128 + signal.SIGHUP and "interrupted" in err, err
    assert not list(tmp_path.iterdir())


def test_workers_hear_the_signal_that_the_launcher_hears():
    code = """
import signal, sys, time
signal.signal(signal.SIGTERM, lambda *_: sys.exit("saved"))
print("ready", flush=True)
time.sleep(600)
"""
    command = [sys.executable, "-m", "headrace.launch", "-n", "1", sys.executable, "-c", code]
    job = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert "ready" in job.stdout.readline()
        job.send_signal(signal.SIGTERM)
        out, err = job.communicate(timeout=SECONDS)
    finally:
        job.kill()
    assert job.returncode == 128 + signal.SIGTERM and "interrupted" in err, err
    assert "saved" in out


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
    assert done.returncode == 128 + signal.SIGTERM and "interrupted" in done.stderr, done.stderr


# Worker 0 makes a call for which it waits for worker 1, which makes none until worker 0 was interrupted.
WAITING = """
import os, signal, sys, time
from headrace import _core, distributed, kv, nd

call, kind, interrupted = sys.argv[1:4]
code = compile(call, "call", "eval")  # Python takes an interrupt in the evaluation of a text for its own end
if call not in sys.argv[4:]:
    store = kv.create(kind)
    store.init("w", nd.zeros((2,)))
    distributed.init()
if os.environ.get("DMLC_WORKER_ID", os.environ.get("OMPI_COMM_WORLD_RANK")) == "0":
    signal.signal(signal.SIGALRM, signal.default_int_handler)
    signal.setitimer(signal.ITIMER_REAL, 0.2)
    try:
        eval(code)
        print("not interrupted", flush=True)
    except KeyboardInterrupt:
        pass
    open(interrupted, "w").close()
while not os.path.exists(interrupted):
    time.sleep(0.01)
"""
BEGINNINGS = ["kv.create(kind)", "distributed.init()"]
EXCHANGES = [
    "distributed.barrier()",
    "distributed.broadcast_object(1, root=1)",
    "_core.distributed.others_go_on()",
]
CALLS = [
    *(("dist_sync", call) for call in BEGINNINGS),
    *(("dist_sync", call) for call in ["store.barrier()", *EXCHANGES]),
    *(("mpi", call) for call in ["store.barrier()", "distributed.all_gather_object(1)", *EXCHANGES]),
]


@pytest.mark.parametrize("kind, call", CALLS)
def test_ctrl_c_ends_a_call_that_waits_for_other_workers(kind, call, tmp_path):
    options = ["--mpi"] if kind == "mpi" else []
    command = [sys.executable, "-m", "headrace.launch", "-n", "2", *options, sys.executable, "-c", WAITING]
    job = subprocess.run(
        [*command, call, kind, str(tmp_path / "interrupted"), *BEGINNINGS],
        capture_output=True,
        text=True,
        timeout=SECONDS,
    )
    assert "not interrupted" not in job.stdout and (tmp_path / "interrupted").exists(), job.stderr
    # Whether a job that has not begun fails depends on whether the scheduler has heard of worker 0.
    fates = (0, 1) if call in BEGINNINGS else (0,)
    assert job.returncode in fates, job.stdout + job.stderr


def test_ctrl_c_ends_a_server_and_a_scheduler_that_are_started_by_hand():
    with socket.create_server(("127.0.0.1", 0)) as found:
        port = found.getsockname()[1]
    variables = {
        "DMLC_PS_ROOT_URI": "127.0.0.1",
        "DMLC_PS_ROOT_PORT": str(port),
        "DMLC_NUM_WORKER": "1",
        "DMLC_NUM_SERVER": "1",
    }

    def ended_when(role, has_begun):
        command = [sys.executable, "-m", "headrace.kvstore"]
        environment = {**os.environ, **variables, "DMLC_ROLE": role}
        process = subprocess.Popen(
            command, env=environment, stderr=subprocess.PIPE, text=True, preexec_fn=hear_interrupts
        )
        try:
            has_begun()
            process.send_signal(signal.SIGINT)
            _, err = process.communicate(timeout=SECONDS)
        finally:
            process.kill()
        assert process.returncode == -signal.SIGINT, err

    with socket.create_server(("127.0.0.1", port)) as there:
        ended_when("server", lambda: there.accept()[0].close())
    ended_when("scheduler", lambda: wait_for_listener(port))


def wait_for_listener(port):
    deadline = time.monotonic() + SECONDS
    while True:
        try:
            return socket.create_connection(("127.0.0.1", port)).close()
        except ConnectionRefusedError:
            assert time.monotonic() < deadline
            time.sleep(0.02)
