"""Servers of two processes each: nothing is lost, or counted twice, when one is killed or stopped."""

import os
import pathlib
import re
import subprocess
import sys

import numpy
import pytest

from headrace import nd, optimizer
from headrace.kvstore.kept import LEAVE_OTHER_ROWS, kept_for, leaves_other_rows
from headrace.optimizer.state_io import load_states

sys.path.insert(0, str(pathlib.Path(__file__).parent))

from chaos.etcd import needs_etcd
from chaos.jobs import Fault, Scenario, run


@pytest.mark.parametrize("kind", ["dist_sync", "dist_async"])
@pytest.mark.parametrize(
    ("moment", "schedulers"),
    [("applied 20", 0), pytest.param("applied 40", 2, marks=needs_etcd), ("kept 40", 0)],
)
def test_a_server_that_wakes_up_after_its_backup_has_taken_its_place(tmp_path, kind, moment, schedulers):
    """It stops when it has applied a push that nobody knows of, or that the backup alone has; the backup,
    which comes to that moment, too, does not.
    """
    scenario = Scenario(
        seed=1,
        kind=kind,
        servers=1,
        replicas=2,
        schedulers=schedulers,
        stop_at=moment,
        seconds_to_save=1000,
        faults=(Fault("wake"),),
    )
    outcome = run(scenario, tmp_path / "job")
    assert (outcome.lives, outcome.done) == (1, 1), outcome.output
    assert "the backup serves in its place, in epoch 2" in outcome.output
    refusals = ("was given up", "of the server is over", "another process serves")
    assert any(refusal in outcome.output for refusal in refusals), outcome.output
    assert re.search(r"server \d ended with status 1; ", outcome.output), outcome.output


def test_a_checkpoint_goes_on_when_a_server_that_holds_still_for_it_is_lost(tmp_path):
    """Its backup holds still already when worker 0, who has no answer yet, asks again."""
    scenario = Scenario(seed=2, steps=6, replicas=2, stop_at="frozen 2")
    outcome = run(scenario, tmp_path / "job")
    assert outcome.lives == 1, outcome.output
    assert "the backup serves in its place, in epoch 2" in outcome.output


PROGRAM = pathlib.Path(__file__).parent / "programs" / "replicas.py"


def trained(folder, what, times):
    """(weights, states, update counts) of a job that has lost all primaries so often."""
    folder.mkdir()
    command = [sys.executable, "-m", "headrace.launch", "-n", "2", "-s", "2", "--replicas", "2", "--plain"]
    command += [sys.executable, str(PROGRAM), what, str(times)]
    variables = {**os.environ, "HEADRACE_HISTORY": str(folder), "MXNET_KVSTORE_BIGARRAY_BOUND": "1000"}
    job = subprocess.run(command, env=variables, cwd=folder, capture_output=True, text=True, timeout=120)
    assert job.returncode == 0, job.stdout + job.stderr
    assert job.stdout.count("the backup serves in its place") == 2 * times, job.stdout
    states, counts = load_states((folder / "after.states").read_bytes())
    return dict(numpy.load(folder / "weights.npz")), states, counts


@pytest.mark.parametrize("what", ["compressed", "mixed", "adam", "sgd", "adagrad", "ftrl"])
def test_what_backups_go_on_with_is_all_that_counts(tmp_path, what):
    """Split and small arrays, gradients of many rows and of few, of which backups are told rows alone, and
    settings that change; backups that come later are told all.
    """
    kept, lost = (trained(tmp_path / str(times), what, times) for times in (0, 2))
    assert kept[0].keys() == lost[0].keys()
    for key, array in kept[0].items():
        numpy.testing.assert_array_equal(lost[0][key], array, err_msg=key)
    assert kept[1].keys() == lost[1].keys()
    for key, moments in kept[1].items():
        both = [one if isinstance(one, tuple) else (one,) for one in (moments, lost[1][key])]
        for ours, theirs in zip(*both):
            numpy.testing.assert_array_equal(theirs.asnumpy(), ours.asnumpy(), err_msg=key)
    assert kept[2]._index_update_count == lost[2]._index_update_count
    assert kept[2].num_update == lost[2].num_update


@pytest.mark.parametrize("rule", list(LEAVE_OTHER_ROWS), ids=lambda rule: rule.__name__)
@pytest.mark.parametrize("stype", ["default", "row_sparse"])
def test_rules_leave_alone_the_rows_that_gradients_do_not_have(rule, stype):
    updater = optimizer.get_updater(rule(learning_rate=0.1))
    assert leaves_other_rows(updater)
    weight = nd.random.uniform(shape=(20, 3)).tostype(stype)
    all_rows = numpy.arange(20)
    values = nd.random.uniform(shape=(20, 3))
    updater(0, nd.sparse.row_sparse_array((values, all_rows), shape=(20, 3)), weight)
    arrays, _ = kept_for(updater, 0)
    before = [one.asnumpy() for one in (weight, *arrays)]
    updater(0, nd.sparse.row_sparse_array((values[2:4], numpy.array([5, 11])), shape=(20, 3)), weight)
    for array, old in zip((weight, *kept_for(updater, 0)[0]), before):
        assert array.stype == stype
        changed = (array.asnumpy() != old).any(axis=1)
        assert changed.nonzero()[0].tolist() == [5, 11]


def test_other_rules_are_not_trusted_to():
    class Own(optimizer.SGD):
        pass

    others = (optimizer.SGD(lazy_update=False), optimizer.SGD(multi_precision=True), optimizer.NAG(), Own())
    for rule in others:
        assert not leaves_other_rows(optimizer.get_updater(rule))


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
