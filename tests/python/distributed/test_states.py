"""Optimizers of arrays that several servers share, and their states: joined, and cut for other numbers."""

import os
import pathlib
import subprocess
import sys
import types

import pytest

from headrace import kv, nd, optimizer
from headrace.kvstore.saving import SavingStore
from headrace.kvstore.states import cut_states, joined_states, set_states
from headrace.optimizer.state_io import load_states

PROGRAMS = pathlib.Path(__file__).parent / "programs"
SECONDS = 120  # that a job may take on a busy machine
LAYOUTS = {
    0: ((2, 2), [(1, 0, 4)]),
    "split": ((3, 4), [(0, 0, 5), (1, 5, 12)]),
}


def ramp(count, begin=0):
    return nd.arange(begin, begin + count)


def same(a, b):
    if isinstance(a, (tuple, list)):
        return type(a) is type(b) and all(map(same, a, b))
    return (a == b).all() if hasattr(a, "shape") else a == b


def test_pieces_of_split_arrays_become_whole_and_pieces_again():
    whole = {0: ramp(4).reshape((2, 2)), "split": (ramp(12).reshape((3, 4)), [None, 7, ramp(2)])}
    cut = cut_states(whole, LAYOUTS, 2)
    assert sorted(cut[0], key=str) == ["split"] and sorted(cut[1], key=str) == [0, "split"]
    assert cut[0]["split"][0].asnumpy().tolist() == list(range(5))
    assert cut[1]["split"][0].asnumpy().tolist() == list(range(5, 12))
    joined = joined_states(cut, LAYOUTS)
    assert joined["split"][0].shape == (3, 4)
    assert all(
        same(
            [a.asnumpy() if hasattr(a, "asnumpy") else a for a in flat(joined[key])],
            [a.asnumpy() if hasattr(a, "asnumpy") else a for a in flat(whole[key])],
        )
        for key in whole
    )


def flat(state):
    return [leaf for part in state for leaf in flat(part)] if isinstance(state, (tuple, list)) else [state]


def test_without_a_layout_states_are_as_they_are():
    assert joined_states([{3: 1}, {4: None}], {}) == {3: 1, 4: None}
    with pytest.raises(KeyError):
        cut_states({3: 1}, {}, 2)


def test_update_counts_come_with_the_states():
    weight, gradient = nd.ones((2,)), nd.ones((2,))
    trained = optimizer.get_updater(optimizer.Adam())
    for _ in range(3):
        trained(0, gradient, weight)
    fresh = optimizer.get_updater(optimizer.Adam(learning_rate=7.0))
    set_states(fresh, trained.get_states(dump_optimizer=True))
    assert fresh.optimizer.num_update == 3 and fresh.optimizer._index_update_count == {0: 3}
    assert fresh.optimizer.learning_rate == 7.0
    assert (fresh.states[0][0].asnumpy() == trained.states[0][0].asnumpy()).all()


@pytest.mark.parametrize(
    ("name", "staleness"), [("local", 1), ("dist_sync", 1), ("dist_async", -1), ("dist_async", 0.5)]
)
def test_staleness_is_of_asynchronous_stores(name, staleness):
    with pytest.raises(ValueError, match="staleness"):
        kv.create(name, staleness=staleness)


def test_update_counts_are_those_of_the_server_that_holds_the_key():
    """Servers that were given the counts of all keys, when a job went on, know only their own later."""
    answers = []
    for own in range(2):
        updater = optimizer.get_updater(optimizer.Adam())
        updater.optimizer._index_update_count.update({0: 2, 1: 2})
        for _ in range(own + 1):
            updater(own, nd.ones((2,)), nd.ones((2,)))
        answers.append(updater.get_states(dump_optimizer=True))
    store = SavingStore.__new__(SavingStore)
    store._inited = {}
    store._store = types.SimpleNamespace(servers=2, ask_servers=lambda head, bodies: answers)
    _, joined = load_states(store._states(with_optimizer=True))
    assert joined._index_update_count == {0: 3, 1: 4}


def test_optimizers_that_look_at_whole_arrays_get_them_whole(monkeypatch):
    monkeypatch.setenv("MXNET_KVSTORE_BIGARRAY_BOUND", "40")
    command = [sys.executable, "-m", "headrace.launch", "-n", "2", "-s", "2"]
    command += ["--env", f"PYTHONPATH={PROGRAMS}:{os.environ.get('PYTHONPATH', '')}"]
    command += [sys.executable, str(PROGRAMS / "whole.py")]
    job = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
    assert job.returncode == 0, job.stdout + job.stderr


def test_a_class_says_for_itself_alone_that_its_rule_is_elementwise():
    class Own(optimizer.SGD):
        pass

    class Elementwise(optimizer.Optimizer):
        is_elementwise = True

    assert optimizer.SGD.is_elementwise and Elementwise.is_elementwise
    assert not Own.is_elementwise and not optimizer.LAMB.is_elementwise
