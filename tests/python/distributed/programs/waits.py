"""Worker 0 waits in a call for rows of worker 1, which pushes when a thread of worker 0 says so: FOLDER CALL.

The thread runs when the call lets it: no other switch between threads is due.
"""

import pathlib
import sys
import threading
import time

from headrace import kv, nd

SECONDS = 30  # that worker 1 waits on a busy machine


def main(folder, call):
    store = kv.create("dist_sync")
    ones = nd.ones((4, 2)).tostype("row_sparse")
    out = nd.sparse.zeros("row_sparse", (4, 2))
    store.init("rows", out)
    if store.rank == 1:
        await_file(folder / "waits")
        store.push("rows", ones)
        store.barrier()
        return
    sys.setswitchinterval(1000)
    is_next = threading.Event()
    thread = threading.Thread(target=lambda: is_next.wait() and (folder / "waits").touch())
    thread.start()
    if call == "pull":
        store.push("rows", ones)
        is_next.set()
        store.pull("rows", out=out, ignore_sparse=False)
    else:
        is_next.set()
        store.pushpull("rows", ones, out=out)
    assert (out.asnumpy() == 2).all()
    store.barrier()


def await_file(path):
    deadline = time.monotonic() + SECONDS
    while not path.exists():
        assert time.monotonic() < deadline, "no thread of worker 0 runs while it waits"
        time.sleep(0.02)


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]), sys.argv[2])
