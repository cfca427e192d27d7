"""Jobs whose processes are cut off from etcd, and from each other, for a while.

Nothing is decided, applied or acknowledged twice, and what is left equals the replay.
"""

import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))

from chaos.etcd import needs_etcd
from chaos.jobs import Fault, Scenario, needs_crossed_links, run

LEADS, LEADS_NO_MORE = "it leads from now on", "it leads no more"


def one_life(tmp_path, **what):
    scenario = Scenario(seconds_to_save=1000, pause=0.05, **what)
    outcome = run(scenario, tmp_path / "job")
    assert (outcome.lives, outcome.done) == (1, len(scenario.faults)), outcome.output
    return outcome.output


@needs_etcd
def test_a_scheduler_is_cut_off_for_less_than_its_lease(tmp_path):
    faults = (Fault("cut", 12, "leader", seconds=0.7), Fault("sever", 30, "leader", seconds=0.7))
    output = one_life(tmp_path, seed=41, schedulers=2, etcds=1, servers=1, faults=faults)
    assert LEADS not in output and LEADS_NO_MORE not in output


@needs_etcd
def test_a_scheduler_is_cut_off_for_longer(tmp_path):
    """What it would have decided comes to etcd when another one leads. A server is lost meanwhile."""
    faults = (Fault("cut", 20, "leader", seconds=5), Fault("kill", 21, "primary", 0))
    output = one_life(
        tmp_path, seed=42, kind="dist_async", schedulers=2, etcds=1, servers=1, replicas=2, faults=faults
    )
    assert output.count(LEADS) == output.count(LEADS_NO_MORE) == 1
    assert "the backup serves in its place, in epoch 2" in output


@pytest.mark.slow
@needs_etcd
def test_a_process_of_etcd_is_cut_off_from_the_others(tmp_path):
    faults = (Fault("cut", 12, "etcd", 0, seconds=1), Fault("sever", 24, "etcd", 1, seconds=1))
    one_life(tmp_path, seed=43, schedulers=2, servers=1, faults=faults)


@pytest.mark.slow
@needs_etcd
def test_etcd_is_away_for_longer_than_leases(tmp_path):
    """Of one process; the scheduler leads again, or another one does, and the job goes on."""
    faults = (Fault("stop", 12, "etcd", 0, seconds=5),)
    output = one_life(tmp_path, seed=44, schedulers=2, etcds=1, servers=1, faults=faults)
    assert output.count(LEADS) == output.count(LEADS_NO_MORE) == 1


@pytest.mark.parametrize(
    ("what", "seconds", "of_link"),
    [pytest.param("cut", 5, 4.5, marks=[pytest.mark.slow, needs_crossed_links]), ("sever", 2, 0)],
)
def test_a_primary_is_cut_off_while_workers_push(tmp_path, what, seconds, of_link):
    """Its backup serves in its place; it has workers, which it cannot answer. What it has told its backup,
    where that was cut off, too, comes when that has its place.
    """
    faults = (Fault(what, 20, "primary", 0, seconds=seconds),)
    if of_link:
        faults = (Fault(what, 20, "link", 0, seconds=of_link), *faults)
    output = one_life(tmp_path, seed=45, kind="dist_async", servers=1, replicas=2, steps=20, faults=faults)
    assert "the backup serves in its place, in epoch 2" in output


@needs_crossed_links
def test_a_primary_and_its_backup_are_cut_off_from_each_other(tmp_path):
    """One of the two directions, the other, all connections, and both for longer than the scheduler waits
    for a process: it hears both processes, so that none takes the place of the other.
    """
    faults = (
        Fault("cut", 10, "link", 0, seconds=0.7, direction="answers"),
        Fault("cut", 50, "link", 0, seconds=0.7, direction="requests"),
        Fault("sever", 90, "link", 0, seconds=0.5),
        Fault("cut", 130, "link", 0, seconds=4),
    )
    output = one_life(tmp_path, seed=48, kind="dist_async", servers=1, replicas=2, steps=20, faults=faults)
    assert "the backup serves in its place" not in output


def test_a_server_and_a_worker_are_cut_off_shortly(tmp_path):
    faults = (Fault("cut", 12, "server", 0, seconds=1), Fault("sever", 20, "worker", 0, seconds=1))
    one_life(tmp_path, seed=46, servers=1, faults=faults)


def test_a_scheduler_is_cut_off_from_all_nodes(tmp_path):
    """For longer than it waits for a server in whose place another process could serve."""
    faults = (Fault("sever", 12, "scheduler", seconds=3),)
    output = one_life(tmp_path, seed=47, servers=1, replicas=2, faults=faults)
    assert "the backup serves in its place" not in output
