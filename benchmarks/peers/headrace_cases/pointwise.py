"""Element by element, over more than the caches hold: contiguous, strided, broadcast, chained, random."""

from headrace import autograd, np, npx, random

from .arrays import on

LONG, SQUARE, HALF = (1 << 24,), (4096, 4096), (2048, 4096)


def chain_backward():
    x, y = np.random.uniform(size=(1 << 20,)), np.random.uniform(size=(1 << 20,))
    x.attach_grad()

    def run():
        with autograd.record():
            z = np.tanh(x * y + x)
        z.backward()
        x.grad.wait_to_read()

    return run


def as_mxnet(work):
    """`work` with the numbers that MXNet draws."""

    def run(*arrays):
        choose = getattr(random, "set_generator", None)  # MXNet has no choice
        if not choose:
            return work(*arrays)
        choose("mt19937")
        try:
            return work(*arrays)
        finally:
            choose("philox")

    return run


def dropped(x):
    with autograd.train_mode():
        return npx.dropout(x, p=0.5)


CASES = {
    "copy, 16M": on(lambda x: x.copy(), LONG),
    "x + 1, 16M": on(lambda x: x + 1, LONG),
    "x + y, 16M": on(lambda x, y: x + y, LONG, LONG),
    "x > 0.5, 16M": on(lambda x: x > 0.5, LONG),
    "to float64, 16M": on(lambda x: x.astype("float64"), LONG),
    "exp, 16M": on(np.exp, LONG),
    "tanh, 16M": on(np.tanh, LONG),
    "sigmoid, 16M": on(npx.sigmoid, LONG),
    "0.5 * x * (1 + tanh(0.8 * x)), 16M": on(lambda x: 0.5 * x * (1 + np.tanh(0.8 * x)), LONG),
    "record tanh(x * y + x), backward, 1M": chain_backward,
    "transposed copy (4096, 4096)": on(lambda x: x.T.copy(), SQUARE),
    "x + y.T (4096, 4096)": on(lambda x, y: x + y.T, SQUARE, SQUARE),
    "x[:, ::2] + 1 (4096, 4096)": on(lambda x: x[:, ::2] + 1, SQUARE),
    "x + row (4096, 4096)": on(lambda x, y: x + y, SQUARE, (4096,)),
    "x + column (4096, 4096)": on(lambda x, y: x + y, SQUARE, (4096, 1)),
    "row + column (4096, 4096)": on(lambda x, y: x + y, (4096,), (4096, 1)),
    "concat 2 x (2048, 4096)": on(lambda x, y: np.concatenate([x, y]), HALF, HALF),
    "uniform, 16M": on(lambda: np.random.uniform(size=LONG)),
    "normal, 16M": on(lambda: np.random.normal(size=LONG)),
    "uniform, 16M, MXNet's numbers": on(as_mxnet(lambda: np.random.uniform(size=LONG))),
    "normal, 16M, MXNet's numbers": on(as_mxnet(lambda: np.random.normal(size=LONG))),
    "dropout, 1M": on(dropped, (1 << 20,)),
    "dropout, 1M, MXNet's numbers": on(as_mxnet(dropped), (1 << 20,)),
}
