"""What ranks exchange that have a GPU each, beside what they exchange on the host: asserts."""

import sys

import numpy

import headrace as mx
from headrace import autograd, distributed, gluon, gpu, kv, nd

rank, size = distributed.rank(), distributed.size()
mine = gpu(distributed.local_rank())


def check_exchanges(context):
    """As those of the host, which add in the same order."""
    for dtype in ("float32", "float16", "int32"):
        for shape in ((size, 40_001), (size, 3)):
            values = numpy.random.RandomState(rank).uniform(-5, 5, shape).astype(dtype)
            here, there = nd.array(values, dtype=dtype), nd.array(values, dtype=dtype, ctx=context)
            for call in (
                distributed.all_reduce,
                distributed.reduce_scatter,
                distributed.all_gather,
                lambda array: distributed.broadcast(array, root=size - 1),
            ):
                result = call(there)
                assert result.ctx == context, result.ctx
                assert (result.asnumpy() == call(here).asnumpy()).all()
    assert distributed.all_reduce(nd.array([rank], ctx=context), "mean").asscalar() == (size - 1) / 2
    assert distributed.all_reduce(nd.array([rank], ctx=context), "max").asscalar() == size - 1


def train(context):
    """The weights after some steps, each rank with its part of the data."""
    mx.random.seed(7)
    net = gluon.nn.HybridSequential()
    net.add(gluon.nn.Dense(8, activation="tanh"), gluon.nn.Dense(3))
    net.initialize(mx.init.Xavier(), ctx=context)
    data = nd.random.uniform(shape=(4 * size, 5))
    trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.05}, kvstore="mpi")
    for _ in range(4):
        with autograd.record():
            loss = (net(data[rank::size].as_in_context(context)) ** 2).sum()
        loss.backward()
        trainer.step(4 * size)
    return [one.data().asnumpy() for one in net.collect_params().values()]


def check_training():
    there, here = train(mine), train(mx.cpu())
    for weights in distributed.all_gather_object(there):
        assert all((one == other).all() for one, other in zip(weights, there))
    for one, other in zip(there, here):
        numpy.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)


def check_store():
    store = kv.create("mpi")
    store.init("w", nd.full((3, 2), rank, ctx=mine))
    out = nd.zeros((3, 2), ctx=mine)
    store.pull("w", out=out)
    assert (out.asnumpy() == 0).all()
    store.pushpull("w", nd.full((3, 2), rank + 1, ctx=mine), out=out)
    assert (out.asnumpy() == size * (size + 1) / 2).all()


for what in sys.argv[1:]:
    if what == "mixed":
        check_exchanges(mine if rank == 1 else mx.cpu())
    elif what == "same":
        check_exchanges(gpu(0))
    else:
        check_exchanges(mine)
        check_store()
        check_training()
mx.waitall()
distributed.shutdown()
print("all as it should be")
