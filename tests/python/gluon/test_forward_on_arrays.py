"""Hybridized blocks that define `forward` on arrays: they run as written, or are compiled with `trace`."""

import json
import pickle

import numpy
import pytest

import headrace as mx
from headrace import autograd, nd
from headrace.base import MXNetError
from headrace.gluon import nn


class Forward(nn.HybridBlock):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        with self.name_scope():
            self.weight = self.params.get("weight", shape=(3, 4))
            self.dense = nn.Dense(2)

    def forward(self, x):
        y = nd.dot(x, self.weight.data())
        return self.dense(y.reshape((x.shape[0], -1)))


def gradients(net, x, hybrid):
    net(x)
    net.hybridize(hybrid, trace=True)
    x.attach_grad()
    with autograd.record():
        y = net(x)
        loss = (y * y).mean()
    loss.backward()
    parameters = net.collect_params().values()
    return [one.asnumpy() for one in (y, x.grad, *(parameter.grad() for parameter in parameters))]


def test_forward_on_arrays():
    net = Forward()
    net.initialize()
    x = nd.array(numpy.random.RandomState(0).uniform(-1, 1, (2, 3)))
    eager, hybrid = gradients(net, x, False), gradients(net, x, True)
    for one, other in zip(eager, hybrid, strict=True):
        numpy.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


class Mean(nn.HybridBlock):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.temperature, self.calls = 1, 0
        with self.name_scope():
            self.dense = nn.Dense(1, in_units=3, use_bias=False, weight_initializer="ones")

    def forward(self, x, factor=None, power=1):
        self.calls += 1
        rows = self.dense(x)[:, 0]
        rows = rows if factor is None else rows * factor
        return (rows**power).sum() / x.shape[0] / self.temperature


def test_forward_runs_as_it_is_written():
    """Shapes, attributes and values of Python are those of each call, as in MXNet."""
    net = Mean()
    net.initialize()
    net.hybridize()
    for rows in (4, 4, 2):
        assert net(nd.ones((rows, 3))).asscalar() == 3
    net.temperature = 2
    assert net(nd.ones((2, 3))).asscalar() == 1.5
    assert net(nd.ones((2, 3)), nd.ones(2) * 4).asscalar() == 6
    assert net(nd.ones((2, 3)), None, 2).asscalar() == 4.5
    assert net.calls == 6
    assert net.dense._traced_graph is not None  # what it calls is compiled
    x = nd.ones((2, 3))
    x.attach_grad()
    with autograd.record():
        loss = net(x)
    loss.backward()
    assert (x.grad.asnumpy() == 0.25).all()


def test_plans_and_files_of_forward_need_a_trace(tmp_path):
    net = Mean()
    net.initialize()
    net.hybridize()
    net(nd.ones((2, 3)))
    with pytest.raises(RuntimeError, match=r"hybridize\(trace=True\)"):
        net.explain(nd.ones((2, 3)))
    with pytest.raises(RuntimeError, match=r"hybridize\(trace=True\)"):
        net.export(str(tmp_path / "mean"))
    net.infer_shape(nd.ones((2, 3)))  # makes a graph, which calls do not run
    assert net(nd.ones((4, 3))).asscalar() == 3


def test_trace_reaches_children_and_goes_again():
    net = nn.Sequential()
    net.add(Mean())
    net.initialize()
    with pytest.warns(UserWarning, match="HybridSequential"):
        net.hybridize(trace=True)
    for _ in range(3):
        assert net(nd.ones((2, 3))).asscalar() == 3
    traced = net[0].calls
    net(nd.ones((2, 3)))
    assert net[0].calls == traced and net[0]._traced_graph is not None
    with pytest.warns(UserWarning, match="HybridSequential"):
        net.hybridize()
    net(nd.ones((2, 3)))
    assert net[0].calls == traced + 1


READS = {
    "asnumpy": lambda x: x.asnumpy(),
    "asscalar": lambda x: x.asscalar(),
    "bool": bool,
    "float": float,
    "int": int,
    "repr": repr,
    "buffer": memoryview,
    "NumPy": numpy.asarray,
    "DLPack": lambda x: x.to_dlpack_for_write(),
    "pickle": pickle.dumps,
    "update": lambda x: mx.optimizer.SGD().update(0, x, x, None),
    "metric": lambda x: mx.metric.MSE().update(x, x),
}


@pytest.mark.parametrize("read", READS.values(), ids=READS)
def test_values_cannot_be_read_while_tracing(read):
    class Reads(nn.HybridBlock):
        def forward(self, x):
            read(x.sum())
            return x

    net = Reads()
    net.hybridize(trace=True)
    with pytest.raises(MXNetError, match="traced"):
        net.optimize_for(nd.ones(3))
    assert (nd.ones(2) + 1).asnumpy().sum() == 4  # tracing has ended
    if read in (bool, float, int):
        with pytest.warns(UserWarning, match="traced.*runs as it is written"):
            net(nd.ones(1))
        net(nd.ones(1))  # told once


def test_forward_that_looks_at_values_runs_as_it_is_written():
    class Chooses(nn.HybridBlock):
        def __init__(self):
            super().__init__()
            with self.name_scope():
                self.dense = nn.Dense(2, in_units=3, use_bias=False, weight_initializer="ones")

        def forward(self, x):
            y = self.dense(x)
            return (y, x) if y.sum().asscalar() > 0 else (-y, x)

    net = Chooses()
    net.initialize()
    net.hybridize(trace=True)
    x = nd.ones((1, 3))
    x.attach_grad()
    with pytest.warns(UserWarning, match="forward cannot be compiled"), autograd.record():
        y, same = net(-x)
    y.backward()
    assert y.asnumpy().tolist() == [[3, 3]] and x.grad.asnumpy().tolist() == [[2, 2, 2]]
    assert net(x)[0].asnumpy().tolist() == [[3, 3]]
    assert net.dense._traced_graph is not None  # what it calls is compiled
    with pytest.raises(RuntimeError, match="hybridize"):
        net.export("not-written")


def test_forward_that_depends_on_the_mode_runs_as_it_is_written():
    class Scales(nn.HybridBlock):
        def forward(self, x):
            return x * 3 if autograd.is_training() else x

    net = Scales()
    net.hybridize(trace=True)
    x = nd.ones(1)
    with pytest.warns(UserWarning, match="is_training"):
        assert net(x).asscalar() == 1
    with autograd.record():
        assert net(x).asscalar() == 3


def test_errors_of_forward_are_its_own():
    class Wrong(nn.HybridBlock):
        def forward(self, x):
            return nd.dot(x, x)

    net = Wrong()
    net.hybridize(trace=True)
    with pytest.raises(MXNetError, match="^dot"):
        net(nd.ones((2, 3)))


def test_tuples_of_forward_stay_tuples():
    class Two(nn.HybridBlock):
        def forward(self, x):
            return x + 1, [x * 2]

    net = Two()
    net.hybridize(trace=True)
    for _ in range(2):
        first, second = net(nd.ones(1))
        assert isinstance(net(nd.ones(1)), tuple) and isinstance(second, list)
        assert (first.asscalar(), second[0].asscalar()) == (2, 2)


def test_arrays_that_forward_holds_have_the_values_of_each_call():
    scale = nd.ones((3,))

    class Scales(nn.HybridBlock):
        def forward(self, x):
            return x * (2 * nd.ones((3,)) * scale) + scale, x * nd.arange(3)

    net = Scales()
    net.hybridize(trace=True)
    for value in (1, 5):
        scale[:] = value
        held, made = net(nd.ones((3,)))
        assert held.asnumpy().tolist() == [3 * value] * 3 and made.asnumpy().tolist() == [0, 1, 2]


def test_forward_may_leave_children_alone():
    class Skips(nn.HybridBlock):
        def __init__(self):
            super().__init__()
            with self.name_scope():
                self.unused = nn.Dense(2)

        def forward(self, x):
            return x + 1

    net = Skips()
    net.initialize()
    net.hybridize(trace=True)
    with pytest.warns(UserWarning, match="not used"):
        assert net(nd.ones(2)).asnumpy().tolist() == [2, 2]


@pytest.mark.parametrize("key", [0, [0, 2], (slice(None, None, -1), [1])], ids=str)
def test_in_place_writes_cannot_be_traced(key):
    class Writes(nn.HybridBlock):
        def forward(self, x):
            y = x * 2
            y[key] = 1
            return y

    net = Writes()
    net.hybridize(trace=True)
    with pytest.warns(UserWarning, match="in-place writes"):
        assert (net(nd.ones((3, 2))).asnumpy() == 1).any()


class Sign(autograd.Function):
    def forward(self, x):
        return nd.sign(x)

    def backward(self, dy):
        return dy * 5


OTHER = nd.ones((3,))
OTHER.attach_grad()
with autograd.record():
    RECORDED = OTHER * 2
PARAMETER = mx.gluon.Parameter("free", shape=(3,))
PARAMETER.initialize(init="ones")


def with_own_gradient(x):
    own = nd.ones((3,))
    own.attach_grad()
    return x * own


FOREIGN = {
    "function": lambda x: Sign()(x),
    "array with a gradient": lambda x: x * OTHER,
    "recorded array": lambda x: x * RECORDED,
    "recorded array alone": lambda x: RECORDED * 1,
    "own array with a gradient": with_own_gradient,
    "parameter of another block": lambda x: x * PARAMETER.data(),
}


@pytest.mark.parametrize("kind", FOREIGN)
@pytest.mark.parametrize("recording", [False, True])
def test_what_is_on_the_tape_already_cannot_be_traced(kind, recording):
    """The block runs as it is written, with the gradients that it has then."""
    net = Plain(FOREIGN[kind])
    x = nd.array([1.0, -2.0, 3.0])
    x.attach_grad()

    def results():
        with autograd.record() if recording else autograd.pause():
            y = net(x)
        if recording:
            y.backward(retain_graph=True)
        return y.asnumpy().tolist(), x.grad.asnumpy().tolist()

    expected = results()
    net.hybridize(trace=True)
    with pytest.warns(UserWarning, match="runs as it is written"):
        assert results() == expected


class Plain(nn.HybridBlock):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


PARTS = {
    "function": lambda x: Sign()(x),
    "shape": lambda x: x.reshape((x.shape[0], -1)) * x.shape[1],
    "value": lambda x: x * 2 if x.sum().asscalar() > 0 else x,
    "array": lambda x: x * nd.array([1, 2, 3]),
}


@pytest.mark.parametrize("kind", PARTS)
def test_a_part_that_needs_arrays_keeps_the_block_around_it_from_being_compiled(kind):
    net = nn.HybridSequential()
    net.add(nn.Dense(3, in_units=3), Plain(PARTS[kind]), nn.Dense(2, in_units=3))
    net.initialize()
    x = nd.array([[1, 2, 3], [4, 5, 6]])
    x.attach_grad()

    def results():
        with autograd.record():
            y = net(x)
        y.backward()
        return y.asnumpy(), x.grad.asnumpy()

    expected = results()
    net.hybridize()
    with pytest.warns(UserWarning, match="runs as it is written, its other parts compiled"):
        first = results()
    for found in (first, results()):
        numpy.testing.assert_allclose(found[0], expected[0], 1e-5)
        numpy.testing.assert_allclose(found[1], expected[1], 1e-5)
    assert net[0]._traced_graph is not None  # compiled by itself


def test_a_part_that_gets_along_with_symbols_is_compiled_with_the_block():
    net = nn.HybridSequential()
    net.add(nn.Dense(3, in_units=3), Plain(lambda x: x * 2))
    net.initialize()
    net.hybridize()
    assert net(nd.ones((1, 3))).shape == (1, 3)
    assert [node["op"] for node in json.loads(net._traced_graph.outputs.tojson())["nodes"]][
        -1
    ] == "_mul_scalar"
