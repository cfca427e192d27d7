"""Memory follows what runs, however far the program is ahead of it."""

import subprocess
import sys

PROGRAM = """
from headrace import engine, np, npx

x = np.ones((256, 1024))
y = x
for _ in range(10_000):
    noise = np.random.uniform(size=x.shape)
    y = (y + noise) * 0.5 + x
npx.waitall()
print(engine.memory_stats()["peak"] / (x.size * 4))
"""


def test_ten_thousand_steps_without_a_wait():
    """Four results a step, a megabyte each: the peak is a dozen of them, not thousands."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=600, check=True
    )
    assert 4 < float(done.stdout) < 25
