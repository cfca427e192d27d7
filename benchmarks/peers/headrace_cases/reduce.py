"""Along an axis: reductions, running sums, order, normalisation, rows taken by number."""

from headrace import np, npx

from .arrays import on

SQUARE, SMALL, ROWS, LONG = (4096, 4096), (1000, 1000), (4096, 1024), (1 << 24,)


def take():
    table, rows = np.random.uniform(size=(30000, 256)), np.random.randint(0, 30000, size=(1 << 15,))
    return lambda: np.take(table, rows, axis=0).wait_to_read()


def layer_norm():
    x, gamma, beta = np.random.uniform(size=ROWS), np.ones((1024,)), np.zeros((1024,))
    return lambda: npx.layer_norm(x, gamma, beta).wait_to_read()


CASES = {
    f"{name} {'all' if axis is None else f'axis {axis}'} (4096, 4096)": on(
        lambda x, function=function, axis=axis: function(x, axis=axis), SQUARE
    )
    for name, function in (("sum", np.sum), ("mean", np.mean), ("max", np.max))
    for axis in (None, 0, 1)
} | {
    "sum axis 0 of a transpose (4096, 4096)": on(lambda x: np.sum(x.T, axis=0), SQUARE),
    "sum axis 1 (4M, 3)": on(lambda x: np.sum(x, axis=1), (1 << 22, 3)),
    "var axis 1 (4096, 4096)": on(lambda x: np.var(x, axis=1), SQUARE),
    "argmax axis 0 (4096, 4096)": on(lambda x: np.argmax(x, axis=0), SQUARE),
    "argmax axis 1 (4096, 4096)": on(lambda x: np.argmax(x, axis=1), SQUARE),
    "cumsum, 16M": on(np.cumsum, LONG),
    "cumsum axis 0 (4096, 4096)": on(lambda x: np.cumsum(x, axis=0), SQUARE),
    "cumsum axis 1 (4096, 4096)": on(lambda x: np.cumsum(x, axis=1), SQUARE),
    "sort, 1M": on(np.sort, (1_000_000,)),
    "sort axis 0 (1000, 1000)": on(lambda x: np.sort(x, axis=0), SMALL),
    "sort axis 1 (1000, 1000)": on(lambda x: np.sort(x, axis=1), SMALL),
    "argsort, 1M": on(np.argsort, (1_000_000,)),
    "argsort axis 1 (1000, 1000)": on(lambda x: np.argsort(x, axis=1), SMALL),
    "topk 10 of (1000, 1000)": on(lambda x: npx.topk(x, k=10, ret_typ="both")[0], SMALL),
    "topk 100 of 16M": on(lambda x: npx.topk(x, k=100, ret_typ="both")[0], LONG),
    "softmax axis 0 (4096, 1024)": on(lambda x: npx.softmax(x, axis=0), ROWS),
    "softmax axis 1 (4096, 1024)": on(lambda x: npx.softmax(x, axis=1), ROWS),
    "log_softmax axis 1 (4096, 1024)": on(lambda x: npx.log_softmax(x, axis=1), ROWS),
    "layer_norm (4096, 1024)": layer_norm,
    "take 32768 rows of (30000, 256)": take,
}
