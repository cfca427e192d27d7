"""How long matrix products take when a program waits for them, and when it does not.

The program does in Headrace what a course on asynchronous computation does in PyTorch on a GPU.
"""

import time

import numpy

from headrace import cpu, gpu, np, npx, num_gpus

npx.set_np()


class Benchmark:
    """Prints the seconds that a block took."""

    def __init__(self, description="Done"):
        self.description = description

    def __enter__(self):
        self.start = time.perf_counter()

    def __exit__(self, *_):
        print(f"{self.description}: {time.perf_counter() - self.start:.4f} sec")


# The first operations on a device prepare it.
device = gpu() if num_gpus() else cpu()
a = np.random.normal(size=(1000, 1000), ctx=device)
b = np.dot(a, a)
npx.waitall()

with Benchmark("numpy"):
    for _ in range(10):
        a = numpy.random.normal(size=(1000, 1000))
        b = numpy.dot(a, a)

# Each call returns as soon as its work is queued.
with Benchmark("headrace"):
    for _ in range(10):
        a = np.random.normal(size=(1000, 1000), ctx=device)
        b = np.dot(a, a)

with Benchmark():
    for _ in range(10):
        a = np.random.normal(size=(1000, 1000), ctx=device)
        b = np.dot(a, a)
    npx.waitall()

# The sum waits for the product, which waits for both arrays of ones; printing waits for the sum.
x = np.ones((1, 2), ctx=device)
y = np.ones((1, 2), ctx=device)
z = x * y + 2
print(repr(z))
