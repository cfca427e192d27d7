"""Large arrays that a store has written lie in one memory until one is written; programs never see it."""

import threading

import numpy as onp
import pytest

import headrace as mx
from headrace import kv, nd

CPUS = [mx.cpu(i) for i in range(3)]


@pytest.fixture(params=["local", "device", "device ring"])
def store(request):
    name, _, strategy = request.param.partition(" ")
    return kv.create(name, strategy=strategy or None)


LARGE = (200, 200)


def large(value, ctx=None):
    return nd.full(LARGE, value, ctx=ctx or CPUS[0])


WRITES = {
    "slice": lambda x: x.__setitem__(slice(None), 9),
    "element": lambda x: x.__setitem__((0, 0), 9),
    "view": lambda x: x.reshape((-1,)).__setitem__(slice(10, 20), 9),
    "in place": lambda x: x.__iadd__(1),
    "out": lambda x: nd.exp(x, out=x),
    "buffer": lambda x: numpy_of(x).fill(9),
    "random": lambda x: nd.random.uniform(shape=LARGE, out=x),
}


def numpy_of(array):
    return onp.asarray(memoryview(array))


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_writing_one_result_leaves_the_others(store, write):
    store.init("k", large(0))
    arrays = [large(i + 1, CPUS[i]) for i in range(3)]
    store.pushpull("k", arrays)
    for i, array in enumerate(arrays):
        write(array)
        for other in arrays[i + 1 :]:
            assert (other.asnumpy() == 6).all()
    out = large(0)
    store.pull("k", out=out)
    assert (out.asnumpy() == 6).all()


def test_other_views_of_values_and_results(store):
    store.init("k", large(0))
    a, b, c = large(1), large(2), large(3)
    for _ in range(2):
        store.pushpull("k", [a, b], out=[a, b, c])
        store.pushpull("k", a, out=a.reshape(LARGE))
        store.pushpull("k", [a, b], out=[c, b, c.reshape(LARGE)])
    for array, value in ((a, 9), (b, 18), (c, 18)):
        assert (array.asnumpy() == value).all()


def test_what_a_buffer_shows_is_written_in_place(store):
    store.init("k", large(4))
    array = large(0)
    seen = numpy_of(array)
    store.pull("k", out=[array, large(0)])
    mx.waitall()
    assert (seen == 4).all()
    seen[:] = 5
    assert (array.asnumpy() == 5).all()


def test_a_thread_that_reads_sees_no_foreign_values():
    """One thread writes an array in two ways, always the same value; another one makes arrays of others."""
    store, stop = kv.create("local"), threading.Event()
    store.init("k", large(5))
    array = large(5)
    mx.waitall()

    def write():
        while not stop.is_set():
            store.pull("k", out=[array, large(0)])
            array[:] = 5

    def disturb():
        while not stop.is_set():
            (large(-77) * 1).wait_to_read()

    threads = [threading.Thread(target=target) for target in (write, disturb)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(80):
            assert (array.asnumpy() == 5).all()
    finally:
        stop.set()
        for thread in threads:
            thread.join()
