"""Checkpoints of servers: whole or passed over, states at one moment, and what a job goes on from."""

import json
import pathlib
import shutil
import subprocess
import sys
import warnings

import numpy
import pytest

from headrace import gluon, io, nd
from headrace._checkpoint_requests import are_requested, request, withdraw
from headrace.base import MXNetError
from headrace.kvstore import checkpoints
from headrace.kvstore.checkpoints import Clock, newest_checkpoint, write_checkpoint
from headrace.kvstore.progress import _rolls_over
from headrace.launch import main

PROGRAMS = pathlib.Path(__file__).parent / "programs"
SECONDS = 120  # that a job may take on a busy machine


def launch(*arguments, options=(), workers=2, servers=2, program="checkpoints"):
    command = [sys.executable, "-m", "headrace.launch", "-n", str(workers), "-s", str(servers), *options]
    command += [sys.executable, str(PROGRAMS / f"{program}.py"), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)


def written(folder, text):
    return write_checkpoint(folder, {"a": lambda path: pathlib.Path(path).write_text(text)}, {"text": text})


def newest_text(folder):
    found = newest_checkpoint(folder)
    return found and found[1]["text"]


def change_manifest(path, old, new):
    manifest = path / "manifest.json"
    assert old in manifest.read_text()
    manifest.write_text(manifest.read_text().replace(old, new))


class TestFolders:
    def test_the_newest_two_are_kept(self, tmp_path):
        assert newest_checkpoint(tmp_path / "none") is None
        for text in ("one", "two", "three"):
            written(tmp_path / "in", text)
        assert newest_text(tmp_path / "in") == "three"
        names = sorted(path.name for path in (tmp_path / "in").iterdir())
        assert names == ["checkpoint-00000002", "checkpoint-00000003"]

    @pytest.mark.parametrize(
        ("spoil", "why"),
        [
            (lambda path: (path / "a").write_text("twO"), "a is damaged: 3 bytes"),
            (lambda path: (path / "a").write_text("tw"), "a is damaged: 2 bytes"),
            (lambda path: (path / "a").unlink(), "No such file"),
            (lambda path: (path / "manifest.json").unlink(), "No such file"),
            (lambda path: (path / "manifest.json").write_text('{"format": 1,'), "cannot be read"),
            (lambda path: (path / "manifest.json").write_bytes(b"\xff"), "cannot be read"),
            (lambda path: (path / "manifest.json").write_text("[]"), "manifest.json is damaged"),
            (lambda path: change_manifest(path, '"two"', '"Two"'), "manifest.json is damaged"),
        ],
    )
    def test_what_is_not_whole_is_passed_over(self, tmp_path, spoil, why):
        written(tmp_path, "one")
        spoil(written(tmp_path, "two"))
        with pytest.warns(UserWarning, match=why):
            assert newest_text(tmp_path) == "one"

    def test_where_none_is_whole_all_are_named(self, tmp_path):
        (written(tmp_path, "one") / "a").write_text("tw")
        (written(tmp_path, "two") / "manifest.json").unlink()
        why = (
            r"cannot go on from \S+, where no checkpoint is whole: \S+2: .*No such file .*manifest.json'; "
            r"\S+1: a is damaged: 2 bytes .*; .* or begin anew: remove them, or start .* another --checkpoint"
        )
        with pytest.raises(MXNetError, match=why):
            newest_checkpoint(tmp_path)
        written(tmp_path, "three")
        assert newest_text(tmp_path) == "three"

    def test_what_was_begun_does_not_count_and_is_removed(self, tmp_path):
        written(tmp_path, "one")
        (tmp_path / ".checkpoint-00000002").mkdir()
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert newest_text(tmp_path) == "one"
        written(tmp_path, "two")
        assert not list(tmp_path.glob(".*"))

    def test_those_of_another_format_are_passed_over(self, tmp_path, monkeypatch):
        written(tmp_path, "one")
        with monkeypatch.context() as patched:
            patched.setattr(checkpoints, "_FORMAT", 9)
            written(tmp_path, "two")
        with pytest.warns(UserWarning, match="it has format 9, this version of Headrace reads 2"):
            assert newest_text(tmp_path) == "one"

    def test_a_failure_leaves_what_was_there(self, tmp_path):
        def fails(path):
            pathlib.Path(path).write_text("half")
            raise OSError("No space left on device")

        written(tmp_path, "one")
        with pytest.raises(OSError, match="No space"):
            write_checkpoint(tmp_path, {"a": fails}, {})
        assert newest_text(tmp_path) == "one" and len(list(tmp_path.iterdir())) == 1

    def test_the_interval_is_a_number(self, monkeypatch, tmp_path):
        monkeypatch.setenv("HEADRACE_CHECKPOINT", str(tmp_path))
        monkeypatch.setenv("HEADRACE_CHECKPOINT_SECONDS", "0")
        assert Clock(0).is_due() and Clock(0).folder == str(tmp_path)
        assert Clock(2).folder == str(tmp_path / "store-2")
        monkeypatch.setenv("HEADRACE_CHECKPOINT_SECONDS", "soon")
        with pytest.raises(RuntimeError, match="got 'soon'"):
            Clock(0)


def test_a_folder_of_another_process_is_told(tmp_path, monkeypatch):
    monkeypatch.setenv("HEADRACE_CHECKPOINT", str(tmp_path))
    clock = Clock(0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        clock.begin()
    with pytest.warns(UserWarning, match=f"another process saves checkpoints in {tmp_path}"):
        Clock(0).begin()


def test_a_folder_that_cannot_be_written_is_told_at_once(monkeypatch):
    monkeypatch.setenv("HEADRACE_CHECKPOINT", "/proc/nowhere")
    with pytest.warns(UserWarning, match="checkpoints cannot be saved: .*/proc/nowhere"):
        Clock(0).begin()


def test_a_job_goes_on_from_its_checkpoint_when_a_server_is_killed(tmp_path):
    options = ["--restart", "1", "--checkpoint", str(tmp_path / "in"), "--checkpoint-interval", "0"]
    job = launch("killed", tmp_path, options=options)
    assert job.returncode == 0, job.stdout + job.stderr
    assert "starting the job again, 1 of 1" in job.stderr
    begun = [line for line in job.stdout.splitlines() if "begins" in line]
    assert begun[0] == "[worker 0] begins at step 0"
    step = int(begun[1].removeprefix("[worker 0] begins at step "))
    assert 15 <= step <= 20, job.stdout  # killed at 20


@pytest.mark.parametrize(("rule", "first", "then"), [("adam", 2, 1), ("adam", 2, 3), ("lamb", 3, 2)])
def test_another_number_of_servers_ends_where_the_same_would(tmp_path, monkeypatch, rule, first, then):
    """And where one process does, also by a rule with norms of arrays that would be split."""
    monkeypatch.setenv("MXNET_KVSTORE_BIGARRAY_BOUND", "40")
    alone = [sys.executable, str(PROGRAMS / "checkpoints.py"), "trained", str(tmp_path / "alone"), "8"]
    subprocess.run([*alone, rule, "local"], check=True, timeout=SECONDS)
    options = ["--checkpoint", str(tmp_path / "in")]
    for name, steps, servers in (("end", 8, first), ("resumed", 4, then)):  # saves in the middle
        job = launch("trained", tmp_path / name, steps, rule, options=options, servers=servers)
        assert job.returncode == 0, job.stdout + job.stderr
    assert "going on from the checkpoint" in job.stdout
    for key, (array, *others) in enumerate(
        zip(*(nd.load(str(tmp_path / name)) for name in ("alone", "end", "resumed")))
    ):
        for other in others:
            numpy.testing.assert_allclose(other.asnumpy(), array.asnumpy(), rtol=1e-5, err_msg=str(key))


def test_a_job_that_has_damaged_checkpoints_alone_does_not_begin_anew_by_itself(tmp_path):
    options = ["--checkpoint", str(tmp_path / "in")]
    assert launch("trained", tmp_path / "end", 8, options=options).returncode == 0
    job = launch("other", tmp_path, options=options, workers=1)
    assert job.returncode == 0, job.stdout + job.stderr
    (path,) = (tmp_path / "in").glob("checkpoint-*/weights.params")
    path.write_bytes(path.read_bytes()[:-1])
    job = launch("trained", tmp_path / "again", 8, options=options)
    assert job.returncode == 1 and not (tmp_path / "again").exists(), job.stdout + job.stderr
    assert f"no checkpoint is whole: {path.parent}: weights.params is damaged" in job.stdout, job.stdout
    shutil.rmtree(path.parent)
    job = launch("trained", tmp_path / "again", 8, options=options)
    assert job.returncode == 0, job.stdout + job.stderr
    for end, again in zip(nd.load(str(tmp_path / "end")), nd.load(str(tmp_path / "again"))):
        numpy.testing.assert_array_equal(again.asnumpy(), end.asnumpy())


def test_a_job_goes_on_where_none_can_be_saved(tmp_path):
    options = ["--checkpoint", "/proc/nowhere", "--checkpoint-interval", "0"]
    job = launch("trained", tmp_path / "end", 4, options=options)
    assert job.returncode == 0 and "a checkpoint could not be saved" in job.stdout, job.stdout + job.stderr


def test_a_checkpoint_is_the_state_at_one_moment(tmp_path):
    """Worker 1 pushes one key after the other, so that at any moment the first are at most one push ahead."""
    job = launch("moments", tmp_path)
    assert job.returncode == 0, job.stdout + job.stderr
    assert "[worker 0] all at one moment" in job.stdout
    _, manifest = newest_checkpoint(tmp_path)
    assert [sorted(one) for one in manifest["served"]] == [["0", "1"]] * 2
    assert manifest["store"] == "dist_async" and manifest["keys"] == list(range(6))
    assert all(number > 0 for one in manifest["served"] for _, number in one.values())
    assert json.dumps(manifest)


def test_who_may_save_is_told(tmp_path):
    job = launch("refused", tmp_path)
    assert job.returncode == 0, job.stdout + job.stderr
    with pytest.raises(SystemExit):
        main(["--mpi", "--checkpoint", str(tmp_path), "true"])


@pytest.mark.parametrize(("kind", "step"), [("loader", 9), ("loader", 12), ("iterator", 15)])
def test_workers_go_on_where_they_were(tmp_path, kind, step):
    """To the bit, with batches in random order and dropout; step 12 is the last of an epoch."""
    ends = []
    for name, killed_at, restart in (("whole", -1, "0"), ("killed", step, "1")):
        folder = tmp_path / name
        folder.mkdir()
        options = ["--restart", restart, "--checkpoint", str(folder / "in"), "--checkpoint-interval", "0"]
        job = launch(folder, kind, 4, killed_at, options=options, program="epochs")
        assert job.returncode == 0, job.stdout + job.stderr
        ends.append([numpy.load(folder / f"{rank}.npy") for rank in range(2)])
    assert "starting the job again" in job.stderr and "going on from the checkpoint" in job.stdout
    assert job.stdout.count("[worker 0] in epoch 0") == 1, job.stdout
    for whole, killed in zip(*ends):
        numpy.testing.assert_array_equal(killed, whole)


def test_moving_statistics_come_back(tmp_path):
    options = ["--restart", "1", "--checkpoint", str(tmp_path / "in")]
    job = launch(tmp_path, options=options, program="statistics")
    assert job.returncode == 0, job.stdout + job.stderr
    saved = numpy.load(tmp_path / "saved.npy")
    assert saved.any()
    for rank in range(2):
        numpy.testing.assert_array_equal(numpy.load(tmp_path / f"found-{rank}.npy"), saved)


def test_batches_that_roll_over_are_told():
    data = nd.zeros((5, 2))
    rolling = [
        io.NDArrayIter(data, batch_size=2, last_batch_handle="roll_over"),
        gluon.data.DataLoader(data, batch_size=2, last_batch="rollover"),
    ]
    others = [io.NDArrayIter(data, batch_size=2), gluon.data.DataLoader(data, batch_size=2), [data]]
    assert list(map(_rolls_over, rolling)) == [True, True]
    assert list(map(_rolls_over, others)) == [False] * 3


@pytest.mark.parametrize("rule", ["adam", "nadam", "lars"])
def test_settings_and_what_an_optimizer_keeps_for_itself_come_back(tmp_path, rule):
    """A program sets them where it is once; Nadam multiplies factors of all steps, LARS divides by a rate."""
    ends = []
    for name in ("whole", "killed"):
        (tmp_path / name).mkdir()
        options = ["--restart", "1", "--checkpoint", str(tmp_path / name / "in")]
        job = launch(
            tmp_path / name, rule, "dist_sync", name == "killed", options=options, program="changing"
        )
        assert job.returncode == 0, job.stdout + job.stderr
        ends.append(numpy.load(tmp_path / name / "weights.npy"))
    assert "going on from the checkpoint" in job.stdout
    numpy.testing.assert_array_equal(*ends)


def test_states_of_another_optimizer_are_refused(tmp_path):
    options = ["--checkpoint", str(tmp_path / "in")]
    assert launch("trained", tmp_path / "end", 8, "adam", options=options).returncode == 0
    job = launch("trained", tmp_path / "resumed", 4, "sgd", options=options)
    assert job.returncode == 1 and not (tmp_path / "resumed").exists(), job.stdout + job.stderr
    assert "has states of Adam, the program gives SGD; start it with another folder" in job.stdout


def test_another_number_of_workers_begins_with_the_epoch_that_was_not_complete(tmp_path):
    options = ["--checkpoint", str(tmp_path / "in"), "--checkpoint-interval", "0"]
    job = launch(tmp_path, "loader", 4, 9, options=options, program="epochs")
    assert job.returncode != 0, job.stdout
    job = launch(tmp_path, "loader", 3, options=options, workers=3, program="epochs")
    assert job.returncode == 0, job.stdout + job.stderr
    for rank in range(3):
        begun = [line for line in job.stdout.splitlines() if line.startswith(f"[worker {rank}] in epoch")]
        assert begun == [f"[worker {rank}] in epoch 1", f"[worker {rank}] in epoch 2"]


def test_no_asynchronous_push_counts_before_the_states_are_back(tmp_path):
    for what in ("save", "resume", "resume"):
        job = launch(what, options=["--checkpoint", str(tmp_path / "in")], program="momentum")
        assert job.returncode == 0, job.stdout + job.stderr
        assert job.stdout.count("as it should be") == 2


def test_one_that_a_launcher_asks_for_is_due(tmp_path, monkeypatch):
    monkeypatch.setenv("HEADRACE_CHECKPOINT", str(tmp_path))
    first, second = clocks = Clock(0), Clock(1)
    for clock in clocks:
        clock.begin()
        assert not clock.is_due()
    request(tmp_path)
    assert first.is_due() and second.is_due()
    first.saved()
    assert not first.is_due() and second.is_due() and are_requested(tmp_path)
    second.failed()  # it waits before it tries again
    assert not second.is_due() and are_requested(tmp_path)
    withdraw(tmp_path)
    assert not are_requested(tmp_path)
