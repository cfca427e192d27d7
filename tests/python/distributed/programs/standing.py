"""`standing.py HOW`: two workers that wait for each other, each in its way, or not for ever."""

import sys
import time

from headrace import distributed, kv, nd

SECONDS = 8  # more than it takes to find out that nobody goes on


def main(how):
    store = kv.create("dist_sync")
    store.init(["a", "b"], [nd.zeros((4,))] * 2)
    store.init("rows", nd.zeros((4, 2)).tostype("row_sparse"))
    ones, out = nd.ones((4,)), nd.zeros((4,))
    if how in ("exchange", "objects"):
        distributed.barrier()
    if how == "keys":
        store.pushpull("ab"[store.rank], ones, out=out)
        out.wait_to_read()
    elif store.rank == 0:
        store.barrier()
        store.push("a", ones)
    elif how == "barrier":
        store.pushpull("a", ones, out=out)
        out.wait_to_read()
    elif how == "rows":
        store.push("rows", nd.ones((4, 2)).tostype("row_sparse"))
        store.row_sparse_pull("rows", out=nd.zeros((4, 2)).tostype("row_sparse"), row_ids=nd.array([1]))
    elif how == "init":
        store.init("c", ones)
    elif how in ("exchange", "joining"):
        distributed.all_reduce(ones).wait_to_read()
    elif how == "objects":
        distributed.all_gather_object(how)
    else:  # it comes late, and has asked for what only comes then
        store.pushpull("a", ones, out=out)
        time.sleep(SECONDS)
        store.barrier()
        assert out.asnumpy().tolist() == [2] * 4
    print("done")


main(sys.argv[1])
