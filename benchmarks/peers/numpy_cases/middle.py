"""Arrays of the middle, between what costs nothing and what fills the memory; a second thread may pay."""

import numpy as np

from .arrays import generator, on

COUNTS = {"1e4": 10_000, "1e5": 100_000, "1M": 1_000_000}


def take(count, extent, width):
    table, numbers = generator.random((extent, width), dtype=np.float32), generator.integers(0, extent, count)
    return lambda: np.take(table, numbers, axis=0)


CASES = {
    f"{name}, {size}": on(function, *[(count,)] * arrays)
    for name, function, arrays in (
        ("x + y", np.add, 2),
        ("exp", np.exp, 1),
        ("tanh", np.tanh, 1),
        ("log", np.log, 1),
        ("relu", lambda x: np.maximum(x, 0), 1),
        ("sum", np.sum, 1),
    )
    for size, count in COUNTS.items()
} | {
    "embedding 1120 of (10000, 256)": lambda: take(1120, 10_000, 256),
    "take 65536 rows of (30000, 64)": lambda: take(65_536, 30_000, 64),
    "concat 8 x (1024, 512)": on(lambda *arrays: np.concatenate(arrays), *[(1024, 512)] * 8),
}
