"""Decompositions, systems of equations, and products with sparse matrices."""

import torch

from .arrays import on

SIZE = 512


def of_matrix(function, definite=False):
    def prepare():
        x = torch.randn(SIZE, SIZE)
        if definite:
            x = x @ x.T + torch.eye(SIZE)
        return lambda: function(x)

    return prepare


def csr_dot():
    rows, columns, stored = 100_000, 10_000, 10
    starts = torch.arange(0, rows * stored + 1, stored)
    places = torch.arange(stored)[None] * (columns // stored) + torch.arange(rows)[:, None] % 100
    x = torch.sparse_csr_tensor(starts, places.flatten(), torch.rand(rows * stored), size=(rows, columns))
    y = torch.rand(columns, 64)
    return lambda: x @ y


def sparse_embedding():
    net = torch.nn.Embedding(1_000_000, 64, sparse=True)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    words = torch.randint(0, 1_000_000, (512,))

    def run():
        optimizer.zero_grad()
        net(words).sum().backward()
        optimizer.step()

    return run


CASES = {
    "potrf 512": of_matrix(torch.linalg.cholesky, definite=True),
    "syevd 512": of_matrix(torch.linalg.eigh, definite=True),
    "svd 512": of_matrix(lambda x: torch.linalg.svd(x, full_matrices=False)),
    "solve 512": on(torch.linalg.solve, (SIZE, SIZE), (SIZE, SIZE)),
    "csr (100,000, 10,000) of 10 in a row, times (10,000, 64)": csr_dot,
    "sparse embedding step, 1 million x 64, batch 512": sparse_embedding,
}
