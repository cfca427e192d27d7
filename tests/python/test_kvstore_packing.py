"""Small arrays of one call of a store travel between devices as one."""

import gc

import numpy
import pytest

import headrace as hr
from headrace import kv, nd, optimizer, sim

SHAPES = [(3,), (2, 5), (), (4, 1, 2), (7,)] * 4
KEYS = list(range(len(SHAPES)))


@pytest.fixture(autouse=True)
def four_gpus():
    sim.configure(gpus=4, topology="pcie4", clock="virtual", memory=0)
    yield
    hr.waitall()
    gc.collect()
    sim.configure(gpus=0, topology="", clock="real")


def arrays(seed=0, count=4):
    """For each key an array on each device, and their sums."""
    rng = numpy.random.default_rng(seed)
    values = [[rng.integers(-8, 8, shape).astype("float32") for _ in range(count)] for shape in SHAPES]
    made = [[nd.array(one, ctx=hr.gpu(i)) for i, one in enumerate(of_key)] for of_key in values]
    return made, [sum(of_key) for of_key in values]


def made(kind):
    store = kv.create(kind)
    store.init(KEYS, [nd.ones(shape, ctx=hr.gpu(0)) for shape in SHAPES])
    return store


def assert_all(found, wanted):
    for of_key, value in zip(found, wanted):
        for array in of_key:
            numpy.testing.assert_array_equal(array.asnumpy(), value)


def new_outs(count=4):
    return [[nd.zeros(shape, ctx=hr.gpu(i)) for i in range(count)] for shape in SHAPES]


@pytest.mark.parametrize("kind", ["device", "local"])
class TestResults:
    def test_pushpull(self, kind):
        store = made(kind)
        values, sums = arrays()
        store.pushpull(KEYS, values)
        assert_all(values, sums)
        outs = new_outs()
        store.pull(KEYS, outs)
        assert_all(outs, sums)

    def test_outs_on_other_devices(self, kind):
        store = made(kind)
        values, sums = arrays(count=2)
        outs = [[nd.zeros(shape, ctx=hr.gpu(i)) for i in (3, 1, 2)] for shape in SHAPES]
        store.pushpull(KEYS, values, out=outs)
        assert_all(outs, sums)
        mixed = [[nd.zeros(shape, ctx=hr.gpu(i % 4))] for i, shape in enumerate(SHAPES)]
        store.pull(KEYS, mixed)
        assert_all(mixed, sums)

    def test_push_and_pull(self, kind):
        store = made(kind)
        for seed in range(2):
            values, sums = arrays(seed)
            store.push(KEYS, values)
        outs = new_outs()
        store.pull(KEYS, outs)
        assert_all(outs, sums)
        one = [nd.zeros(SHAPES[1], ctx=hr.gpu(2))]
        store.pull(1, one)
        assert_all([one], sums[1:2])

    def test_optimizer(self, kind):
        store = made(kind)
        store.set_optimizer(optimizer.SGD(learning_rate=0.5))
        values, sums = arrays()
        outs = new_outs()
        for _ in range(2):
            store.pushpull(KEYS, values, out=outs)
        assert_all(outs, [1 - total for total in sums])
        store.pushpull(3, values[3], out=outs[3])
        assert_all(outs[3:4], [1 - 1.5 * sums[3]])

    @pytest.mark.parametrize("reduction", ["mean", "max", nd.maximum])
    def test_other_reductions(self, kind, reduction):
        store = made(kind)
        store.set_reduction(reduction)
        values, sums = arrays()
        stacked = [numpy.stack([array.asnumpy() for array in of_key]) for of_key in values]
        wanted = [one.mean(0) if reduction == "mean" else one.max(0) for one in stacked]
        store.pushpull(KEYS, values)
        assert_all(values, wanted)

    def test_dtypes_and_large_arrays_among_them(self, kind):
        shapes, dtypes = (
            [(3,), (4,), (1 << 18,), (5,), (6,)],
            ["float32", "float64", "float64", "float64", "int32"],
        )
        store = kv.create(kind)
        keys = [f"k{i}" for i in range(5)]
        values = [
            [nd.full(shape, i + 1, ctx=hr.gpu(i), dtype=dtype) for i in range(3)]
            for shape, dtype in zip(shapes, dtypes)
        ]
        store.init(keys, [of_key[0] for of_key in values])
        store.pushpull(keys, values)
        assert_all(values, [6] * 5)


def test_it_takes_less_time():
    """Of the modelled machine: the latency of a link counts once, not once for each key."""
    store, seconds = made("device"), []
    for together in (False, True, False, True):
        values, _ = arrays()
        hr.waitall()
        start = sim.now()
        if together:
            store.pushpull(KEYS, values)
        else:
            for key in KEYS:
                store.pushpull(key, values[key])
        hr.waitall()
        seconds.append(sim.now() - start)
    assert seconds[3] < seconds[2] / 2
