"""Modules of the standard library that MXNet has imported for its programs."""

import subprocess
import sys

PROGRAM = """
import sys
from headrace.mxnet import install
before = set(sys.modules)
install()
import mxnet, multiprocessing, urllib, concurrent, http
assert "urllib.request" not in sys.modules or "urllib.request" in before
print(multiprocessing.pool.ThreadPool.__name__, urllib.request.urlretrieve.__name__,
      concurrent.futures.ThreadPoolExecutor.__name__, http.client.HTTPConnection.__name__)
try:
    urllib.other
except AttributeError as error:
    print(error)
"""


def test_packages_have_the_modules_that_programs_expect():
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=120)
    assert done.stdout.splitlines() == [
        "ThreadPool urlretrieve ThreadPoolExecutor HTTPConnection",
        "module 'urllib' has no attribute 'other'",
    ], done.stderr
