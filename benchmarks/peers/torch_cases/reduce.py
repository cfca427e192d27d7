"""Along an axis: reductions, running sums, order, normalisation, rows taken by number."""

import torch
from torch.nn import functional

from .arrays import on

SQUARE, SMALL, ROWS, LONG = (4096, 4096), (1000, 1000), (4096, 1024), (1 << 24,)


def take():
    table, rows = torch.rand(30000, 256), torch.randint(0, 30000, (1 << 15,))
    return lambda: functional.embedding(rows, table)


def layer_norm():
    x, gamma, beta = torch.rand(ROWS), torch.ones(1024), torch.zeros(1024)
    return lambda: functional.layer_norm(x, (1024,), gamma, beta)


CASES = {
    f"{name} {'all' if axis is None else f'axis {axis}'} (4096, 4096)": on(
        lambda x, function=function, axis=axis: function(x, dim=() if axis is None else axis), SQUARE
    )
    for name, function in (("sum", torch.sum), ("mean", torch.mean), ("max", torch.amax))
    for axis in (None, 0, 1)
} | {
    "sum axis 0 of a transpose (4096, 4096)": on(lambda x: torch.sum(x.T, dim=0), SQUARE),
    "sum axis 1 (4M, 3)": on(lambda x: torch.sum(x, dim=1), (1 << 22, 3)),
    "var axis 1 (4096, 4096)": on(lambda x: torch.var(x, dim=1), SQUARE),
    "argmax axis 0 (4096, 4096)": on(lambda x: torch.argmax(x, dim=0), SQUARE),
    "argmax axis 1 (4096, 4096)": on(lambda x: torch.argmax(x, dim=1), SQUARE),
    "cumsum, 16M": on(lambda x: torch.cumsum(x, dim=0), LONG),
    "cumsum axis 0 (4096, 4096)": on(lambda x: torch.cumsum(x, dim=0), SQUARE),
    "cumsum axis 1 (4096, 4096)": on(lambda x: torch.cumsum(x, dim=1), SQUARE),
    "sort, 1M": on(torch.sort, (1_000_000,)),
    "sort axis 0 (1000, 1000)": on(lambda x: torch.sort(x, dim=0), SMALL),
    "sort axis 1 (1000, 1000)": on(lambda x: torch.sort(x, dim=1), SMALL),
    "argsort, 1M": on(torch.argsort, (1_000_000,)),
    "argsort axis 1 (1000, 1000)": on(lambda x: torch.argsort(x, dim=1), SMALL),
    "topk 10 of (1000, 1000)": on(lambda x: torch.topk(x, 10), SMALL),
    "topk 100 of 16M": on(lambda x: torch.topk(x, 100), LONG),
    "softmax axis 0 (4096, 1024)": on(lambda x: functional.softmax(x, dim=0), ROWS),
    "softmax axis 1 (4096, 1024)": on(lambda x: functional.softmax(x, dim=1), ROWS),
    "log_softmax axis 1 (4096, 1024)": on(lambda x: functional.log_softmax(x, dim=1), ROWS),
    "layer_norm (4096, 1024)": layer_norm,
    "take 32768 rows of (30000, 256)": take,
}
