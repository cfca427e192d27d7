"""Decompositions and systems of equations."""

import numpy as np

from .arrays import generator, on

SIZE = 512


def of_matrix(function, definite=False):
    def prepare():
        x = generator.normal(size=(SIZE, SIZE)).astype(np.float32)
        if definite:
            x = x @ x.T + np.eye(SIZE, dtype=np.float32)
        return lambda: function(x)

    return prepare


CASES = {
    "potrf 512": of_matrix(np.linalg.cholesky, definite=True),
    "syevd 512": of_matrix(np.linalg.eigh, definite=True),
    "svd 512": of_matrix(np.linalg.svd),
    "solve 512": on(np.linalg.solve, (SIZE, SIZE), (SIZE, SIZE)),
}
