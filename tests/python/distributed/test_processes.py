"""Processes as the launcher sees them."""

import os
import signal
import sys

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
