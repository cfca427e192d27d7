"""Along an axis: reductions, running sums, order, rows taken by number."""

import numpy as np

from .arrays import generator, on

SQUARE, SMALL, LONG = (4096, 4096), (1000, 1000), (1 << 24,)


def take():
    table = generator.random((30000, 256), dtype=np.float32)
    rows = generator.integers(0, 30000, 1 << 15)
    return lambda: np.take(table, rows, axis=0)


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
    "take 32768 rows of (30000, 256)": take,
}
