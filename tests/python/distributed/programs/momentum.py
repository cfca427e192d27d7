"""`momentum.py save` or `resume`: asynchronous; when it goes on, worker 1 pushes before worker 0 is ready."""

import sys
import time

from headrace import kv, nd, optimizer

KEYS = range(3)


def main(what):
    store = kv.create("dist_async")
    if store.rank == 0 and what == "resume":
        time.sleep(0.2)
    store.set_optimizer(optimizer.SGD(learning_rate=1.0, momentum=0.5))
    out = nd.zeros((2,))
    for key in KEYS:
        if store.rank == 0 and what == "resume":
            time.sleep(0.2)
        store.init(key, nd.zeros((2,)))
        if store.rank == 1 and what == "resume":
            store.push(key, nd.ones((2,)))
            store.pull(key, out=out)
    if store.rank == 0 and what == "save":
        for key in KEYS:
            store.push(key, nd.ones((2,)) * 4)
        store.save_checkpoint()
    out.wait_to_read()  # a barrier waits for workers, not for what they have pushed
    store.barrier()
    for key in KEYS:
        store.pull(key, out=out)
        # momentum -4, then 0.5 * -4 - 1
        assert out.asnumpy().tolist() == [-4.0 if what == "save" else -7.0] * 2, (key, out.asnumpy())
    print("as it should be")
    store.barrier()


main(sys.argv[1])
