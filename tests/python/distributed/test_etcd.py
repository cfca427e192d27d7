"""Jobs with several schedulers, whose state is in an etcd of three processes: any of them may be lost."""

import pathlib
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))

from by_hand import run_scheduler
from chaos.etcd import needs_etcd
from chaos.jobs import Fault, Scenario, run

SECONDS = 60


def one_life(tmp_path, **what):
    """What is left equals the replay, whatever has happened."""
    scenario = Scenario(schedulers=2, seconds_to_save=1000, **what)
    outcome = run(scenario, tmp_path / "job")
    assert (outcome.lives, outcome.done) == (1, len(scenario.faults)), outcome.output
    return outcome.output


@needs_etcd
def test_nothing_happens_when_a_process_of_etcd_is_killed(tmp_path):
    output = one_life(tmp_path, seed=21, faults=(Fault("kill", 20, "etcd", 0),))
    assert "it leads" not in output


@needs_etcd
def test_another_scheduler_goes_on(tmp_path):
    output = one_life(tmp_path, seed=22, faults=(Fault("kill", 20, "leader"),))
    assert output.count("it leads from now on") == 1


@needs_etcd
def test_a_scheduler_that_wakes_up_does_not_lead(tmp_path):
    faults = (Fault("stop", 20, "leader"), Fault("wake leader"), Fault("kill", 0, "leader"))
    output = one_life(tmp_path, seed=23, kind="dist_async", replicas=2, faults=faults)
    assert output.count("it leads no more") == 1
    assert "it leads from now on" in output.partition("it leads no more")[2]
    # The one between them may be killed before it says that it leads.
    assert output.count("it leads from now on") <= 2


@needs_etcd
def test_a_scheduler_and_a_server_are_lost_together(tmp_path):
    faults = (Fault("kill", 30, "leader"), Fault("kill", 30, "server", 0))
    output = one_life(tmp_path, seed=24, kind="dist_async", replicas=2, faults=faults)
    assert "it leads from now on" in output


@needs_etcd
def test_schedulers_know_of_workers_that_come_and_go(tmp_path):
    """The second one gives a worker its place; the third goes on with it, unless the job was over before."""
    faults = (Fault("kill", 20, "leader"), Fault("kill", 45, "worker", 1), Fault("kill", 70, "leader"))
    output = one_life(tmp_path, seed=25, kind="dist_async", workers=3, steps=20, elastic=True, faults=faults)
    assert "it leads from now on" in output
    assert "worker 1 was ended by SIGKILL; another one takes its place" in output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--schedulers", "3"], "--schedulers needs --etcd"),
        (["--mpi", "--etcd", "127.0.0.1:1"], "--etcd is for jobs with schedulers"),
        (["--etcd", "127.0.0.1:1"], "etcd cannot be reached (127.0.0.1:1: "),
        (["--etcd", "127.0.0.1:1,10.0.0.1"], "of addresses, got '10.0.0.1'"),
        (["--etcd", "127.0.0.1:http"], "of addresses, got '127.0.0.1:http'"),
    ],
)
def test_what_the_launcher_refuses(arguments, message):
    command = [sys.executable, "-m", "headrace.launch", "-n", "1", *arguments, "true"]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
    assert ended.returncode != 0 and message in ended.stderr, ended.stderr


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"HEADRACE_ETCD": ""}, "HEADRACE_SCHEDULERS names 2 schedulers, which need etcd"),
        ({"HEADRACE_JOB": ""}, "HEADRACE_JOB is missing"),
        (
            {"HEADRACE_ETCD": "here"},
            "HEADRACE_ETCD is a list HOST:PORT,... or https://HOST:PORT,... of addresses, got 'here'",
        ),
        ({"HEADRACE_ETCD": "10.0.0.1:2379"}, "write https://10.0.0.1:2379, or"),
        ({"HEADRACE_ETCD": "https://127.0.0.1:1,127.0.0.1:2"}, "1 of the 2 addresses of HEADRACE_ETCD begin"),
        ({"HEADRACE_SCHEDULER": "2"}, "HEADRACE_SCHEDULER is a number from 0 to 1, got '2'"),
        ({}, "etcd has not answered the scheduler for 1 seconds: 127.0.0.1:1: "),
    ],
)
def test_what_a_scheduler_refuses(changed, message):
    ended = run_scheduler(changed)
    assert ended.returncode == 1 and message in ended.stderr, ended.stderr
