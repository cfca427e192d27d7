"""Arrays of the middle, between what costs nothing and what fills the memory; a second thread may pay."""

import torch
from torch.nn import functional

from .arrays import on

COUNTS = {"1e4": 10_000, "1e5": 100_000, "1M": 1_000_000}


def take(count, extent, width):
    table, numbers = torch.rand(extent, width), torch.randint(0, extent, (count,))
    return lambda: functional.embedding(numbers, table)


def layer_norm(shape):
    x, gamma, beta = torch.rand(shape), torch.ones(shape[-1]), torch.zeros(shape[-1])
    return lambda: functional.layer_norm(x, shape[-1:], gamma, beta)


CASES = {
    f"{name}, {size}": on(function, *[(count,)] * arrays)
    for name, function, arrays in (
        ("x + y", torch.add, 2),
        ("exp", torch.exp, 1),
        ("tanh", torch.tanh, 1),
        ("log", torch.log, 1),
        ("relu", torch.relu, 1),
        ("sum", torch.sum, 1),
    )
    for size, count in COUNTS.items()
} | {
    "softmax (64, 4, 64, 64)": on(lambda x: functional.softmax(x, dim=-1), (64, 4, 64, 64)),
    "layer_norm (1024, 256)": lambda: layer_norm((1024, 256)),
    "embedding 1120 of (10000, 256)": lambda: take(1120, 10_000, 256),
    "take 65536 rows of (30000, 64)": lambda: take(65_536, 30_000, 64),
    "concat 8 x (1024, 512)": on(lambda *arrays: torch.cat(arrays), *[(1024, 512)] * 8),
}
