"""Networks from (n, 6) to (n, 6), and what programs about their lifetimes do with them."""

import json
import re

from child import Finding

from headrace import autograd, gluon, nd

# What freed memory holds, and what no name of an operation has.
FOREIGN_NAME = re.compile(r"ZZZZ|[^\x00-\x7f]|[\x00-\x08\x0e-\x1f]")


class Loop(gluon.HybridBlock):
    """A loop whose body is a graph of its own."""

    def hybrid_forward(self, F, x):  # noqa: N803
        outputs, _ = F.contrib.foreach(lambda row, s: (row * 2 + s, s + 1), x, F.zeros((6,)))
        return F.tanh(outputs)


class Cut(gluon.HybridBlock):
    """Rows as images and back, around a convolution."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        with self.name_scope():
            self.convolution = gluon.nn.Conv2D(2, 2, in_channels=1)

    def hybrid_forward(self, F, x):  # noqa: N803
        return F.flatten(self.convolution(F.reshape(x, (-1, 1, 2, 3))))


def layers(kind):
    """A new network."""
    if kind == "loop":
        return Loop()
    net = gluon.nn.HybridSequential()
    with net.name_scope():
        if kind == "convolution":
            net.add(Cut(), gluon.nn.BatchNorm())
        elif kind == "normal":
            net.add(gluon.nn.Dense(4, activation="tanh"), gluon.nn.LayerNorm(), gluon.nn.Dropout(0.5))
        net.add(gluon.nn.Dense(6))
    net.initialize()
    net(nd.ones((2, 6)))  # gives the weights their shapes
    return net


def learn(net, x):
    """The loss and the gradients of a step; nothing of a network without parameters."""
    parameters = [one for one in net.collect_params().values() if one.grad_req != "null"]
    if not parameters:
        return []
    with autograd.record():
        loss = (net(x) ** 2).sum()
    loss.backward()
    gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.01}).step(1)
    return [loss, *(one.grad() for one in parameters)]


def step(net, state):
    """The next state of a recurrence that learns at each step."""
    with autograd.record():
        state = nd.tanh(net(state) + state)
        loss = (state * state).sum()
    if list(net.collect_params()):
        loss.backward()
    return state


def failed():
    """An array with an error that nobody has read."""
    return nd.take(nd.ones((3, 6)), nd.array([0, 9]), mode="raise")


def read_all(kept):
    """Reads what has been kept: values, or the error of `failed`, as it was told at first."""
    for one in kept:
        if isinstance(one, list):
            read_all(one)
        elif isinstance(one, nd.NDArray):
            try:
                one.asnumpy()
            except IndexError as error:
                if not str(error).startswith("take: index 9"):
                    raise Finding("foreign text", f"the error has become: {error}") from None
        else:
            repr(one)


def check_names(text):
    """Finding: a profile shows names that are no names."""
    bad = FOREIGN_NAME.search(text)
    if bad:
        raise Finding(
            "foreign memory",
            f"a name in a profile: ...{text[max(0, bad.start() - 60) : bad.end() + 60]!r}...",
        )
    if text.startswith("{"):
        json.loads(text)
