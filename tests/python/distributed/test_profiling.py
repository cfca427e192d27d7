"""Servers that workers have record themselves."""

import json
import pathlib
import subprocess
import sys

import pytest

PROGRAM = pathlib.Path(__file__).parent / "programs" / "profiling.py"
SECONDS = 120


def run_job(folder, *options):
    command = [sys.executable, "-m", "headrace.launch", "-n", "2", "-s", "2", *options]
    job = subprocess.run(
        [*command, sys.executable, str(PROGRAM)], cwd=folder, capture_output=True, text=True, timeout=SECONDS
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
