"""Trains in two processes that share a store of their own, and prints the parameters of both as JSON.

    two_workers.py STORE FRONTEND

STORE is `adder`, which sums, or `keeper`, which updates what it holds; FRONTEND is `trainer` or `module`. The
workers begin with different parameters, and each has one half of the batch.
"""

import json
import multiprocessing
import sys

import numpy

import headrace as mx
from headrace import autograd, gluon, nd
from headrace.kvstore import KVStoreBase

SECONDS = 60  # that a worker waits for the other
STEPS = 4
WORKERS = 2


def as_list(arrays):
    return list(arrays) if isinstance(arrays, (list, tuple)) else [arrays]


def write(array, out):
    for one in as_list(out):
        one[:] = nd.array(array, ctx=one.ctx)


class Adder(KVStoreBase):
    """Sums the gradients of two processes, in the order of their ranks."""

    rank, connection = 0, None  # of this process
    num_workers = WORKERS
    type = "adder"

    @staticmethod
    def is_capable(capability):
        if capability not in KVStoreBase.CAPABILITIES:
            raise ValueError(capability)
        return capability == KVStoreBase.DISTRIBUTED

    def exchange(self, array):
        """The arrays of both ranks."""
        if self.rank == 0:
            self.connection.send(array)
        if not self.connection.poll(SECONDS):
            raise TimeoutError(f"worker {1 - self.rank} has not answered")
        other = self.connection.recv()
        if self.rank == 1:
            self.connection.send(array)
        return [array, other] if self.rank == 0 else [other, array]

    def broadcast(self, key, value, out, priority=0):
        write(self.exchange(value.asnumpy())[0], out)

    def pushpull(self, key, value, out=None, priority=0):
        write(self.total(value), value if out is None else out)

    def total(self, value):
        return sum(self.exchange(sum(one.asnumpy() for one in as_list(value))))


class Keeper(Adder):
    """Updates what it holds by those sums."""

    type = "keeper"

    def __init__(self):
        self.held = {}

    @staticmethod
    def is_capable(capability):
        return capability == KVStoreBase.OPTIMIZER or Adder.is_capable(capability)

    def set_optimizer(self, optimizer):
        self._updater = mx.optimizer.get_updater(optimizer)

    def broadcast(self, key, value, out, priority=0):
        self.replace(key, value)
        write(self.held[key].asnumpy(), out)

    def replace(self, key, value):
        self.held[key] = nd.array(self.exchange(value.asnumpy())[0])

    def pushpull(self, key, value, out=None, priority=0):
        self.updater(key, nd.array(self.total(value)), self.held[key])
        write(self.held[key].asnumpy(), out)


def samples(part, parts):
    """One part of a batch of 12: data and labels."""
    data = numpy.random.RandomState(0).randn(12, 5).astype("float32")
    chosen = slice(part * 12 // parts, (part + 1) * 12 // parts)
    return nd.array(data[chosen]), nd.array(data[chosen, :3].argmax(axis=1))


def train_by_trainer(store, rank, parts):
    net = gluon.nn.Sequential(prefix="net_")
    with net.name_scope():
        net.add(gluon.nn.Dense(4, activation="relu", in_units=5), gluon.nn.Dense(3, in_units=4))
    mx.random.seed(7 + rank)
    net.initialize(mx.init.Uniform(0.5))
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.5, "momentum": 0.9}, store)
    trainer.step(1, ignore_stale_grad=True)  # without gradients: takes the parameters of rank 0
    data, labels = samples(rank, parts)
    loss_of = gluon.loss.SoftmaxCrossEntropyLoss()
    for _ in range(STEPS):
        with autograd.record():
            loss = loss_of(net(data), labels)
        loss.backward()
        trainer.step(len(data) * parts)
    return {name: param.data().asnumpy().tolist() for name, param in net.collect_params().items()}


def train_by_module(store, rank, parts):
    layer = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=4, name="first")
    layer = mx.sym.FullyConnected(mx.sym.Activation(layer, act_type="relu"), num_hidden=3, name="second")
    data, labels = samples(rank, parts)
    module = mx.mod.Module(mx.sym.SoftmaxOutput(layer, name="softmax"))
    module.bind([("data", data.shape)], [("softmax_label", labels.shape)])
    mx.random.seed(7 + rank)
    module.init_params(mx.init.Uniform(0.5))
    module.init_optimizer(store, "sgd", {"learning_rate": 0.5, "momentum": 0.9})
    batch = mx.io.DataBatch([data], [labels])
    for step in range(STEPS):
        module.forward_backward(batch)
        module.update()
        if step == 1:
            module.set_params(*module.get_params())  # as fit() does after each epoch
    return {name: array.asnumpy().tolist() for name, array in module.get_params()[0].items()}


FRONTENDS = {"trainer": train_by_trainer, "module": train_by_module}


def work(rank, connection, store, frontend):
    """Trains as one of the workers; rank 1 sends its parameters."""
    Adder.rank, Adder.connection = rank, connection
    for kind in (Adder, Keeper):
        KVStoreBase.register(kind)
    found = FRONTENDS[frontend](store, rank, WORKERS)
    if rank == 1:
        connection.send(found)
    return found


def main():
    store, frontend = sys.argv[1:]
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    other = context.Process(target=work, args=(1, there, store, frontend), daemon=True)
    other.start()
    there.close()
    workers = [work(0, here, store, frontend), here.recv()]
    other.join()
    print(json.dumps({"one": FRONTENDS[frontend](None, 0, 1), "workers": workers}))


if __name__ == "__main__":
    main()
