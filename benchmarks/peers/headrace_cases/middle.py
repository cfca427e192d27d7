"""Arrays of the middle, between what costs nothing and what fills the memory; a second thread may pay."""

import numpy

from headrace import np, npx

from .arrays import on

COUNTS = {"1e4": 10_000, "1e5": 100_000, "1M": 1_000_000}


def rows(count, extent, width):
    table = np.random.uniform(size=(extent, width))
    numbers = np.array(numpy.random.default_rng(0).integers(0, extent, count), dtype="int32")
    return table, numbers


def take(count, extent, width):
    table, numbers = rows(count, extent, width)
    return lambda: np.take(table, numbers, axis=0).wait_to_read()


def embedding(count, extent, width):
    table, numbers = rows(count, extent, width)
    return lambda: npx.embedding(numbers, table, input_dim=extent, output_dim=width).wait_to_read()


def layer_norm(shape):
    x, gamma, beta = np.random.uniform(size=shape), np.ones(shape[-1:]), np.zeros(shape[-1:])
    return lambda: npx.layer_norm(x, gamma, beta).wait_to_read()


CASES = {
    f"{name}, {size}": on(function, *[(count,)] * arrays)
    for name, function, arrays in (
        ("x + y", lambda x, y: x + y, 2),
        ("exp", np.exp, 1),
        ("tanh", np.tanh, 1),
        ("log", np.log, 1),
        ("relu", npx.relu, 1),
        ("sum", np.sum, 1),
    )
    for size, count in COUNTS.items()
} | {
    "softmax (64, 4, 64, 64)": on(npx.softmax, (64, 4, 64, 64)),
    "layer_norm (1024, 256)": lambda: layer_norm((1024, 256)),
    "embedding 1120 of (10000, 256)": lambda: embedding(1120, 10_000, 256),
    "take 65536 rows of (30000, 64)": lambda: take(65_536, 30_000, 64),
    "concat 8 x (1024, 512)": on(lambda *arrays: np.concatenate(arrays), *[(1024, 512)] * 8),
}
