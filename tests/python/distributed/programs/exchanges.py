"""Exchanges of several ranks, with servers or without, and what stores over them do: asserts."""

import os

import numpy
import pytest

import headrace as mx
from headrace import autograd, distributed, gpu, kv, nd, np, optimizer
from headrace.base import MXNetError

rank, size = distributed.rank(), distributed.size()
has_servers = "DMLC_ROLE" in os.environ
placement = distributed.all_gather_object(os.environ.get("HEADRACE_MACHINE"))
machines = [[other for other in range(size) if placement[other] == name] for name in dict.fromkeys(placement)]


def in_order(values):
    """The sum, in the order of the ranks within machines, then of the machines."""
    partial = [sum(values[other] for other in ranks) for ranks in machines]
    return sum(partial[1:], partial[0])


def check_exchanges():
    assert distributed.is_initialized()
    (own_machine,) = (ranks for ranks in machines if rank in ranks)
    assert distributed.local_rank() == own_machine.index(rank)
    assert distributed.local_size() == len(own_machine)
    own = nd.array([rank, 1.0])
    total = distributed.all_reduce(own)
    assert type(total) is nd.NDArray and total.asnumpy().tolist() == [sum(range(size)), size]
    assert own.asnumpy().tolist() == [rank, 1]
    assert distributed.all_reduce(np.array([rank]), "max").item() == size - 1
    assert type(distributed.all_reduce(np.array([rank]))) is np.ndarray
    assert distributed.all_reduce(own, "mean").asnumpy().tolist() == [(size - 1) / 2, 1]
    large = nd.full((size,), 60000, dtype="float16")
    for mean in (distributed.all_reduce(large, "mean"), distributed.reduce_scatter(large, "mean")):
        assert mean.dtype == numpy.float16 and mean.asnumpy()[0] == 60000
    for elements in (700_001, 1000):  # in parts and whole
        values = [numpy.random.RandomState(one).rand(elements).astype("float32") for one in range(size)]
        assert (distributed.all_reduce(nd.array(values[rank])).asnumpy() == in_order(values)).all()
        halves = [value.astype("float16") for value in values]
        expected = in_order([half.astype("float32") for half in halves]).astype("float16")
        assert (distributed.all_reduce(nd.array(halves[rank], dtype="float16")).asnumpy() == expected).all()
    part = distributed.reduce_scatter(nd.arange(2 * size))
    assert part.asnumpy().tolist() == [size * (2 * rank), size * (2 * rank + 1)]
    rows = distributed.all_gather(nd.full((rank + 1, 2), rank))
    assert rows.shape == (size * (size + 1) // 2, 2) and rows.asnumpy()[-1].tolist() == [size - 1] * 2
    assert distributed.broadcast(own, root=1).asnumpy().tolist() == [1, 1]
    assert distributed.broadcast_object({"rank": rank} if rank == 1 else None, root=1) == {"rank": 1}
    assert distributed.all_gather_object("x" * rank) == ["x" * other for other in range(size)]
    named = {name: nd.full((3,), rank) for name in ("a", "b", "c")}
    order = sorted(named, reverse=rank % 2 == 1)
    sums = {name: distributed.all_reduce(named[name], name=name) for name in order}
    assert all(one.asnumpy().tolist() == [sum(range(size))] * 3 for one in sums.values())
    distributed.barrier()


def check_errors_before_anything_is_sent():
    for call, error, text in (
        (lambda: distributed.all_reduce([1.0]), TypeError, "expected an array, got list"),
        (lambda: distributed.all_reduce(nd.ones((2,)), "product"), ValueError, "no reduction 'product'"),
        (
            lambda: distributed.all_reduce(nd.ones((2,), dtype="int32"), "mean"),
            TypeError,
            "floats, got int32",
        ),
        (lambda: distributed.broadcast(nd.ones((2,)), root=size), ValueError, "is no rank"),
        (lambda: distributed.reduce_scatter(nd.ones((size + 1,))), ValueError, "can be divided"),
        (lambda: distributed.all_reduce(nd.ones((2, 2)).tostype("row_sparse")), TypeError, "dense"),
    ):
        with pytest.raises(error, match=text):
            call()


def check_simulated_gpus():
    """Sums of arrays of devices."""
    mx.sim.configure(gpus=2)
    arrays = [nd.full((500, 40), rank + 1, ctx=gpu(i)) for i in range(2)]
    total = distributed.all_reduce(arrays[0])
    assert total.ctx == gpu(0) and (total.asnumpy() == sum(range(size + 1))).all()
    store = kv.create("mpi")
    store.init("w", nd.zeros((500, 40)))
    store.pushpull("w", arrays)
    assert all((one.asnumpy() == 2 * sum(range(size + 1))).all() for one in arrays)


def check_join():
    for _ in range(1 + 2 * rank):
        distributed.all_reduce(nd.ones((2,)))
    distributed.join(lambda: distributed.all_reduce(nd.zeros((2,))))


def check_stores():
    store = kv.create("mpi" if has_servers else "dist_sync")  # the same, without servers
    if not has_servers:
        assert store.type == "dist_sync"
        with pytest.raises(ValueError, match="needs servers"):
            kv.create("dist_async")
    assert (store.rank, store.num_workers) == (rank, size)
    assert store.is_capable("distributed") and store.is_capable("optimizer")
    assert not store.is_capable("asynchronous")
    store.set_optimizer(optimizer.SGD(learning_rate=0.5))
    store.init(3, nd.full((2,), rank))
    out = nd.zeros((2,))
    store.pushpull(3, nd.ones((2,)), out=out)
    assert out.asnumpy().tolist() == [-0.5 * size] * 2
    compressed = kv.create("mpi")
    compressed.set_gradient_compression({"type": "2bit", "threshold": 1.0})
    compressed.init("c", nd.zeros((2,)))
    out = nd.zeros((2,))
    for expected in ([0, size], [size, 0]):
        compressed.pushpull("c", nd.array([0.75, 1.0 if expected[1] else 0.0]), out=out)
        assert out.asnumpy().tolist() == expected
    if has_servers:  # both at once
        served = kv.create("dist_sync")
        served.init("s", nd.zeros((3,)))
        total = distributed.all_reduce(nd.ones((3,)))
        served.push("s", total)
        out = nd.zeros((3,))
        served.pull("s", out=out)
        assert out.asnumpy().tolist() == [size * size] * 3
    rows = kv.create("mpi")
    rows.init("r", nd.zeros((size + 1, 2)).tostype("row_sparse"))
    rows.push("r", nd.sparse.row_sparse_array((nd.ones((2, 2)), [rank, size]), shape=(size + 1, 2)))
    out = nd.sparse.zeros("row_sparse", (size + 1, 2))
    rows.row_sparse_pull("r", out=out, row_ids=nd.array([0, size]))
    assert out.asnumpy()[:, 0].tolist() == [1, *[0] * (size - 1), size]
    store.barrier()


def check_that_a_failure_is_everybodys():
    value = nd.ones((2,))
    if rank == 1:
        value = nd.take(value, nd.array([9, 9]), mode="raise")
    failed = distributed.all_reduce(value)
    with pytest.raises(IndexError, match="on rank 1" if rank != 1 else "9"):
        failed.asnumpy()
    assert distributed.all_reduce(nd.ones((2,))).asnumpy().tolist() == [size] * 2


def check_overlap():
    """Calls return while values are computed that others wait for."""
    with autograd.pause():
        value = nd.ones((300, 300))
        for _ in range(20):
            value = nd.dot(value, value) / 300
        total = distributed.all_reduce(value)
    numpy.testing.assert_allclose(total.asnumpy(), size, rtol=1e-3)


for check in [one for name, one in sorted(globals().items()) if name.startswith("check_")]:
    check()
mx.waitall()
distributed.shutdown()
with pytest.raises(MXNetError, match="had left the others"):
    distributed.barrier()
print("all as it should be")
