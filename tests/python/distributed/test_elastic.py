"""Jobs whose workers come and go."""

import argparse
import os
import pathlib
import re
import shlex
import signal
import subprocess
import sys
import time

import pytest

from headrace._elastic import line_to_join, range_of, with_range
from headrace._ports import free_ports
from headrace.launch import main

PROGRAM = pathlib.Path(__file__).parent / "programs" / "elastic.py"
SECONDS = 120  # that a job may take on a busy machine


def start(folder, *options, program=PROGRAM):
    command = [sys.executable, "-m", "headrace.launch", *options, sys.executable, str(program), str(folder)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def outcome(job):
    out, err = job.communicate(timeout=SECONDS)
    return job.returncode, out, err


def line_of(job):
    """What others are told to join by, as arguments."""
    line = job.stderr.readline()
    assert "to join: " in line, line
    return shlex.split(line.partition("to join: ")[2])


def join(line, count, *options):
    assert line[:3] == ["python", "-m", "headrace.launch"]
    more = [str(count) if before == "-n" else now for before, now in zip(line[2:], line[3:])]
    command = [sys.executable, "-m", "headrace.launch", *options, *more]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def workers_in(folder):
    """{(rank, "began" or "joined", process): [pushes, those that it found, its predecessor's, workers]}"""
    told = {}
    for path in folder.iterdir():
        if re.fullmatch(r"\d+ \w+ \d+", path.name) and (text := path.read_text()):
            rank, how, process = path.name.split()
            told[int(rank), how, int(process)] = list(map(int, text.split()))
    return told


def await_workers(folder, job, is_so):
    deadline = time.monotonic() + SECONDS
    while not is_so(told := workers_in(folder)):
        assert job.poll() is None and time.monotonic() < deadline, (told, job.poll())
        time.sleep(0.02)
    return told


def test_a_worker_that_is_killed_is_replaced_and_others_join(tmp_path):
    job = start(tmp_path, "-n", "2", "--elastic", "1:4")
    line = line_of(job)
    told = await_workers(tmp_path, job, lambda told: len(told) == 2)
    (killed,) = [process for rank, _, process in told if rank == 1]
    os.kill(killed, signal.SIGKILL)
    await_workers(tmp_path, job, lambda told: len(told) == 3)
    others = join(line, 2)
    told = await_workers(
        tmp_path,
        job,
        lambda told: (
            len(told) == 5 and all(one[3] == 4 for (_, _, process), one in told.items() if process != killed)
        ),
    )
    assert sorted((rank, how) for rank, how, _ in told) == [
        (0, "began"),
        (1, "began"),
        (1, "joined"),
        (2, "joined"),
        (3, "joined"),
    ]
    one_more = join(line, 1)
    status, out, err = outcome(one_more)
    assert status == 1 and "the job has 4 workers, as many as it may have" in out, out + err
    (tmp_path / "enough").touch()
    for one in (job, others):
        status, out, err = outcome(one)
        assert status == 0, out + err
    told = workers_in(tmp_path)
    counts = [int(count) for count in re.findall(r"(\d+) pushes", out)]
    acknowledged = sum(one[0] for one in told.values())
    assert len(set(counts)) == 1 and acknowledged <= counts[0] <= acknowledged + 1, (told, out)
    (replacement,) = [one for (rank, how, _), one in told.items() if (rank, how) == (1, "joined")]
    (before,) = [one[0] for (_, _, process), one in told.items() if process == killed]
    assert replacement[1] > 0 and before <= replacement[2] <= before + 1


def test_a_job_whose_workers_all_fail_has_failed(tmp_path):
    program = tmp_path / "fails.py"
    program.write_text(
        "from headrace import kv, nd\nstore = kv.create('dist_async')\nstore.init(0, nd.zeros((2,)))\n"
        "store.barrier()\nraise SystemExit(3)\n"
    )
    status, _, err = outcome(start(tmp_path, "-n", "2", "--elastic", "1", program=program))
    assert status == 3 and "ended with status 3" in err.splitlines()[-1], err


def test_the_others_go_on_without_one_that_is_not_replaced(tmp_path):
    job = start(tmp_path, "-n", "2", "--elastic", "--restart", "0")
    line_of(job)
    told = await_workers(tmp_path, job, lambda told: len(told) == 2)
    os.kill(next(process for rank, _, process in told if rank == 1), signal.SIGKILL)
    await_workers(tmp_path, job, lambda told: any(one[3] == 1 for one in told.values()))
    (tmp_path / "enough").touch()
    status, out, err = outcome(job)
    assert status == 0 and "the job goes on without it" in err and "worker 0 of 1:" in out, out + err


def lives_in(folder):
    """(workers, pushes that counts before, steps) of each life of a synchronous job, in their order."""
    texts = [path.read_text() for path in folder.glob("life *")]
    return sorted(tuple(map(int, text.split())) for text in texts)


def await_life(folder, workers, *launchers):
    deadline = time.monotonic() + SECONDS
    while not any(life[0] == workers for life in lives_in(folder)):
        codes = [one.poll() for one in launchers]
        assert codes == [None] * len(codes) and time.monotonic() < deadline, (lives_in(folder), codes)
        time.sleep(0.02)


def test_a_synchronous_job_begins_anew_from_a_checkpoint_with_workers_that_join(tmp_path):
    options = ("-n", "2", "--elastic", "1:4", "--checkpoint", str(tmp_path / "saved"))
    job = start(tmp_path, *options, program=PROGRAM.with_name("more_workers.py"))
    line = line_of(job)
    await_life(tmp_path, 2, job)
    joined = join(line, 1, "--restart", "3")  # its worker comes again when the job begins anew
    await_life(tmp_path, 3, job, joined)
    others = join(line, 1)
    await_life(tmp_path, 4, job, joined, others)
    one_more = join(line, 1)
    status, out, err = outcome(one_more)
    assert status == 1 and "the job has 4 workers, as many as it may have" in out, out + err
    (tmp_path / "enough").touch()
    for one in (others, joined):
        status, out, err = outcome(one)
        assert status == 0, out + err
    status, out, err = outcome(job)
    assert status == 0 and err.count("the job begins anew with more workers") == 2, out + err
    lives = lives_in(tmp_path)
    assert [workers for workers, _, _ in lives] == [2, 3, 4]
    for (workers, before, steps), (_, first, _) in zip(lives, lives[1:]):
        assert before <= first <= before + workers * (steps + 1) and (first - before) % workers == 0, lives


class TestErrors:
    def test_a_job_that_is_not_elastic(self, tmp_path):
        address = f"127.0.0.1:{free_ports(1)[0]}"
        job = start(tmp_path, "-n", "1", "--plain", "--port", address.partition(":")[2])
        await_workers(tmp_path, job, lambda told: len(told) == 1)
        command = [sys.executable, str(PROGRAM), str(tmp_path)]
        how = ["python", "-m", "headrace.launch", "--join", address, "-n", "1", "--plain", *command]
        status, out, err = outcome(join(how, 1))
        assert status == 1 and "the job is not elastic: nobody joins it" in out, out + err
        (tmp_path / "enough").touch()
        assert outcome(job)[0] == 0

    @pytest.mark.parametrize(
        "arguments",
        [
            ["--elastic", "3", "-n", "2", "true"],
            ["--elastic", "1:2", "-n", "3", "true"],
            ["--elastic=soon", "true"],
            ["--elastic", "2:1", "true"],
            ["--elastic", "--mpi", "true"],
            ["--join", "here", "true"],
            ["--join", "here:12", "--elastic", "true"],
        ],
    )
    def test_of_arguments(self, arguments, capsys):
        with pytest.raises(SystemExit):
            main(arguments)
        assert "--elastic" in capsys.readouterr().err  # the usage, too


def test_ranges():
    assert range_of("2") == range_of("2:") == (2, None)
    assert range_of("2:5") == (2, 5)
    for wrong in ("0", "x", "3:2", "1:2:3", ""):
        with pytest.raises(argparse.ArgumentTypeError):
            range_of(wrong)


def test_a_range_may_be_left_out():
    def command_of(some):
        return some[2:] if some[:1] == ["-n"] else some

    assert with_range(["--elastic", "python", "x"], command_of) == ["--elastic=1", "python", "x"]
    assert with_range(["--elastic", "2:3", "python"], command_of) == ["--elastic=2:3", "python"]
    assert with_range(["-n", "2", "--elastic", "x"], command_of) == ["-n", "2", "--elastic=1", "x"]
    whole = ["-n", "2", "python", "x", "--elastic"]
    assert with_range(whole, command_of) == whole


def test_the_line_to_join_is_one_for_a_shell():
    address = {"DMLC_PS_ROOT_URI": "10.0.0.1", "DMLC_PS_ROOT_PORT": "91"}
    line = line_to_join({**address, "HEADRACE_CERTIFICATES": "/a b"}, ["python", "x.py", "a b"], {})
    assert line == "python -m headrace.launch --join 10.0.0.1:91 -n 1 --certificates '/a b' python x.py 'a b'"
    assert "--plain" in line_to_join(address, ["true"], {})
    assert line_to_join(address, ["true"], {"KIND": "a b"}).endswith(" --plain '--env=KIND=a b' true")
