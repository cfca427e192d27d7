"""Workers of an asynchronous store whose first batches have different sizes; they update by turns."""

from headrace import kv, nd, optimizer

store = kv.create("dist_async")
store.init(0, nd.zeros((1,)))
store.set_optimizer(optimizer.SGD(learning_rate=1, rescale_grad=1 / (store.rank + 1)))
store.barrier()
for turn in range(2 * store.num_workers):
    if turn % store.num_workers == store.rank:
        weight = nd.empty((1,))
        store.pushpull(0, nd.ones((1,)), out=weight)
        print(f"{turn}:{weight.asscalar()}", flush=True)
    store.barrier()
