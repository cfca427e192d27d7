"""What an operation costs that has nothing to do."""

from headrace import autograd, np, npx

one = np.ones((1,))
x, y, z, w = (np.ones((2, 2)) for _ in range(4))
w.attach_grad()


def add_in_place():
    global z
    z += 1


def wait_each():
    for _ in range(1000):
        a = x + 1
        a.wait_to_read()


def wait_once():
    for _ in range(1000):
        a = x + 1
    a.wait_to_read()


def record():
    with autograd.record():
        return w * 2


def backward():
    with autograd.record():
        a = w * w + 1
    a.backward()
    npx.waitall()


CASES = {
    "x + 1, 1 element": lambda: lambda: one + 1,
    "x + 1, (2, 2)": lambda: lambda: x + 1,
    "x * y, (2, 2)": lambda: lambda: x * y,
    "exp, (2, 2)": lambda: lambda: np.exp(x),
    "x += 1, (2, 2)": lambda: add_in_place,
    "x[0], (2, 2)": lambda: lambda: x[0],
    "x[0:1], (2, 2)": lambda: lambda: x[0:1],
    "1000 x (y = x + 1), waiting each time": lambda: wait_each,
    "1000 x (y = x + 1), waiting once": lambda: wait_once,
    "record one operation": lambda: record,
    "record two operations, backward": lambda: backward,
}
