"""What the launcher shows of the lines of processes that rewrite them."""

import os
import pty
import shutil
import subprocess
import sys

import pytest

from headrace._rank import lines_of

SECONDS = 120  # that a job may take on a busy machine

# Rewrites a line; does not finish it before there is a file.
BAR = """
import os, sys, time
for percent in range(0, 60, 10):
    print(f"\\r{percent}%", end="", flush=True)
while not os.path.exists(sys.argv[1]):
    time.sleep(0.01)
print("\\rdone", flush=True)
"""


class Chunks:
    """A stream that gives these pieces one after the other."""

    def __init__(self, *chunks):
        self._chunks = list(chunks)

    def read1(self, size):
        return self._chunks.pop(0) if self._chunks else b""


@pytest.mark.parametrize(
    ("chunks", "lines"),
    [
        ([b"a\nb\n\nc"], ["a", "b", "", "c"]),
        ([b"a\r\nb\r", b"\nc"], ["a", "b", "c"]),
        ([b"\r 10%", b"\r 2", b"0%", b"\r100%\nx\n"], ["100%", "x"]),
        ([b"10%\r20%\r", b"30%\r", b"\nx\r"], ["30%", "x"]),
        ([b"\r50%", b"\r    \r", b"loss\n"], ["loss"]),
        ([b"\r50%", b"\r    \r"], []),
        ([b"\xe2\x96", b"\x88\n"], ["\u2588"]),
    ],
)
def test_lines_are_as_they_were_in_the_end(chunks, lines):
    assert [line.strip() for line in lines_of(Chunks(*chunks))] == lines


def test_lines_that_are_not_finished_are_told():
    told = []
    stream = Chunks(b"a\n\r1%", b"\r2%\r3%", b"\nb", b"c\n")
    assert list(lines_of(stream, told.append)) == ["a", "3%", "bc"]
    assert told == ["1%", "3%", "b"]


def command_of(how, program, *arguments):
    return [
        sys.executable,
        "-m",
        "headrace.launch",
        "-n",
        "2",
        *how,
        sys.executable,
        "-c",
        program,
        *arguments,
    ]


def ways():
    without = [] if shutil.which("mpirun") else [pytest.mark.skip("needs Open MPI")]
    return [pytest.param([], id="here"), pytest.param(["--mpi"], id="mpi", marks=without)]


@pytest.mark.parametrize("how", ways())
def test_a_file_gets_each_line_once(how, tmp_path):
    (tmp_path / "go").touch()
    command = command_of(how, BAR, str(tmp_path / "go"))
    job = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
    shown = sorted(job.stdout.split("\n"))
    assert job.returncode == 0 and shown == ["", "[worker 0] done", "[worker 1] done"], (
        job.stdout + job.stderr
    )


LONG = """
import os
rank = os.environ.get("OMPI_COMM_WORLD_RANK") or os.environ["DMLC_WORKER_ID"]
for size in range(4_000, 100_000, 4_000):
    print(rank * size, flush=True)
"""


@pytest.mark.parametrize("how", ways())
def test_long_lines_of_several_are_whole(how):
    job = subprocess.run(command_of(how, LONG), capture_output=True, text=True, timeout=SECONDS)
    shown = sorted(line for line in job.stdout.split("\n") if line.startswith("[worker"))
    assert shown == [
        f"[worker {rank}] {rank * size}" for rank in "01" for size in range(4_000, 100_000, 4_000)
    ]
    assert job.returncode == 0 and job.stderr == ""


def test_a_job_goes_on_where_nothing_can_be_written():
    with open("/dev/full", "w") as full:
        command = command_of([], LONG)
        job = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, timeout=SECONDS)
    assert job.stderr.count("cannot be shown: [Errno 28] No space left on device; the job goes on") == 1


@pytest.mark.parametrize("how", ways())
def test_a_terminal_shows_how_far_worker_0_is(how, tmp_path):
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm"}
    job = subprocess.Popen(
        command_of(how, BAR, str(tmp_path / "go")), stdout=theirs, stderr=theirs, env=environment
    )
    os.close(theirs)
    seen = b""
    try:
        while chunk := read(ours):
            seen += chunk
            if b"\x1b[K[worker 0] " in seen and b"%" in seen:
                (tmp_path / "go").touch()
        assert job.wait(SECONDS) == 0, seen
    finally:
        job.kill()
        job.wait()
        os.close(ours)
    assert b"[worker 0] done\r\n" in seen and b"[worker 1] done\r\n" in seen, seen
    assert b"%" not in seen.partition(b"[worker 1] ")[2].partition(b"\r")[0], seen


def read(terminal):
    try:
        return os.read(terminal, 1 << 16)
    except OSError:  # nobody writes to it any more
        return b""
