"""Hybridized blocks that define `forward` on arrays: they run as written, or are compiled with `trace`."""

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
    assert net.dense._graph is not None  # what it calls is compiled
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
    assert net[0].calls == traced and net[0]._graph is not None
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
    assert net.dense._graph is not None  # what it calls is compiled
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
