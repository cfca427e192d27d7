"""Worker 1 pushes what takes it long, worker 0 loads states meanwhile; they are those before that push."""

import sys

from headrace import kv, nd, optimizer

states = sys.argv[1]
store = kv.create("dist_sync")
store.init(0, nd.zeros((1,)))
store.set_optimizer(optimizer.SGD(learning_rate=1, momentum=0.5))
weight = nd.zeros((1,))


def step(work):
    gradient, busy = nd.ones((1,)), nd.ones((500, 500))
    for _ in range(work):
        busy = nd.dot(busy, nd.eye(500))
    store.pushpull(0, gradient * busy[0, :1], out=weight)


step(0)  # momentum and weight -2
nd.waitall()
store.barrier()
if store.rank == 0:
    store.save_optimizer_states(states)
store.barrier()
step(100 * store.rank)  # -3, weight -5, but for the states
store.barrier()
if store.rank == 0:
    store.load_optimizer_states(states)
store.barrier()
step(0)  # momentum -2 / 2 - 2
nd.waitall()
store.barrier()
if store.rank == 0:
    print(weight.asscalar() + 1, flush=True)
