"""Ctrl-C ends a wait; the work goes on, and later waits work as ever."""

import subprocess
import sys

import pytest

# Many seconds of products, one after the other; the signal comes while the main thread waits for the last.
PROGRAM = """
import os, signal, sys
import headrace
from headrace import np, npx

y = x = np.ones((64, 64)) / 64
headrace.waitall()
signal.signal(signal.SIGALRM, signal.default_int_handler)
signal.setitimer(signal.ITIMER_REAL, 0.2)
big = np.ones((2000, 2000)) / 2000
chain = big
for _ in range(100):
    chain = np.dot(chain, big)
try:
    {wait}
except KeyboardInterrupt:
    assert (y + 1).shape == (64, 64)
    assert float((y + 1)[0, 0]) == 1 + 1 / 64
    print("interrupted", flush=True)
    os._exit(0)
print("finished")
"""


@pytest.mark.parametrize(
    "wait", ["chain.wait_to_read()", "npx.waitall()", "chain.asnumpy()", "float(chain[0, 0])"]
)
def test_signal_ends_a_wait(wait):
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(wait=wait)], capture_output=True, text=True, timeout=120
    )
    assert done.stdout.strip() == "interrupted", done.stdout + done.stderr
