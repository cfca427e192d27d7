"""Products of matrices, and the timed parts of the seed programs 03 and 10."""

import torch

from .arrays import on


def ten_products():
    for _ in range(10):
        a = torch.randn(size=(1000, 1000))
        torch.mm(a, a)


CASES = (
    {f"matmul float32 {n}": on(lambda x: x @ x, (n, n)) for n in (64, 256, 1024, 2048, 3072)}
    | {f"matmul bfloat16 {n}": on(lambda x: x @ x, (n, n), dtype=torch.bfloat16) for n in (256, 1024, 2048)}
    | {
        "batch_dot 64 x 128": on(lambda x: torch.bmm(x, x), (64, 128, 128)),
        "FullyConnected 256 x 784 x 256": on(torch.nn.functional.linear, (256, 784), (256, 784), (256,)),
        "10 x (normal, product) (1000, 1000), not waiting": lambda: ten_products,
        "10 x (normal, product) (1000, 1000), waiting once": lambda: ten_products,
        "10 x (normal, product) (1000, 1000), MXNet's numbers": lambda: ten_products,
    }
)
