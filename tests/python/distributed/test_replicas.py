"""Servers of two processes each: nothing is lost, or counted twice, when one is killed or stopped."""

import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))

from chaos.jobs import Fault, Scenario, run


@pytest.mark.parametrize("kind", ["dist_sync", "dist_async"])
@pytest.mark.parametrize("moment", ["applied 40", "kept 40"])
def test_a_server_that_wakes_up_after_its_backup_has_taken_its_place(tmp_path, kind, moment):
    """It stops when it has applied a push that nobody knows of, or that the backup alone has."""
    scenario = Scenario(
        seed=1,
        kind=kind,
        servers=1,
        replicas=2,
        stop_at=moment,
        seconds_to_save=1000,
        faults=(Fault("wake"),),
    )
    outcome = run(scenario, tmp_path / "job")
    assert (outcome.lives, outcome.done) == (1, 1), outcome.output
    assert "the backup serves in its place, in epoch 2" in outcome.output
    refusals = ("was given up", "of the server is over", "another process serves")
    assert any(refusal in outcome.output for refusal in refusals), outcome.output
    assert "the job goes on without it" in outcome.output


@pytest.mark.slow
@pytest.mark.parametrize(
    "of_one",
    [
        Scenario(seed=11, replicas=2, faults=(Fault("kill", 60, "server", 0),)),
        Scenario(seed=12, kind="dist_async", replicas=2, faults=(Fault("kill", 70, "server", 3),)),
        Scenario(
            seed=13,
            replicas=2,
            link_faults=4,
            shares_memory=False,
            faults=(Fault("stop", 50, "server", 1, 6.0),),
        ),
        Scenario(
            seed=14,
            kind="dist_async",
            replicas=2,
            link_faults=4,
            faults=(Fault("stop", 40, "server", 2, 6.0),),
        ),
    ],
    ids=lambda one: f"seed {one.seed}",
)
def test_a_job_goes_on_without_a_server(tmp_path, of_one):
    outcome = run(of_one, tmp_path / "job")
    assert (outcome.lives, outcome.done) == (1, 1), outcome.output
