"""What is timed, in PyTorch."""

import os
import tempfile

import torch

BIG = 1 << 24
torch.set_num_threads(2)


def unary(function, shape=(BIG,), dtype=torch.float32):
    def prepare():
        x = torch.rand(shape).to(dtype)
        return lambda: function(x)

    return prepare


def eager():
    x, y, z = torch.ones(1), torch.ones(2, 2), torch.ones(2, 2)
    holder = [torch.ones(2, 2)]
    w = torch.ones(2, 2, requires_grad=True)

    def in_place():
        holder[0] += 1

    def loop():
        v = torch.ones(1, 2)

        def run():
            for _ in range(1000):
                _ = v + 1

        return run

    def backward():
        w.grad = None
        (w * w + 1).sum().backward()

    return {
        "x + 1, 1 element": lambda: lambda: x + 1,
        "x + 1, (2, 2)": lambda: lambda: y + 1,
        "x * y, (2, 2)": lambda: lambda: y * z,
        "x += 1, (2, 2)": lambda: in_place,
        "x[0:1], (2, 2)": lambda: lambda: y[0:1],
        "1000 x (y = x + 1), waiting each time": loop,
        "1000 x (y = x + 1), waiting once": loop,
        "record one operation": lambda: lambda: w * 2,
        "record two operations, backward": lambda: backward,
    }


def large():
    matrix = (4096, 4096)

    def binary():
        a, b = torch.ones(BIG), torch.ones(BIG)
        return lambda: a + b

    def concat():
        a, b = torch.ones(2048, 4096), torch.ones(2048, 4096)
        return lambda: torch.cat([a, b])

    table = {
        "x + 1, 16M": unary(lambda v: v + 1),
        "x + y, 16M": binary,
        "exp, 16M": unary(torch.exp),
        "transposed copy (4096, 4096)": unary(lambda v: v.T.contiguous(), matrix),
        "concat 2 x (2048, 4096)": concat,
        "uniform, 16M": lambda: lambda: torch.rand(BIG),
        "normal, 16M": lambda: lambda: torch.randn(BIG),
        "sort, 1M": unary(torch.sort, (1_000_000,)),
        "argsort, 1M": unary(torch.argsort, (1_000_000,)),
        "topk 10 of (1000, 1000)": unary(lambda v: torch.topk(v, 10), (1000, 1000)),
        "cumsum axis 0 (4096, 4096)": unary(lambda v: torch.cumsum(v, 0), matrix),
        "cumsum axis 1 (4096, 4096)": unary(lambda v: torch.cumsum(v, 1), matrix),
    }
    for name in ("sum", "mean", "amax"):
        function = getattr(torch, name)
        shown = name.replace("amax", "max")
        table[f"{shown} all (4096, 4096)"] = unary(function, matrix)
        for axis in (0, 1):
            table[f"{shown} axis {axis} (4096, 4096)"] = unary(
                lambda v, f=function, a=axis: f(v, dim=a), matrix
            )
    return table


def products():
    table = {f"matmul float32 {n}": unary(lambda v: v @ v, (n, n)) for n in (64, 256, 1024, 2048)}
    for n in (256, 1024, 2048):
        table[f"matmul bfloat16 {n}"] = unary(lambda v: v @ v, (n, n), torch.bfloat16)
    table["batch_dot 64 x 128"] = unary(lambda v: torch.bmm(v, v), (64, 128, 128))

    def dense():
        x, w, b = torch.ones(256, 784), torch.ones(256, 784), torch.ones(256)
        return lambda: torch.nn.functional.linear(x, w, b)

    return table | {"FullyConnected 256 x 784 x 256": dense}


def training():
    def stepper(net, loss_of, optimizer, x, y):
        def step():
            optimizer.zero_grad()
            loss_of(net(x), y).backward()
            optimizer.step()

        return step

    def linear():
        net = torch.nn.Linear(2, 1)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.03)
        return stepper(net, torch.nn.MSELoss(), optimizer, torch.randn(10, 2), torch.randn(10, 1))

    def mlp(make):
        def prepare():
            net = torch.nn.Sequential(torch.nn.Linear(784, 256), torch.nn.ReLU(), torch.nn.Linear(256, 10))
            x, y = torch.randn(256, 784), torch.zeros(256, dtype=torch.long)
            return stepper(net, torch.nn.CrossEntropyLoss(), make(net.parameters(), lr=0.01), x, y)

        return prepare

    return {
        "linear regression step, batch 10": linear,
        "MLP 784-256-10 step, batch 256, SGD": mlp(torch.optim.SGD),
        "MLP 784-256-10 step, batch 256, Adam": mlp(torch.optim.Adam),
    }


def files():
    path = os.path.join(tempfile.gettempdir(), f"torch-{os.getpid()}.params")

    def save():
        arrays = {f"w{i}": torch.ones(1024, 1024) for i in range(50)}
        return lambda: torch.save(arrays, path)

    def load():
        save()()
        return lambda: torch.load(path)

    return {"save 200 MB": save, "load 200 MB": load}


def cases():
    return eager() | large() | products() | training() | files()
