"""Workers of a synchronous job that begins anew when others join: `more_workers.py FOLDER`.

They push ones, so that the weights tell how many pushes count, until there is a file `enough` in the folder;
worker 0 writes how far a life has come.
"""

import os
import pathlib
import sys

from headrace import distributed, kv, nd, optimizer


def main(folder):
    store = kv.create("dist_sync")
    store.set_optimizer(optimizer.SGD(learning_rate=1.0))
    out = nd.zeros((3,))
    store.init("w", nd.zeros((3,)))
    store.pull("w", out=out)
    first = int(-out.asnumpy()[0])
    states = store.restored_states()  # all know the same of those that were there
    assert distributed.all_gather_object(states) == [states] * store.num_workers
    assert all(of_one == (states or {})[0] for of_one in (states or {}).values())
    place = {"step": (states or {0: {"step": 0}})[0]["step"]}
    store.keep_state(lambda: place)
    steps = 0
    while not distributed.broadcast_object((folder / "enough").exists()):
        place["step"] += 1
        store.push("w", nd.ones((3,)))
        store.pull("w", out=out)
        steps += 1
        assert int(-out.asnumpy()[0]) == first + store.num_workers * steps
        if store.rank == 0:
            written = folder / f".{os.getpid()}"
            written.write_text(f"{store.num_workers} {first} {steps}")
            written.rename(folder / f"life {os.getpid()}")
    print(f"worker {store.rank} of {store.num_workers} has ended", flush=True)


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
