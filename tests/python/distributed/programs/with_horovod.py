"""A program for Horovod on MXNet: prints the parameters' sum of each rank, and asserts what its calls do."""

import horovod.mxnet as hvd
import mxnet as mx
import numpy
from mxnet import autograd, gluon, nd

hvd.init()
rank, size = hvd.rank(), hvd.size()
assert (hvd.local_rank(), hvd.local_size()) == (rank, size) and hvd.cross_size() == 1
assert hvd.allreduce(nd.array([rank, 2.0])).asnumpy().tolist() == [(size - 1) / 2, 2]
assert hvd.allreduce(nd.ones((2,)), average=False, name="ones").asnumpy().tolist() == [size] * 2
array = nd.array([rank])
assert hvd.allreduce_(array, average=False) is array and array.asscalar() == sum(range(size))
assert hvd.allreduce(nd.array([rank]), op=hvd.Max).asscalar() == size - 1
array = nd.array([rank])
assert hvd.grouped_allreduce_([array, nd.ones((1,))], op=hvd.Sum)[0] is array
assert array.asscalar() == sum(range(size))
assert [one.asscalar() for one in hvd.grouped_allreduce([nd.array([rank]), nd.ones((1,))])] == [
    (size - 1) / 2,
    1,
]
assert hvd.allgather(nd.array([[rank]])).shape == (size, 1)
array = nd.array([rank])
assert hvd.broadcast(array, root_rank=1).asscalar() == 1 and array.asscalar() == rank
assert hvd.broadcast_(array, root_rank=1) is array and array.asscalar() == 1
assert hvd.mpi_enabled() and not (hvd.gloo_enabled() or hvd.cuda_built() or hvd.rocm_built())
counts = nd.array([10, 20], dtype="int32")
assert hvd.allreduce_(counts).asnumpy().tolist() == [10, 20] and counts.dtype == numpy.int32
odd = nd.array([3], dtype="int64")
halves = hvd.allreduce(odd, op=hvd.Sum, prescale_factor=0.5, postscale_factor=1.5)
assert halves.asscalar() == int(1.5 * size) and halves.dtype == numpy.int64
assert hvd.broadcast_object([rank], root_rank=0) == [0]


def train(trainer_of):
    mx.random.seed(rank)  # other parameters on each rank, until they are broadcast
    net = gluon.nn.Sequential()
    net.add(gluon.nn.Dense(4, activation="relu"), gluon.nn.Dense(1))  # whose sizes are not known yet
    net.initialize(mx.init.Xavier())
    params = net.collect_params()
    hvd.broadcast_parameters(params, root_rank=0)
    trainer = trainer_of(params)
    mx.random.seed(7)
    x = nd.random.uniform(shape=(8, 3))
    for _ in range(3):
        with autograd.record():
            loss = (net(x[rank::size]) ** 2).sum()
        loss.backward()
        trainer.step(8 // size)
    return [one.data().asnumpy() for one in params.values()]


def sgd():
    return mx.optimizer.SGD(learning_rate=0.1, momentum=0.9)


by_trainer = train(lambda params: hvd.DistributedTrainer(params, sgd()))
by_optimizer = train(lambda params: gluon.Trainer(params, hvd.DistributedOptimizer(sgd()), kvstore=None))
for one, other in zip(by_trainer, by_optimizer):
    assert abs(one - other).max() < 1e-6
compressed = train(lambda params: hvd.DistributedTrainer(params, sgd(), compression=hvd.Compression.fp16))
for one, other in zip(by_trainer, compressed):
    assert abs(one - other).max() < 1e-2
arguments = {"weight": nd.array([rank])}
hvd.broadcast_parameters(arguments, root_rank=1)
assert arguments["weight"].asscalar() == 1
print(f"weights {sum(float(one.astype('float64').sum()) for one in by_trainer)!r}")
hvd.shutdown()
