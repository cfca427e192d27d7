"""Element by element, over more than the caches hold: contiguous, strided, broadcast, chained, random."""

import numpy as np

from .arrays import generator, on

LONG, SQUARE, HALF = (1 << 24,), (4096, 4096), (2048, 4096)


def chain(x):
    for _ in range(5):
        x = x * np.float32(1.01) + np.float32(0.5)
    return x


CASES = {
    **{
        f"10 pointwise operations, {count:.0e} floats, eager": on(chain, (int(count),))
        for count in (1e3, 1e5, 1.6e7)
    },
    "copy, 16M": on(np.copy, LONG),
    "x + 1, 16M": on(lambda x: x + 1, LONG),
    "x + y, 16M": on(lambda x, y: x + y, LONG, LONG),
    "x > 0.5, 16M": on(lambda x: x > 0.5, LONG),
    "to float64, 16M": on(lambda x: x.astype("float64"), LONG),
    "exp, 16M": on(np.exp, LONG),
    "tanh, 16M": on(np.tanh, LONG),
    "0.5 * x * (1 + tanh(0.8 * x)), 16M": on(lambda x: 0.5 * x * (1 + np.tanh(0.8 * x)), LONG),
    "transposed copy (4096, 4096)": on(lambda x: x.T.copy(), SQUARE),
    "x + y.T (4096, 4096)": on(lambda x, y: x + y.T, SQUARE, SQUARE),
    "x[:, ::2] + 1 (4096, 4096)": on(lambda x: x[:, ::2] + 1, SQUARE),
    "x + row (4096, 4096)": on(lambda x, y: x + y, SQUARE, (4096,)),
    "x + column (4096, 4096)": on(lambda x, y: x + y, SQUARE, (4096, 1)),
    "row + column (4096, 4096)": on(lambda x, y: x + y, (4096,), (4096, 1)),
    "concat 2 x (2048, 4096)": on(lambda x, y: np.concatenate([x, y]), HALF, HALF),
    "uniform, 16M": on(lambda: generator.random(LONG, dtype=np.float32)),
    "normal, 16M": on(lambda: generator.standard_normal(LONG, dtype=np.float32)),
    "uniform, 16M, MXNet's numbers": on(lambda: generator.random(LONG, dtype=np.float32)),
    "normal, 16M, MXNet's numbers": on(lambda: generator.standard_normal(LONG, dtype=np.float32)),
}
