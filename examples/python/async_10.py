"""Where the time of queued work shows up: not where it is asked for but where its result is needed.

The program does in Headrace what the slides of a course on asynchronous computation do in PyTorch on a GPU.
"""

import time

import numpy

from headrace import cpu, gpu, np, npx, num_gpus

npx.set_np()

SIZE = (1000, 1000)
device = gpu() if num_gpus() else cpu()


def seconds(work):
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def products_on_the_host():
    for _ in range(10):
        a = numpy.random.normal(size=SIZE)
        numpy.dot(a, a)


def queue_products():
    for _ in range(10):
        a = np.random.normal(size=SIZE, ctx=device)
        np.dot(a, a)


def finish_products():
    queue_products()
    npx.waitall()


finish_products()  # the first operations on a device prepare it
print(f"numpy: {seconds(products_on_the_host):.4f} sec")
print(f"headrace, queued: {seconds(queue_products):.4f} sec")
print(f"headrace, waiting for what was queued: {seconds(npx.waitall):.4f} sec")
print(f"headrace, finished: {seconds(finish_products):.4f} sec")

x = np.ones((1, 2), ctx=device)
y = np.ones((1, 2), ctx=device)
z = x * y + 2
print(repr(z))
