"""A key-value store: the gradients of two devices become their sum on both."""

import headrace
from headrace import np, npx

KEYS, ELEMENTS = 100, 1 << 18
CONTEXTS = [headrace.cpu(0), headrace.cpu(1)]


def arrays():
    return [[np.ones((ELEMENTS,), ctx=ctx) for ctx in CONTEXTS] for _ in range(KEYS)]


def pushpull(kind, in_place):
    store = headrace.kv.create(kind)
    keys, gradients = list(range(KEYS)), arrays()
    outs = gradients if in_place else arrays()
    store.init(keys, [row[0] for row in gradients])

    def run():
        store.pushpull(keys, gradients, out=outs)
        npx.waitall()

    return run


CASES = {
    "kvstore local, pushpull 100 x 1 MB of 2 contexts, in place": lambda: pushpull("local", True),
    "kvstore device, pushpull 100 x 1 MB of 2 contexts, in place": lambda: pushpull("device", True),
    "kvstore local, pushpull 100 x 1 MB of 2 contexts": lambda: pushpull("local", False),
    "kvstore device, pushpull 100 x 1 MB of 2 contexts": lambda: pushpull("device", False),
}
