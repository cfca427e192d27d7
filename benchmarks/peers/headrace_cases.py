"""What is timed, in Headrace.

Each case prepares its arrays and gives a function that does the work and waits for it.
"""

import os
import tempfile

import headrace
from headrace import autograd, gluon, nd, np, npx

BIG = 1 << 24
SIZES = (64, 256, 1024, 2048)


def done(array):
    array.wait_to_read()


def tiny():
    x, y, z = np.ones((1,)), np.ones((2, 2)), np.ones((2, 2))
    holder = [np.zeros((2, 2))]

    def add_in_place():
        holder[0] += 1

    return {
        "x + 1, 1 element": lambda: lambda: x + 1,
        "x + 1, (2, 2)": lambda: lambda: y + 1,
        "x * y, (2, 2)": lambda: lambda: y * z,
        "x += 1, (2, 2)": lambda: add_in_place,
        "x[0:1], (2, 2)": lambda: lambda: y[0:1],
    }


def loops():
    x = np.ones((1, 2))

    def wait_each():
        for _ in range(1000):
            y = x + 1
            y.wait_to_read()

    def wait_once():
        for _ in range(1000):
            y = x + 1
        y.wait_to_read()

    w = np.ones((2, 2))
    w.attach_grad()

    def record():
        with autograd.record():
            return w * 2

    def backward():
        with autograd.record():
            y = w * w + 1
        y.backward()
        npx.waitall()

    return {
        "1000 x (y = x + 1), waiting each time": lambda: wait_each,
        "1000 x (y = x + 1), waiting once": lambda: wait_once,
        "record one operation": lambda: record,
        "record two operations, backward": lambda: backward,
    }


def large():
    def unary(function):
        def prepare():
            x = np.random.uniform(size=(BIG,))
            return lambda: done(function(x))

        return prepare

    def binary():
        x, y = np.random.uniform(size=(BIG,)), np.random.uniform(size=(BIG,))
        return lambda: done(x + y)

    def matrix(function):
        def prepare():
            x = np.random.uniform(size=(4096, 4096))
            return lambda: done(function(x))

        return prepare

    def concat():
        x, y = np.ones((2048, 4096)), np.ones((2048, 4096))
        return lambda: done(np.concatenate([x, y]))

    cases = {
        "x + 1, 16M": unary(lambda x: x + 1),
        "x + y, 16M": binary,
        "exp, 16M": unary(np.exp),
        "transposed copy (4096, 4096)": matrix(lambda x: x.T.copy()),
        "concat 2 x (2048, 4096)": concat,
        "uniform, 16M": lambda: lambda: done(np.random.uniform(size=(BIG,))),
        "normal, 16M": lambda: lambda: done(np.random.normal(size=(BIG,))),
        "sort, 1M": lambda: one_million(np.sort),
        "argsort, 1M": lambda: one_million(np.argsort),
        "topk 10 of (1000, 1000)": lambda: topk(),
        "cumsum axis 0 (4096, 4096)": matrix(lambda x: np.cumsum(x, axis=0)),
        "cumsum axis 1 (4096, 4096)": matrix(lambda x: np.cumsum(x, axis=1)),
    }
    for name, function in (("sum", np.sum), ("mean", np.mean), ("max", np.max)):
        for axis in (None, 0, 1):
            text = "all" if axis is None else f"axis {axis}"
            cases[f"{name} {text} (4096, 4096)"] = matrix(lambda x, f=function, a=axis: f(x, axis=a))
    return cases


def one_million(function):
    x = np.random.uniform(size=(1_000_000,))
    return lambda: done(function(x))


def topk():
    x = nd.random.uniform(shape=(1000, 1000))
    return lambda: done(nd.topk(x, k=10, ret_typ="value"))


def products():
    def matmul(n, dtype):
        def prepare():
            x = np.random.uniform(size=(n, n)).astype(dtype)
            return lambda: done(np.dot(x, x))

        return prepare

    def batched():
        x = nd.random.uniform(shape=(64, 128, 128))
        return lambda: done(nd.batch_dot(x, x))

    def dense():
        x, w, b = np.ones((256, 784)), np.ones((256, 784)), np.ones((256,))
        return lambda: done(npx.fully_connected(x, w, b, num_hidden=256))

    cases = {f"matmul float32 {n}": matmul(n, "float32") for n in SIZES}
    cases |= {f"matmul bfloat16 {n}": matmul(n, "bfloat16") for n in SIZES[1:]}
    return cases | {"batch_dot 64 x 128": batched, "FullyConnected 256 x 784 x 256": dense}


def training():
    def linear():
        net, loss_of = gluon.nn.Dense(1), gluon.loss.L2Loss()
        net.initialize()
        trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.03})
        x, y = nd.random.normal(shape=(10, 2)), nd.random.normal(shape=(10, 1))
        return lambda: step(net, loss_of, trainer, x, y)

    def mlp(optimizer):
        def prepare():
            net, loss_of = gluon.nn.Sequential(), gluon.loss.SoftmaxCrossEntropyLoss()
            net.add(gluon.nn.Dense(256, activation="relu"), gluon.nn.Dense(10))
            net.initialize()
            trainer = gluon.Trainer(net.collect_params(), optimizer, {"learning_rate": 0.01})
            x, y = nd.random.normal(shape=(256, 784)), nd.zeros((256,))
            return lambda: step(net, loss_of, trainer, x, y)

        return prepare

    def step(net, loss_of, trainer, x, y):
        with autograd.record():
            loss = loss_of(net(x), y)
        loss.backward()
        trainer.step(x.shape[0])
        nd.waitall()

    return {
        "linear regression step, batch 10": linear,
        "MLP 784-256-10 step, batch 256, SGD": mlp("sgd"),
        "MLP 784-256-10 step, batch 256, Adam": mlp("adam"),
    }


def files():
    path = os.path.join(tempfile.gettempdir(), f"headrace-{os.getpid()}.params")

    def save():
        arrays = {f"w{i}": nd.ones((1024, 1024)) for i in range(50)}
        return lambda: nd.save(path, arrays)

    def load():
        save()()

        def read():
            for array in nd.load(path).values():
                array.wait_to_read()

        return read

    return {"save 200 MB": save, "load 200 MB": load}


def cases():
    headrace.waitall()
    return tiny() | loops() | large() | products() | training() | files()
