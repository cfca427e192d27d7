"""Fields that begin with an underscore, which programs of MXNet read and write all the same."""

import pickle

import pytest

import headrace as mx
from headrace import autograd, gluon, nd
from headrace.gluon import nn


def test_a_parameter_made_of_another_one():
    class Halved(gluon.Parameter):
        """Made as a wrapper of a parameter is: it takes over fields, and changes what layers get."""

        def __init__(self, old):
            super().__init__(
                old.name,
                grad_req=old.grad_req,
                shape=old._shape,
                dtype=old.dtype,
                init=old.init,
                allow_deferred_init=old._allow_deferred_init,
            )
            self._deferred_init = old._deferred_init

        def data(self, ctx=None):
            return self._check_and_get(self._data, ctx) * 0.5

    for hybridize in (False, True):
        layer = nn.Dense(2, use_bias=False)
        layer.initialize(mx.init.One())
        assert layer.weight._deferred_init
        layer._reg_params["weight"] = halved = Halved(layer.weight)
        layer._params._params[halved.name] = halved
        if hybridize:
            layer.hybridize()
        x = nd.ones((1, 3))
        for _ in range(2):
            with autograd.record():
                y = layer(x)
            y.backward()
            assert y.asnumpy().tolist() == [[1.5, 1.5]]
            assert halved.grad().asnumpy().tolist() == [[0.5] * 3] * 2
        assert halved._deferred_init == ()
        halved.set_data(nd.ones((2, 3)) * 4)
        assert layer(x).asnumpy().tolist() == [[6, 6]]


def test_children_and_parameters_may_be_moved():
    net = nn.HybridSequential(prefix="net_")
    net.add(nn.Dense(2, in_units=3, prefix="first_"), nn.Activation("relu", prefix="second_"))
    net._children.move_to_end("0")
    assert [child.name for child in net._children.values()] == ["second", "first"]
    params = net.collect_params()
    params._params.move_to_end("first_weight")
    assert list(params) == ["first_bias", "first_weight"]
    net.initialize(mx.init.One())
    net.hybridize()
    assert net(-nd.ones((1, 3))).asnumpy().tolist() == [[0, 0]]


def test_a_scope_of_names_is_a_field():
    net = nn.HybridSequential(prefix="net_")
    for number in range(2):
        with net._scope:
            assert nn.Dense(2).name == f"net_dense{number}"


def test_where_a_parameter_is():
    p = gluon.Parameter("p", shape=(2,))
    assert p._ctx_list is None and p._ctx_map == [[], []] and p._deferred_init == ()
    p.initialize(ctx=[mx.cpu(2), mx.cpu(0)])
    assert p._ctx_list == [mx.cpu(2), mx.cpu(0)]
    assert p._ctx_map == [[], [1, None, 0]]
    assert p._check_and_get(p._data, list) is p._data
    assert p._check_and_get(p._data, mx.cpu(0)) is p._data[1]


def test_a_parameter_gets_values():
    p = gluon.Parameter("p", shape=(2,), dtype="float32")
    p._load_init(nd.array([1, 2]), [mx.cpu(0), mx.cpu(1)])
    assert [d.asnumpy().tolist() for d in p.list_data()] == [[1, 2]] * 2
    p._init_impl(nd.array([3, 4]), [mx.cpu(1)])
    assert p.data().asnumpy().tolist() == [3, 4] and p.list_ctx() == [mx.cpu(1)]
    again = pickle.loads(pickle.dumps(p))
    assert again.data().asnumpy().tolist() == [3, 4]


def test_the_graph_of_a_block():
    class Both(gluon.HybridBlock):
        def hybrid_forward(self, F, x, pair):  # noqa: N803
            return [x + pair[0], [x * pair[1]]]

    net = Both()
    assert net._cached_graph == () and net._in_format is net._out_format is net._cached_op is None
    net.hybridize(static_alloc=True, forward_bulk_size=5)
    flags = dict(net._flags)
    assert flags == {"static_alloc": True, "static_shape": False, "inline_limit": 2, "forward_bulk_size": 5}
    x = nd.ones(2)
    net(x, [x, x])
    assert net._in_format == [0, [0, 0]] and net._out_format == [0, [0]] and net._cached_op is not None
    inputs, outputs = net._cached_graph
    assert [one.name for one in inputs] == outputs.list_arguments() == ["data0", "data1", "data2"]
    net._out_format = [0, 0]
    assert [type(one) for one in net(x, [x, x])] == [nd.NDArray, nd.NDArray]
    net._clear_cached_op()
    assert net._cached_graph == ()


def test_shapes_of_a_block_are_completed():
    net = nn.Dense(3)
    net._infer_attrs("infer_shape", "shape", nd.ones((2, 5)))
    assert net.weight.shape == (3, 5)


def test_the_store_of_a_trainer():
    net = nn.Dense(1, in_units=2)
    net.initialize()
    trainer = gluon.Trainer(net.collect_params(), "sgd")
    assert not trainer._kv_initialized
    assert [p.name for p in trainer._params_to_init] == [net.bias.name, net.weight.name]
    trainer._init_kvstore()
    assert trainer._kv_initialized and trainer._params_to_init == []


def test_a_loader():
    loader = gluon.data.DataLoader(list(range(4)), batch_size=2, num_workers=1, thread_pool=True)
    assert not loader._pin_memory
    assert [b.asnumpy().tolist() for b in loader] == [[0, 1], [2, 3]]
    assert loader._worker_pool is not None
    pinned = gluon.data.DataLoader(list(range(4)), batch_size=2, pin_memory=True)
    assert pinned._pin_memory and pinned._worker_pool is None


def test_arrays_and_symbols():
    x = nd.array([[1, 2], [3, 4], [5, 6]])
    assert x.writable and x._at(1).asnumpy().tolist() == [3, 4]
    x._slice(1, 3)[:] = 0
    assert x.asnumpy().tolist() == [[1, 2], [0, 0], [0, 0]]
    s = mx.sym.Variable("s")
    assert isinstance(s.handle, int)
    with pytest.raises(NotImplementedError, match="args_grad"):
        s.grad(["s"])
