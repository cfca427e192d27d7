"""What an operation costs that has nothing to do."""

import numpy as np

one = np.ones((1,), "float32")
x, y, z = (np.ones((2, 2), "float32") for _ in range(3))


def add_in_place():
    global z
    z += 1


def loop():
    for _ in range(1000):
        _ = x + 1


CASES = {
    "x + 1, 1 element": lambda: lambda: one + 1,
    "x + 1, (2, 2)": lambda: lambda: x + 1,
    "x * y, (2, 2)": lambda: lambda: x * y,
    "exp, (2, 2)": lambda: lambda: np.exp(x),
    "x += 1, (2, 2)": lambda: add_in_place,
    "x[0], (2, 2)": lambda: lambda: x[0],
    "x[0:1], (2, 2)": lambda: lambda: x[0:1],
    "1000 x (y = x + 1), waiting each time": lambda: loop,
    "1000 x (y = x + 1), waiting once": lambda: loop,
}
