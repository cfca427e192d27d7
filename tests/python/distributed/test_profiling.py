"""Timelines of jobs, and servers that workers have record themselves."""

import json
import pathlib
import signal
import subprocess
import sys

import pytest

from headrace import timeline
from headrace.launch import main

PROGRAMS = pathlib.Path(__file__).parent / "programs"
SECONDS = 120


def run_job(folder, *options):
    command = [sys.executable, "-m", "headrace.launch", "-n", "2", "-s", "2", *options]
    job = subprocess.run(
        [*command, sys.executable, str(PROGRAMS / "profiling.py")],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=SECONDS,
    )
    assert job.returncode == 0 and job.stdout.count("done") == 2, job.stdout + job.stderr
    return job


def recorded(path):
    """How often which bar is in a file."""
    events = json.loads(path.read_text())["traceEvents"]
    names = [event["name"] for event in events if event["ph"] == "X"]
    return {name: names.count(name) for name in set(names)}


@pytest.mark.parametrize("options", [[], ["--replicas", "2"]])
def test_each_server_writes_what_it_did_while_worker_0_had_it_record(tmp_path, options):
    run_job(tmp_path, *options)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["rank0_run0.json", "rank1_run0.json"]
    counts = [recorded(path) for path in sorted(tmp_path.iterdir())]
    for what in ("serve push", "serve pull"):
        assert sum(of_server[what] for of_server in counts) == 2 * 16  # workers times keys
    assert all("serve init" not in of_server for of_server in counts)


def test_the_timeline_of_a_job_goes_on_while_worker_0_has_servers_record(tmp_path):
    run_job(tmp_path, "--timeline", "job.json")
    job = recorded(tmp_path / "job.json")
    assert job["serve push"] == 32 and job["serve init"] == 32
    assert sum(recorded(tmp_path / f"rank{server}_run0.json")["serve init"] for server in range(2)) == 32


def origins_of(read, name):
    """The groups of lanes from which arrows come to the bars of this name."""
    number = read.names.index(name)
    return {
        read.lanes[origin].group.split(":")[0]
        for lane in read.lanes
        for bar, origin in zip(lane.names, lane.origin_lanes)
        if bar == number and origin >= 0
    }


def test_one_timeline_shows_all_processes_and_their_messages(tmp_path):
    output = tmp_path / "job.json"
    command = [sys.executable, "-m", "headrace.launch", "-n", "2", "-s", "2", "--timeline", str(output)]
    command += [sys.executable, str(PROGRAMS / "exchange.py"), "nothing"]
    job = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
    assert job.returncode == 0, job.stdout + job.stderr
    assert f"wrote {output}, the timeline of 4 processes" in job.stdout
    read = timeline.load(str(output))
    workers = {"worker-0", "worker-1"}
    servers = {lane.group.split(":")[0] for lane in read.lanes} - workers
    assert servers and servers <= {"server-0", "server-1"}  # one that no key is on has nothing to show
    assert origins_of(read, "serve push") == workers
    assert origins_of(read, "hear answer") == servers
    assert list(tmp_path.iterdir()) == [output]


def test_the_timeline_of_a_job_that_failed_shows_what_servers_did(tmp_path):
    output = tmp_path / "job.json"
    command = [sys.executable, "-m", "headrace.launch", "-n", "2", "-s", "2", "--timeline", str(output)]
    job = subprocess.run(
        [*command, sys.executable, str(PROGRAMS / "exchange.py"), "raise"],
        capture_output=True,
        text=True,
        timeout=SECONDS,
    )
    assert job.returncode, job.stdout + job.stderr
    assert f"wrote {output}, the timeline of 4 processes" in job.stdout
    assert origins_of(timeline.load(str(output)), "serve push") == {"worker-0", "worker-1"}


def test_processes_that_were_ended_at_once_lack_in_the_timeline_alone(tmp_path):
    output = tmp_path / "job.json"
    command = [sys.executable, "-m", "headrace.launch", "-n", "2", "--timeline", str(output)]
    program = (
        "import os, signal; from headrace import kv; kv = kv.create('dist_sync'); kv._barrier();"
        "kv.rank or os.kill(os.getpid(), signal.SIGKILL); kv._barrier()"
    )
    job = subprocess.run(
        [*command, sys.executable, "-c", program], capture_output=True, text=True, timeout=SECONDS
    )
    assert job.returncode == 128 + signal.SIGKILL, job.stdout + job.stderr
    assert "no timeline of worker 0, which ended without writing it" in job.stderr
    assert f"wrote {output}, the timeline of 2 processes" in job.stdout


def test_a_timeline_that_cannot_be_written_is_told_at_once(tmp_path):
    with pytest.raises(SystemExit, match="headrace.launch: --timeline: .*No such file or directory"):
        main(["-n", "1", "--timeline", str(tmp_path / "nowhere" / "job.html"), "true"])
