"""What several threads use for the first time at once."""

import subprocess
import sys

THREADS = """
import sys, threading, time
from headrace import nd

class Slow:
    def find_spec(self, name, path=None, target=None):
        if name == "headrace._indexing":
            time.sleep(0.2)  # as an import that gives up the GIL

assert "headrace._indexing" not in sys.modules
sys.meta_path.insert(0, Slow())
x = nd.arange(4)
threads = [threading.Thread(target=lambda: x[[0, 3]].wait_to_read()) for _ in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(x[[0, 3]].asnumpy())
"""


def test_first_keys_of_several_threads():
    done = subprocess.run(
        [sys.executable, "-c", THREADS], capture_output=True, text=True, timeout=100, check=True
    )
    assert done.stdout == "[0. 3.]\n"
