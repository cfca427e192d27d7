"""The report of virtual time that a program prints at its end."""

import os
import subprocess
import sys

import pytest

PROGRAM = """
import headrace as mx
x = mx.nd.ones((1000, 1000), ctx=mx.gpu(0))
y = (x + 1).as_in_context(mx.gpu(1))
"""


def run(program, **environment):
    return subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "HEADRACE_SIM_GPUS": "2", "HEADRACE_SIM_CLOCK": "virtual", **environment},
        capture_output=True,
        text=True,
        timeout=120,
    )


def test_operations_that_nobody_waited_for_are_in_it():
    done = run(PROGRAM)
    assert done.returncode == 0
    assert done.stdout == ""
    assert "virtual time on pcie2: " in done.stderr
    assert "3 operations ended, 0 pending" in done.stderr
    assert "gpu(1) from gpu(0): copy" in done.stderr


def test_it_is_that_of_the_program():
    done = run(PROGRAM + "mx.nd.waitall()\nprint(mx.sim.report(), end='')")
    assert done.stdout.strip() == done.stderr.strip()


@pytest.mark.parametrize(
    "program, environment",
    [
        (PROGRAM, {"HEADRACE_REPORT": "0"}),
        (PROGRAM, {"HEADRACE_SIM_CLOCK": "real"}),
        (PROGRAM + "mx.sim.configure(clock='real')", {}),
        ("import headrace as mx; mx.num_gpus()", {}),
        ("import os, headrace as mx; mx.num_gpus(); os.fork() or mx.nd.ones((2,)).asnumpy()", {}),
    ],
    ids=["switched off", "real clock", "real clock at the end", "nothing was done", "a child did it"],
)
def test_no_report(program, environment):
    done = run(program, **environment)
    assert done.returncode == 0
    assert done.stderr == ""


def test_without_gpus_it_says_so():
    done = run("import headrace as mx; mx.nd.ones((2,)).asnumpy()", HEADRACE_SIM_GPUS="0")
    assert "there were no simulated GPUs" in done.stderr
    assert "HEADRACE_SIM_GPUS=4" in done.stderr


def test_a_switch_that_is_none():
    assert "HEADRACE_REPORT: expected 0 or 1, got 'no'" in run(PROGRAM, HEADRACE_REPORT="no").stderr
