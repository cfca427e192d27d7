"""Jobs to which things happen: no push is lost or counted twice, and what is left equals a sequential replay.

`python tests/python/distributed/chaos` runs more of them, by chance.
"""

import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))

from chaos.histories import Life, Push, check_order, check_sets
from chaos.jobs import Fault, Scenario, run


def scenario(**what):
    return pytest.param(Scenario(**what), id=f"seed {what['seed']}")


@pytest.mark.slow
@pytest.mark.parametrize(
    "of_one",
    [
        scenario(seed=1, link_faults=4, shares_memory=False, faults=(Fault("stop", 20, "server", 0, 0.5),)),
        scenario(seed=2, kind="dist_async", link_faults=4, faults=(Fault("stop", 20, "worker", 0, 0.5),)),
    ],
)
def test_connections_that_break_change_nothing(tmp_path, of_one):
    assert run(of_one, tmp_path / "job").lives == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    "of_one",
    [
        scenario(
            seed=3, full_disk=(2, 3), faults=(Fault("kill", 30, "server", 1), Fault("kill", 60, "worker", 0))
        ),
        scenario(seed=4, kind="dist_async", faults=(Fault("kill", 30, "scheduler"),)),
    ],
)
def test_a_job_goes_on_from_a_moment_of_its_past(tmp_path, of_one):
    outcome = run(of_one, tmp_path / "job")
    assert outcome.lives == 1 + len(of_one.faults) == 1 + outcome.done, outcome.output
    assert not of_one.full_disk or "a checkpoint could not be saved" in outcome.output


@pytest.mark.slow
@pytest.mark.parametrize(
    "of_one",
    [
        scenario(
            seed=6,
            kind="dist_async",
            workers=3,
            elastic=True,
            seconds_to_save=0,
            faults=(Fault("kill", 25, "worker", 1), Fault("kill", 60, "worker", 0)),
        ),
        scenario(
            seed=7,
            kind="dist_async",
            elastic=True,
            replicas=2,
            link_faults=3,
            faults=(Fault("kill", 20, "worker", 1), Fault("kill", 25, "server", 0)),
        ),
    ],
)
def test_others_take_the_places_of_workers_that_are_killed(tmp_path, of_one):
    outcome = run(of_one, tmp_path / "job")
    assert outcome.lives == 1 and outcome.done == len(of_one.faults), outcome.output
    assert outcome.output.count("another one takes its place") == 2


@pytest.mark.slow
def test_wrong_pushes_and_a_second_job_leave_the_others_alone(tmp_path):
    faults = (Fault("second job", 12), Fault("stop", 20, "scheduler", 0, 2.0))
    outcome = run(Scenario(seed=5, nan=(1, 2, 6), wrong_shapes=True, faults=faults), tmp_path / "job")
    (of_scheduler, at_port), (of_worker, at_job) = outcome.intruders
    assert of_scheduler == of_worker == 1
    assert "another process has that port" in at_port and "is this a second job on one port?" in at_job


@pytest.mark.slow
@pytest.mark.parametrize(
    "of_one",
    [
        scenario(
            seed=8,
            kind="dist_async",
            rows=True,
            optimizer="adagrad",
            replicas=2,
            faults=(Fault("kill", 40, "primary", 0), Fault("kill", 41, "primary", 1)),
        ),
        scenario(seed=9, rows=True, optimizer="sgd", faults=(Fault("kill", 50, "server", 0),)),
        scenario(
            seed=10, compressed=True, replicas=2, link_faults=4, faults=(Fault("kill", 40, "primary", 0),)
        ),
    ],
)
def test_rows_and_what_is_compressed_count_once(tmp_path, of_one):
    outcome = run(of_one, tmp_path / "job")
    assert outcome.done == len(of_one.faults), outcome.output


class TestTheCheck:
    """It finds what it looks for."""

    settings = {"kind": "dist_sync", "workers": 2, "steps": 2, "elastic": False, "rows": False}
    whole = [(one, rank) for one in range(2) for rank in range(2)]

    def life(self, applied, acknowledged=None):
        life = Life.__new__(Life)
        life.number, life.starts = 0, {(0, 9): 0, (1, 9): 0}
        life.ended = list(life.starts)
        pushes = [Push(key, rank, 9, one) for key in range(3) for one, rank in applied]
        life.servers = [[("applied", push) for push in pushes]]
        heard = applied if acknowledged is None else acknowledged
        life.acknowledged = [Push(key, rank, 9, one) for key in range(3) for one, rank in heard]
        return life

    def test_what_is_right_passes(self):
        check_order(self.life(self.whole), self.settings)
        check_sets(self.life(self.whole), self.settings, True)

    @pytest.mark.parametrize(
        "applied", [[(0, 0), (0, 0), (0, 1)], [(0, 0), (0, 1), (1, 1), (1, 0)], [(0, 0), (1, 0), (0, 1)]]
    )
    def test_orders(self, applied):
        with pytest.raises(AssertionError, match="life 0"):
            check_order(self.life(applied), self.settings)

    def test_sets(self):
        with pytest.raises(AssertionError, match="applied twice"):
            check_sets(self.life([*self.whole, (0, 0)], self.whole), self.settings, True)
        with pytest.raises(AssertionError, match="acknowledged: .* are missing"):
            check_sets(self.life(self.whole, self.whole[:-1]), self.settings, True)
        asynchronous = {**self.settings, "kind": "dist_async"}
        with pytest.raises(AssertionError, match="acknowledged and not applied"):
            check_sets(self.life(self.whole[:-1], self.whole), asynchronous, False)
