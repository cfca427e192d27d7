"""Jobs whose wall clocks are set while they run: nobody is lost, nothing hangs, and no rounds are mixed."""

import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))

from chaos.etcd import needs_etcd
from chaos.jobs import Fault, Scenario, needs_clock, run


@pytest.mark.slow
@needs_clock
def test_clocks_of_all_processes_are_set_forwards_and_backwards(tmp_path):
    """Workers end though nobody answers them any more: what led them to the scheduler has ended before."""
    faults = (Fault("clock", 12, "all", hours=30), Fault("clock", 30, "all", hours=-30))
    outcome = run(
        Scenario(seed=51, replicas=2, servers=1, pause=0.1, faults=faults, link_faults=3), tmp_path / "job"
    )
    assert (outcome.lives, outcome.done) == (1, 2), outcome.output
    assert "was lost" not in outcome.output


@needs_clock
@needs_etcd
def test_clocks_differ_and_leases_hold(tmp_path):
    faults = (
        Fault("clock", 12, "leader", hours=30),
        Fault("clock", 13, "worker", 0, hours=-30),
        Fault("clock", 14, "primary", 0, hours=500),
        Fault("kill", 20, "leader"),
        Fault("kill", 30, "primary", 0),
    )
    scenario = Scenario(
        seed=52,
        kind="dist_async",
        schedulers=2,
        etcds=1,
        servers=1,
        replicas=2,
        seconds_to_save=1000,
        pause=0.1,
        faults=faults,
    )
    outcome = run(scenario, tmp_path / "job")
    assert (outcome.lives, outcome.done) == (1, len(faults)), outcome.output
    assert outcome.output.count("it leads from now on") == 1


@needs_clock
def test_workers_that_take_places_have_new_incarnations_when_the_clock_was_set_back(tmp_path):
    faults = (Fault("clock", 12, "all", hours=-30), Fault("kill", 25, "worker", 1))
    scenario = Scenario(seed=53, kind="dist_async", servers=1, elastic=True, steps=16, faults=faults)
    outcome = run(scenario, tmp_path / "job")
    assert (outcome.lives, outcome.done) == (1, len(faults)), outcome.output


@needs_clock
def test_a_machine_whose_clock_is_behind_takes_the_certificates_of_the_job(tmp_path):
    faults = (
        Fault("clock", 12, "worker", 0, hours=-30),
        Fault("clock", 13, "server", 0, hours=30),
        Fault("sever", 15, "worker", 0, seconds=0.3),
        Fault("sever", 16, "server", 0, seconds=0.3),
    )
    outcome = run(Scenario(seed=54, servers=1, pause=0.1, tls=True, faults=faults), tmp_path / "job")
    assert (outcome.lives, outcome.done) == (1, len(faults)), outcome.output
