"""What is timed, in NumPy."""

import numpy as np

BIG = 1 << 24


def unary(function, shape=(BIG,)):
    def prepare():
        x = np.random.default_rng(0).random(shape, dtype=np.float32)
        return lambda: function(x)

    return prepare


def cases():
    x, y = np.ones((1,), "f"), np.ones((2, 2), "f")
    z, holder = np.ones((2, 2), "f"), [np.ones((2, 2), "f")]
    generator = np.random.default_rng(0)
    matrix = (4096, 4096)

    def in_place():
        holder[0] += 1

    def loop():
        v = np.ones((1, 2), "f")

        def run():
            for _ in range(1000):
                _ = v + 1

        return run

    def binary():
        a, b = np.ones(BIG, "f"), np.ones(BIG, "f")
        return lambda: a + b

    def concat():
        a, b = np.ones((2048, 4096), "f"), np.ones((2048, 4096), "f")
        return lambda: np.concatenate([a, b])

    table = {
        "x + 1, 1 element": lambda: lambda: x + 1,
        "x + 1, (2, 2)": lambda: lambda: y + 1,
        "x * y, (2, 2)": lambda: lambda: y * z,
        "x += 1, (2, 2)": lambda: in_place,
        "x[0:1], (2, 2)": lambda: lambda: y[0:1],
        "1000 x (y = x + 1), waiting each time": loop,
        "1000 x (y = x + 1), waiting once": loop,
        "x + 1, 16M": unary(lambda v: v + 1),
        "x + y, 16M": binary,
        "exp, 16M": unary(np.exp),
        "transposed copy (4096, 4096)": unary(lambda v: v.T.copy(), matrix),
        "concat 2 x (2048, 4096)": concat,
        "uniform, 16M": lambda: lambda: generator.random(BIG, dtype=np.float32),
        "normal, 16M": lambda: lambda: generator.standard_normal(BIG, dtype=np.float32),
        "sort, 1M": unary(np.sort, (1_000_000,)),
        "argsort, 1M": unary(np.argsort, (1_000_000,)),
        "cumsum axis 0 (4096, 4096)": unary(lambda v: np.cumsum(v, axis=0), matrix),
        "cumsum axis 1 (4096, 4096)": unary(lambda v: np.cumsum(v, axis=1), matrix),
    }
    for name, function in (("sum", np.sum), ("mean", np.mean), ("max", np.max)):
        for axis in (None, 0, 1):
            text = "all" if axis is None else f"axis {axis}"
            table[f"{name} {text} (4096, 4096)"] = unary(lambda v, f=function, a=axis: f(v, axis=a), matrix)
    for n in (64, 256, 1024, 2048):
        table[f"matmul float32 {n}"] = unary(lambda v: v @ v, (n, n))
    return table
