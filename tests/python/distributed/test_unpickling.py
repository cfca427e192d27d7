"""What servers make of what somebody sends them as an optimizer."""

import os
import pathlib
import pickle
import subprocess
import sys

import numpy
import pytest

from headrace import lr_scheduler, optimizer
from headrace.base import MXNetError
from headrace.kvstore.unpickling import unpickled

SECONDS = 120


class Touch:
    """Makes a file wherever it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return pathlib.Path.touch, (pathlib.Path(self.path),)


@pytest.fixture
def plain(monkeypatch):
    monkeypatch.delenv("HEADRACE_CERTIFICATES", raising=False)


@pytest.mark.parametrize("rule", sorted(set(optimizer.Optimizer.opt_registry)))
def test_named_optimizers_need_no_certificate(plain, rule):
    made = optimizer.create(
        rule,
        learning_rate=0.25,
        lr_scheduler=lr_scheduler.CosineScheduler(10, base_lr=numpy.float64(0.25)),
        param_idx2name={0: "a_bias"},
    )
    again = unpickled(pickle.dumps(made))
    assert (
        type(again) is type(made) and again.lr_scheduler.max_update == 10 and again.wd_mult == {"a_bias": 0.0}
    )


def test_others_are_made_for_who_has_a_certificate_alone(plain, tmp_path, monkeypatch):
    sent = pickle.dumps(Touch(tmp_path / "made"))
    with pytest.raises(MXNetError, match=r"refused to make pathlib\.\S+: in a job without certificates"):
        unpickled(sent)
    assert not (tmp_path / "made").exists()
    monkeypatch.setenv("HEADRACE_CERTIFICATES", str(tmp_path))
    unpickled(sent)
    assert (tmp_path / "made").exists()


PROGRAM = """
import os, pickle, sys
from headrace import kv
from headrace.base import MXNetError
from headrace.kvstore.commands import SET_OPTIMIZER

class Exits:
    def __reduce__(self):
        return os._exit, (77,)

try:
    kv.create("dist_sync")._store.send_command(SET_OPTIMIZER, pickle.dumps(Exits()))
except MXNetError as error:
    print(error)
"""


def test_a_server_goes_on_when_a_worker_sends_what_it_refuses():
    command = [sys.executable, "-m", "headrace.launch", "-n", "1", "-s", "1", "--plain"]
    job = subprocess.run(
        [*command, sys.executable, "-c", PROGRAM],
        env={name: value for name, value in os.environ.items() if name != "HEADRACE_CERTIFICATES"},
        capture_output=True,
        text=True,
        timeout=SECONDS,
    )
    assert job.returncode == 0, job.stdout + job.stderr
    assert "refused to make" in job.stdout and "_exit: in a job without certificates" in job.stdout, (
        job.stdout
    )
