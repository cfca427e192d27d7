"""A child of a worker asks the worker's store for each thing it has; then the worker does."""

import os
import sys

from headrace import kv, nd

store = kv.create("dist_sync")
store.init("weight", nd.zeros((2,)))
out = nd.zeros((2,))
CALLS = {
    "init": lambda: store.init("other", nd.zeros((2,))),
    "push": lambda: store.push("weight", nd.ones((2,))),
    "pull": lambda: store.pull("weight", out=out),
    "barrier": store.barrier,
}
for name, call in CALLS.items():
    child = os.fork()
    if child == 0:
        try:
            call()
            nd.waitall()
        except RuntimeError as error:
            os.write(1, f"{name}: {error}\n".encode())
        finally:
            os._exit(0)
    os.waitpid(child, 0)
store.push("weight", nd.ones((2,)))
store.pull("weight", out=out)
print("worker", out.asnumpy().tolist())
sys.stdout.flush()
