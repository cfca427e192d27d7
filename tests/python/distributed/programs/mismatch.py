"""Ranks that do not agree, in the way that WHAT says; each prints the error that it sees, and how soon."""

import os
import signal
import sys
import time

from headrace import distributed, kv, nd
from headrace.base import MXNetError

rank = distributed.rank()


def shape(store):
    store.push("w", nd.ones((2, 3)))
    store.init("v", nd.ones((2 + rank // 2,)))
    store.pushpull("v", nd.ones((2 + rank // 2,)))


def dtype(store):
    distributed.all_reduce(nd.ones((2,), dtype="float64" if rank == 1 else "float32")).wait_to_read()


def call(store):
    if rank == 0:
        distributed.barrier()
    else:
        out = nd.zeros((2, 3))
        store.pushpull("w", nd.ones((2, 3)), out=out)
        out.wait_to_read()


def end(store):
    if rank == 1:
        sys.exit(0)
    distributed.barrier()


def kill(store):
    if rank == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    distributed.barrier()


def error(store):
    if rank == 1:
        raise ValueError("mine")
    distributed.barrier()


def main(what):
    store = kv.create("mpi")
    store.init("w", nd.ones((2, 3)))
    distributed.barrier()
    begin = time.monotonic()
    try:
        globals()[what](store)
        nd.waitall()
    except MXNetError as seen:
        print(f"seen by {rank} {'soon' if time.monotonic() - begin < 60 else 'late'}: {seen}")


main(sys.argv[1])
