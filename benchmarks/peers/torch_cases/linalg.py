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


def csr_matrix():
    rows, columns, stored = 100_000, 10_000, 10
    starts = torch.arange(0, rows * stored + 1, stored)
    places = torch.arange(stored)[None] * (columns // stored) + torch.arange(rows)[:, None] % 100
    return torch.sparse_csr_tensor(starts, places.flatten(), torch.rand(rows * stored), size=(rows, columns))


def csr_dot(width, transposed=False):
    def prepare():
        x = csr_matrix().t() if transposed else csr_matrix()
        y = torch.rand(x.shape[1], width)
        return lambda: x @ y

    return prepare


def dot_csr():
    y = csr_matrix()
    x = torch.rand(64, y.shape[0])
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
    "csr (100,000, 10,000) of 10 in a row, times (10,000, 64)": csr_dot(64),
    "the same, times (10,000, 1)": csr_dot(1),
    "the same transposed, times (100,000, 64)": csr_dot(64, transposed=True),
    "(64, 100,000) times the same": dot_csr,
    "sparse embedding step, 1 million x 64, batch 512": sparse_embedding,
}
