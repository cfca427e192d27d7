"""Processes as the launcher sees them."""

import os
import re
import signal
import sys

import pytest

from headrace._launch_options import options_of
from headrace._processes import Process

SECONDS = 60


def test_one_that_is_stopped_ends_as_others_do():
    process = Process("one", [sys.executable, "-c", "import time; time.sleep(600)"], dict(os.environ))
    number = process.process.pid
    os.killpg(number, signal.SIGSTOP)
    _, status = os.waitpid(number, os.WUNTRACED)
    assert os.WIFSTOPPED(status)
    process.end(signal.SIGTERM)
    process.process.wait(SECONDS)
    assert process.status() == 128 + signal.SIGTERM
    process.reap()
    process.process.stdout.close()


@pytest.mark.parametrize(
    ("number", "how"), [(signal.SIGKILL, "SIGKILL"), (signal.SIGRTMIN + 2, f"signal {signal.SIGRTMIN + 2}")]
)
def test_who_was_ended_by_a_signal_is_told_by_its_name_if_it_has_one(number, how):
    ends = f"import os; os.kill(os.getpid(), {int(number)})"
    process = Process("one", [sys.executable, "-c", ends], dict(os.environ))
    process.reap()
    process.process.stdout.close()
    assert process.fate() == (128 + number, f"one was ended by {how}")


@pytest.mark.parametrize(
    ("name", "why"),
    [("train.py", "say `python {}`"), ("train", "may not be executed"), ("", "no such program")],
)
def test_what_cannot_be_started_is_told_with_the_reason(tmp_path, name, why):
    program = os.fspath(tmp_path / name) if name else "/nowhere/program"
    if name:
        (tmp_path / name).write_text("print()")
    with pytest.raises(FileNotFoundError, match=re.escape(why.format(program))):
        Process("one", [program], dict(os.environ))


def test_two_dashes_may_stand_before_the_program():
    options = options_of(["-n", "3", "--", "python", "train.py", "--", "-n"], "")
    assert (options.num_workers, options.command) == (3, ["python", "train.py", "--", "-n"])
