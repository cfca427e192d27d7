"""Children made by os.fork() in programs whose other threads compute."""

import os
import subprocess
import sys

PROGRAM = """
import os, signal, threading
from headrace import nd

def product():
    return nd.dot(nd.ones((200, 200)), nd.ones((200, 200))).asnumpy()

over = False

def work():
    while not over:
        product()

thread = threading.Thread(target=work)
thread.start()
failed = 0
for _ in range(300):
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        os._exit(0 if product()[0, 0] == 200 else 1)
    failed += os.waitpid(child, 0)[1] != 0
over = True
thread.join()
print(failed)
"""


def test_children_compute_while_another_thread_of_the_parent_does():
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", PROGRAM],
        env=os.environ,
        capture_output=True,
        text=True,
        timeout=500,
    )
    assert done.returncode == 0 and done.stdout == "0\n", done.stdout + done.stderr
