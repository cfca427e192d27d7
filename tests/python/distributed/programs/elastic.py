"""Workers of a job that come and go, of an asynchronous store: `elastic.py FOLDER`.

They push ones, so that the weights tell how many pushes count, until there is a file `enough` in the folder.
"""

import os
import pathlib
import sys
import time

from headrace import kv, nd, optimizer


def main(folder):
    store = kv.create("dist_async")
    rule = optimizer.SGD(learning_rate=1.0)
    store.set_optimizer(rule)
    out = nd.zeros((3,))
    store.init("w", nd.zeros((3,)))
    store.pull("w", out=out)
    first = int(-out.asnumpy()[0])
    restored = (store.restored_states() or {}).get(store.rank, {"pushes": 0})["pushes"]
    pushes = 0
    store.keep_state(lambda: {"pushes": restored + pushes + 1})
    name = f"{store.rank} {'joined' if store.has_joined else 'began'} {os.getpid()}"
    while not (folder / "enough").exists():
        store.push("w", nd.ones((3,)))
        pushes += 1
        store.pull("w", out=out)
        out.wait_to_read()
        (folder / name).write_text(f"{pushes} {first} {restored} {store.num_workers}")
        time.sleep(0.01)
    store.barrier()
    store.pull("w", out=out)
    print(f"worker {store.rank} of {store.num_workers}: {int(-out.asnumpy()[0])} pushes", flush=True)
    store.barrier()


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
