"""Element by element, over more than the caches hold: contiguous, strided, broadcast, chained, random."""

import torch

from .arrays import on

LONG, SQUARE, HALF = (1 << 24,), (4096, 4096), (2048, 4096)


def chain_backward():
    x, y = torch.rand(1 << 20, requires_grad=True), torch.rand(1 << 20)

    def run():
        x.grad = None
        torch.tanh(x * y + x).sum().backward()

    return run


CASES = {
    "copy, 16M": on(torch.clone, LONG),
    "x + 1, 16M": on(lambda x: x + 1, LONG),
    "x + y, 16M": on(lambda x, y: x + y, LONG, LONG),
    "x > 0.5, 16M": on(lambda x: x > 0.5, LONG),
    "to float64, 16M": on(lambda x: x.double(), LONG),
    "exp, 16M": on(torch.exp, LONG),
    "tanh, 16M": on(torch.tanh, LONG),
    "sigmoid, 16M": on(torch.sigmoid, LONG),
    "0.5 * x * (1 + tanh(0.8 * x)), 16M": on(lambda x: 0.5 * x * (1 + torch.tanh(0.8 * x)), LONG),
    "record tanh(x * y + x), backward, 1M": chain_backward,
    "transposed copy (4096, 4096)": on(lambda x: x.T.contiguous(), SQUARE),
    "x + y.T (4096, 4096)": on(lambda x, y: x + y.T, SQUARE, SQUARE),
    "x[:, ::2] + 1 (4096, 4096)": on(lambda x: x[:, ::2] + 1, SQUARE),
    "x + row (4096, 4096)": on(lambda x, y: x + y, SQUARE, (4096,)),
    "x + column (4096, 4096)": on(lambda x, y: x + y, SQUARE, (4096, 1)),
    "row + column (4096, 4096)": on(lambda x, y: x + y, (4096,), (4096, 1)),
    "concat 2 x (2048, 4096)": on(lambda x, y: torch.cat([x, y]), HALF, HALF),
    "uniform, 16M": on(lambda: torch.rand(LONG)),
    "normal, 16M": on(lambda: torch.randn(LONG)),
    "uniform, 16M, MXNet's numbers": on(lambda: torch.rand(LONG)),
    "normal, 16M, MXNet's numbers": on(lambda: torch.randn(LONG)),
    "dropout, 1M": on(lambda x: torch.dropout(x, 0.5, train=True), (1 << 20,)),
    "dropout, 1M, MXNet's numbers": on(lambda x: torch.dropout(x, 0.5, train=True), (1 << 20,)),
}
