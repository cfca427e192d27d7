"""Trains with stores that share updates and with those that do not; `shared_updates.py FOLDER`.

Asserts that the bits are the same, also where the states of one kind of store go on with the other.
"""

import sys

import numpy

import headrace as mx
from headrace import autograd, distributed, gluon, nd

OPTIMIZERS = [
    ("sgd", {"learning_rate": 0.1, "momentum": 0.9}, "float32"),
    ("sgd", {"learning_rate": 0.1, "momentum": 0.9, "multi_precision": True}, "float16"),
    ("adam", {"learning_rate": 0.01, "wd": 0.01}, "float32"),
    ("nadam", {"learning_rate": 0.01}, "float32"),
    ("ftml", {"learning_rate": 0.01}, "float32"),
    ("lamb", {"learning_rate": 0.01}, "float32"),  # looks at whole arrays
    ("normed", {"learning_rate": 0.01}, "float32"),
]
SHAPE = (1100, 601)  # of the large weight: more than 1 MB in float16
STEPS = 4


class Training:
    def __init__(self, kind, optimizer, settings, dtype):
        mx.random.seed(3)
        self.net = gluon.nn.HybridSequential()
        self.net.add(gluon.nn.Dense(SHAPE[0], in_units=SHAPE[1], activation="relu"))
        self.net.add(gluon.nn.Dense(2, in_units=SHAPE[0]))
        self.net.initialize(mx.init.Xavier())
        self.net.cast(dtype)
        self.store, self.dtype = mx.kv.create(kind), dtype
        self.trainer = gluon.Trainer(self.net.collect_params(), optimizer, settings, kvstore=self.store)

    def steps(self, numbers):
        for number in numbers:
            if number == 2:
                self.trainer.set_learning_rate(0.005)
            x = numpy.random.RandomState(10 * number + self.store.rank).rand(8, SHAPE[1])
            with autograd.record():
                loss = (self.net(nd.array(x, dtype=self.dtype)) ** 2).sum()
            loss.backward()
            self.trainer.step(8 * self.store.num_workers)

    def weights(self):
        return [one.data().asnumpy() for one in self.net.collect_params().values()]

    def take(self, other, path):
        for mine, one in zip(self.net.collect_params().values(), other):
            mine.set_data(nd.array(one, dtype=self.dtype))
        self.trainer.load_states(path)

    def elements_of_states(self):
        """Of the large weight, on all ranks together."""
        (index,) = (i for i, one in enumerate(self.trainer._params) if one.shape == SHAPE)
        state = self.store._updater.states[index]
        while isinstance(state, (tuple, list, dict)):
            state = state["sum"] if isinstance(state, dict) else state[-1]
        return sum(distributed.all_gather_object(state.size))


def are_equal(some, others):
    return all((one == other).all() for one, other in zip(some, others))


def outlives_a_gradient_that_failed(kind):
    store, out = mx.kv.create(kind), nd.zeros(SHAPE)
    store.init("w", nd.ones(SHAPE))
    store.set_optimizer(mx.optimizer.SGD(learning_rate=1.0))
    gradient = nd.ones(SHAPE)
    if store.rank == 1:
        gradient = nd.take(gradient, nd.arange(5000, 5000 + SHAPE[0]), mode="raise")
    try:
        store.pushpull("w", gradient, out=out)
        out.wait_to_read()
        store.pull("w", out=out)
    except IndexError as error:
        assert "5000" in str(error)
    else:
        raise AssertionError("nobody was told")
    store.pushpull("w", nd.ones(SHAPE), out=out)
    assert (out.asnumpy() == 1 - store.num_workers).all(), out
    store.barrier()


class Normed(mx.optimizer.Optimizer):
    """Treats each element by itself, and has states of other forms beside."""

    is_elementwise = True

    def create_state(self, index, weight):
        return {"sum": nd.zeros(weight.shape), "steps": nd.zeros((1,))}

    def update(self, index, weight, grad, state):
        self._update_count(index)
        state["sum"] += grad
        state["steps"] += 1
        weight -= self._get_lr(index) * state["sum"] / state["steps"]


mx.optimizer.Optimizer.register(Normed)


def sparse_gradients_update_whole_arrays():
    ends = []
    for kind in ("mpi", "mpi_sharded"):
        mx.random.seed(5)
        net = gluon.nn.Embedding(30_000, 16, sparse_grad=True)
        net.initialize()
        trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.1}, kvstore=kind)
        for _ in range(2):
            with autograd.record():
                loss = (net(nd.array([distributed.rank(), 5, 7])) ** 2).sum()
            loss.backward()
            trainer.step(4)
        ends.append([net.weight.data().asnumpy()])
    assert are_equal(*ends)


def states_decide_who_updates(folder):
    """A file's optimizer, which looks at whole arrays, replaces one that does not."""
    first = Training("mpi", "lamb", {"learning_rate": 0.01}, "float32")
    first.steps(range(1))
    first.trainer.save_states(f"{folder}/lamb")
    first.store.barrier()
    ends = []
    for kind in ("mpi", "mpi_sharded"):
        other = Training(kind, "sgd", {"learning_rate": 0.1}, "float32")
        other.take(first.weights(), f"{folder}/lamb")
        other.steps(range(1, 3))
        ends.append(other.weights())
        other.store.barrier()
    assert are_equal(*ends)


def reductions_by_functions_take_whole_states():
    ends = []
    for kind in ("mpi", "mpi_sharded"):
        store, out = mx.kv.create(kind), nd.zeros(SHAPE)
        store.init(3, nd.ones(SHAPE))
        store.set_optimizer(mx.optimizer.SGD(learning_rate=0.1, momentum=0.9))
        store.pushpull(3, nd.ones(SHAPE), out=out)
        store.set_reduction(lambda a, b: a + b)
        store.pushpull(3, nd.ones(SHAPE), out=out)
        ends.append([out.asnumpy()])
        store.barrier()
    assert are_equal(*ends)


def main(folder):
    sparse_gradients_update_whole_arrays()
    states_decide_who_updates(folder)
    reductions_by_functions_take_whole_states()
    for kind in ("mpi", "mpi_sharded"):
        outlives_a_gradient_that_failed(kind)
    for optimizer, settings, dtype in OPTIMIZERS:
        name = f"{optimizer} {dtype}"
        ends = {}
        for kind in ("mpi", "mpi_sharded"):
            whole = Training(kind, optimizer, settings, dtype)
            whole.steps(range(2))
            middle = whole.weights()
            whole.trainer.save_states(f"{folder}/{kind}.{whole.store.rank}")
            whole.trainer.save_states(f"{folder}/{kind}")  # by all ranks at once
            whole.store.barrier()
            whole.steps(range(2, STEPS))
            ends[kind] = whole.weights()
            copies = whole.store.num_workers if kind == "mpi" or optimizer == "lamb" else 1
            assert whole.elements_of_states() == copies * SHAPE[0] * SHAPE[1], (name, kind)
        assert are_equal(ends["mpi"], ends["mpi_sharded"]), name
        for kind, other in (("mpi", "mpi_sharded"), ("mpi_sharded", "mpi")):
            resumed = Training(kind, optimizer, settings, dtype)
            resumed.take(middle, f"{folder}/{other}")
            resumed.steps(range(2, STEPS))
            assert are_equal(resumed.weights(), ends["mpi"]), (name, kind)
            resumed.store.barrier()
    print("all as it should be")


main(*sys.argv[1:])
