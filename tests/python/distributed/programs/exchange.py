"""Pushes and pulls until the end, or until rank 1 does WHAT: kill, exit or raise; prints what others see."""

import os
import signal
import sys

from headrace import kv, nd
from headrace.base import MXNetError


def main(what, kind="dist_sync"):
    store = kv.create(kind)
    store.init("w", nd.ones((2, 3)))
    out = nd.zeros((2, 3))
    for turn in range(6):
        if turn == 3 and store.rank == 1:
            if what == "kill":
                os.kill(os.getpid(), signal.SIGKILL)
            if what == "exit":
                return
            if what == "raise":
                raise ValueError("mine")
        store.push("w", nd.ones((2, 3)) * (store.rank + 1))
        store.pull("w", out=out)
        try:
            assert (out.asnumpy() == sum(range(1, store.num_workers + 1))).all()
        except MXNetError as error:
            print("seen:", error)
            sys.exit(3)
    store.barrier()
    print("done", store.rank, store.num_workers, store.type)


main(*sys.argv[1:])
