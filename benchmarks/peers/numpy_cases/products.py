"""Products of matrices, and the timed parts of the seed programs 03 and 10."""

import numpy as np

from .arrays import on


def ten_products():
    for _ in range(10):
        a = np.random.normal(size=(1000, 1000))
        np.dot(a, a)


CASES = {f"matmul float32 {n}": on(lambda x: np.dot(x, x), (n, n)) for n in (64, 256, 1024, 2048, 3072)} | {
    "10 x (normal, product) (1000, 1000), not waiting": lambda: ten_products,
    "10 x (normal, product) (1000, 1000), waiting once": lambda: ten_products,
    "10 x (normal, product) (1000, 1000), MXNet's numbers": lambda: ten_products,
}
