"""Sums of GPUs of which one never comes to the second (HEADRACE_STAND_IN_NCCL_STUCK); tells what it sees."""

import headrace as mx
from headrace import distributed, gpu, nd
from headrace.base import MXNetError

rank = distributed.rank()
value = nd.full((1000,), rank + 1, ctx=gpu(rank))
print("first", distributed.all_reduce(value)[0].asscalar(), flush=True)
total = distributed.all_reduce(value)
try:
    total.wait_to_read()
    print("it is a sum", flush=True)
except MXNetError as error:
    print(f"seen by {rank}: {error}", flush=True)
print("kept", (value + 1)[0].asscalar(), flush=True)
mx.waitall()
