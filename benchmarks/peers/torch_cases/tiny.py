"""What an operation costs that has nothing to do."""

import torch

one = torch.ones(1)
x, y, z = (torch.ones(2, 2) for _ in range(3))
w = torch.ones(2, 2, requires_grad=True)


def add_in_place():
    global z
    z += 1


def loop():
    for _ in range(1000):
        _ = x + 1


def backward():
    w.grad = None
    (w * w + 1).sum().backward()


CASES = {
    "x + 1, 1 element": lambda: lambda: one + 1,
    "x + 1, (2, 2)": lambda: lambda: x + 1,
    "x * y, (2, 2)": lambda: lambda: x * y,
    "exp, (2, 2)": lambda: lambda: torch.exp(x),
    "x += 1, (2, 2)": lambda: add_in_place,
    "x[0], (2, 2)": lambda: lambda: x[0],
    "x[0:1], (2, 2)": lambda: lambda: x[0:1],
    "1000 x (y = x + 1), waiting each time": lambda: loop,
    "1000 x (y = x + 1), waiting once": lambda: loop,
    "record one operation": lambda: lambda: w * 2,
    "record two operations, backward": lambda: backward,
}
