"""Jobs with several schedulers, whose state is in an etcd of three processes: any of them may be lost."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))

from chaos.etcd import needs_etcd
from chaos.jobs import Fault, Scenario, run

pytestmark = needs_etcd


def one_life(tmp_path, **what):
    """What is left equals the replay, whatever has happened."""
    scenario = Scenario(schedulers=2, seconds_to_save=1000, **what)
    outcome = run(scenario, tmp_path / "job")
    assert (outcome.lives, outcome.done) == (1, len(scenario.faults)), outcome.output
    return outcome.output


def test_nothing_happens_when_a_process_of_etcd_is_killed(tmp_path):
    output = one_life(tmp_path, seed=21, faults=(Fault("kill", 20, "etcd", 0),))
    assert "it leads" not in output


def test_another_scheduler_goes_on(tmp_path):
    output = one_life(tmp_path, seed=22, faults=(Fault("kill", 20, "leader"),))
    assert output.count("it leads from now on") == 1


def test_a_scheduler_that_wakes_up_does_not_lead(tmp_path):
    faults = (Fault("stop", 20, "leader"), Fault("wake leader"), Fault("kill", 0, "leader"))
    output = one_life(tmp_path, seed=23, kind="dist_async", replicas=2, faults=faults)
    assert output.count("it leads from now on") == 2
    assert output.count("it leads no more") == 1


def test_a_scheduler_and_a_server_are_lost_together(tmp_path):
    faults = (Fault("kill", 30, "leader"), Fault("kill", 30, "server", 0))
    output = one_life(tmp_path, seed=24, kind="dist_async", replicas=2, faults=faults)
    assert "it leads from now on" in output
