"""Operators written in Python: mx.operator.CustomOp, nd.Custom, sym.Custom."""

import json
import os
import threading

import numpy
import pytest

import headrace as mx
from headrace import autograd, gluon, nd

OP = mx.operator


class Square(OP.CustomOp):
    """x * x, counting its runs in the auxiliary state."""

    def forward(self, is_train, req, in_data, out_data, aux):
        aux[0][:] += 1
        self.assign(out_data[0], req[0], in_data[0] * in_data[0])

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        self.assign(in_grad[0], req[0], 2 * in_data[0] * out_grad[0])


@OP.register("test_square")
class SquareProp(OP.CustomOpProp):
    def list_auxiliary_states(self):
        return ["count"]

    def infer_shape(self, in_shape):
        return in_shape, [in_shape[0]], [(1,)]

    def create_operator(self, ctx, in_shapes, in_dtypes):
        return Square()


class Softmax(OP.CustomOp):
    """Softmax with the gradient of cross entropy, on NumPy arrays."""

    def forward(self, is_train, req, in_data, out_data, aux):
        x = in_data[0].asnumpy()
        y = numpy.exp(x - x.max(axis=1, keepdims=True))
        self.assign(out_data[0], req[0], nd.array(y / y.sum(axis=1, keepdims=True)))

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        label = in_data[1].asnumpy().astype(int)
        y = out_data[0].asnumpy()
        y[numpy.arange(len(label)), label] -= 1
        self.assign(in_grad[0], req[0], nd.array(y))


@OP.register("test_softmax")
class SoftmaxProp(OP.CustomOpProp):
    def __init__(self):
        super().__init__(need_top_grad=False)

    def list_arguments(self):
        return ["data", "label"]

    def infer_shape(self, in_shape):
        return [in_shape[0], (in_shape[0][0],)], [in_shape[0]], []

    def create_operator(self, ctx, in_shapes, in_dtypes):
        return Softmax()


class Calls(OP.CustomOp):
    """Calls the functions that the test has put into `forward_code` and `backward_code`."""

    forward_code = backward_code = None

    def forward(self, is_train, req, in_data, out_data, aux):
        Calls.forward_code(self, is_train, req, in_data, out_data, aux)

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        Calls.backward_code(self, req, out_grad, in_data, out_data, in_grad, aux)


class CallsProp(OP.CustomOpProp):
    seen = ()
    made = ()

    def __init__(self, **arguments):
        super().__init__()
        CallsProp.seen = arguments

    def create_operator(self, ctx, in_shapes, in_dtypes):
        CallsProp.made = ctx, in_shapes, in_dtypes
        return Calls()


OP.register("test_calls")(CallsProp)


def double(self, is_train, req, in_data, out_data, aux):
    self.assign(out_data[0], req[0], in_data[0] * 2)


def double_gradient(self, req, out_grad, in_data, out_data, in_grad, aux):
    self.assign(in_grad[0], req[0], out_grad[0] * 2)


@pytest.fixture
def calls():
    Calls.forward_code, Calls.backward_code = double, double_gradient
    yield Calls
    Calls.forward_code = Calls.backward_code = None


def test_value_gradient_and_state():
    x, count = nd.array([1, 2, 3]), nd.zeros(1)
    x.attach_grad()
    with autograd.record():
        y = nd.Custom(x, count, op_type="test_square")
        loss = (y * nd.array([1, 10, 100])).sum()
    loss.backward()
    numpy.testing.assert_array_equal(y.asnumpy(), [1, 4, 9])
    numpy.testing.assert_array_equal(x.grad.asnumpy(), [2, 40, 600])
    assert count.asscalar() == 1


def test_gradients_are_added():
    x = nd.array([1, 2, 3])
    x.attach_grad(grad_req="add")
    for _ in range(3):
        with autograd.record():
            y = nd.Custom(x, nd.zeros(1), op_type="test_square")
        y.backward()
    numpy.testing.assert_array_equal(x.grad.asnumpy(), [6, 12, 18])


def test_arguments_arrive_as_text_and_types_as_mxnet_gives_them(calls):
    seen = []

    def look(self, is_train, req, in_data, out_data, aux):
        seen.append((is_train, req, mx.current_context(), autograd.is_training(), autograd.is_recording()))
        double(self, is_train, req, in_data, out_data, aux)

    calls.forward_code = look
    x = nd.array([1, 2], dtype="int32")
    nd.Custom(x, op_type="test_calls", a=1, b="q", c=(1, 2), d=None, e=numpy.float32, name="foo")
    expected = {"a": "1", "b": "q", "c": "(1, 2)", "d": "None", "e": "<class 'numpy.float32'>"}
    assert CallsProp.seen == expected
    assert CallsProp.made == (mx.cpu(), [[2]], [4])
    with autograd.record():
        nd.Custom(x, op_type="test_calls")
    assert seen == [(0, ["write"], mx.cpu(), False, False), (1, ["write"], mx.cpu(), True, False)]


def test_out_and_no_inputs():
    class Ones(OP.CustomOp):
        def forward(self, is_train, req, in_data, out_data, aux):
            self.assign(out_data[0], req[0], numpy.ones((2, 3)))

    @OP.register("test_ones")
    class OnesProp(OP.CustomOpProp):
        def __init__(self, rows):
            super().__init__()
            self.rows = int(rows)

        def list_arguments(self):
            return []

        def infer_shape(self, in_shape):
            return [], [(self.rows, 3)], []

        def infer_type(self, in_type):
            return [], [numpy.float64], []

        def create_operator(self, ctx, in_shapes, in_dtypes):
            return Ones()

    y = nd.Custom(op_type="test_ones", rows=2)
    assert y.dtype == numpy.float64 and y.asnumpy().tolist() == [[1] * 3] * 2
    out = nd.zeros((2, 3), dtype="float64")
    assert nd.Custom(op_type="test_ones", rows=2, out=out) is out
    assert out.asnumpy().sum() == 6
    assert mx.sym.Custom(op_type="test_ones", rows=2).infer_shape()[1] == [(2, 3)]
    executor = mx.sym.Custom(op_type="test_ones", rows=2).bind(mx.cpu(), [])
    assert executor.forward()[0].asnumpy().sum() == 6


def test_several_outputs_and_an_unwanted_gradient(calls):
    requests = []

    class Sums(OP.CustomOp):
        def forward(self, is_train, req, in_data, out_data, aux):
            self.assign(out_data[0], req[0], in_data[0] + in_data[1])
            self.assign(out_data[1], req[1], in_data[0] - in_data[1])

        def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
            requests.append(req)
            self.assign(in_grad[0], req[0], out_grad[0] + out_grad[1])
            self.assign(in_grad[1], req[1], out_grad[0] - out_grad[1])

    @OP.register("test_sums")
    class SumsProp(OP.CustomOpProp):
        def list_arguments(self):
            return ["a", "b"]

        def list_outputs(self):
            return ["sum", "difference"]

        def create_operator(self, ctx, in_shapes, in_dtypes):
            return Sums()

    a, b = nd.array([5, 6]), nd.array([1, 2])
    a.attach_grad()
    with autograd.record():
        total, difference = nd.Custom(a, b, op_type="test_sums")
        loss = (difference * 3).sum()
    loss.backward()
    assert requests == [["write", "null"]]
    assert total.asnumpy().tolist() == [6, 8] and difference.asnumpy().tolist() == [4, 4]
    assert a.grad.asnumpy().tolist() == [3, 3]
    symbol = mx.sym.Custom(b=mx.sym.var("y"), a=mx.sym.var("x"), op_type="test_sums", name="s")
    assert symbol.list_arguments() == ["x", "y"]
    assert symbol.list_outputs() == ["s_sum", "s_difference"]


def test_dependencies_say_what_backward_gets():
    shapes = []

    class Op(OP.CustomOp):
        def forward(self, is_train, req, in_data, out_data, aux):
            self.assign(out_data[0], req[0], in_data[0])

        def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
            shapes.append([array.shape for array in (out_grad[0], in_data[0], out_data[0])])
            self.assign(in_grad[0], req[0], out_data[0])

    @OP.register("test_dependencies")
    class Prop(OP.CustomOpProp):
        def declare_backward_dependency(self, out_grad, in_data, out_data):
            assert (out_grad, in_data, out_data) == ([0], [1], [2])
            return out_data

        def create_operator(self, ctx, in_shapes, in_dtypes):
            return Op()

    x = nd.array([1, 2, 3])
    x.attach_grad()
    with autograd.record():
        y = nd.Custom(x, op_type="test_dependencies")
    y.backward()
    assert shapes == [[(0,), (0,), (3,)]] and x.grad.asnumpy().tolist() == [1, 2, 3]


def test_symbols_files_and_executors():
    data = mx.sym.var("data")
    net = mx.sym.Custom(
        mx.sym.FullyConnected(data, num_hidden=3, name="fc"), op_type="test_softmax", name="softmax"
    )
    assert net.list_arguments() == ["data", "fc_weight", "fc_bias", "softmax_label"]
    arguments, outputs, states = net.infer_shape(data=(4, 5))
    assert arguments == [(4, 5), (3, 5), (3,), (4,)] and outputs == [(4, 3)] and states == []
    node = json.loads(net.tojson())["nodes"][-1]
    assert node["op"] == "Custom" and node["attrs"] == {"op_type": "test_softmax"}
    net = mx.sym.load_json(net.tojson())
    rng = numpy.random.RandomState(0)
    executor = net.simple_bind(mx.cpu(), data=(4, 5))
    executor.arg_dict["data"][:] = x = rng.randn(4, 5)
    executor.arg_dict["fc_weight"][:] = w = rng.randn(3, 5)
    executor.arg_dict["softmax_label"][:] = [0, 1, 2, 0]
    y = executor.forward(is_train=True)[0].asnumpy()
    expected = numpy.exp(x @ w.T) / numpy.exp(x @ w.T).sum(axis=1, keepdims=True)
    numpy.testing.assert_allclose(y, expected, rtol=1e-5)
    executor.backward()
    error = expected - numpy.eye(3)[[0, 1, 2, 0]]
    numpy.testing.assert_allclose(
        executor.grad_dict["fc_weight"].asnumpy(), error.T @ x, rtol=1e-4, atol=1e-5
    )


def test_states_of_symbols():
    symbol = mx.sym.Custom(mx.sym.var("data"), op_type="test_square", name="s")
    assert symbol.list_arguments() == ["data"] and symbol.list_auxiliary_states() == ["s_count"]
    executor = symbol.simple_bind(mx.cpu(), data=(2,))
    executor.arg_dict["data"][:] = [3, 4]
    executor.forward(is_train=True)
    executor.backward(nd.ones(2))
    assert executor.outputs[0].asnumpy().tolist() == [9, 16]
    assert executor.grad_dict["data"].asnumpy().tolist() == [6, 8]
    assert executor.aux_dict["s_count"].asscalar() == 1


def test_text_of_attributes_in_files():
    symbol = mx.sym.Custom(
        mx.sym.var("data"), op_type="test_calls", d=None, f=[1, 2], b=True, c=2.50, name="foo"
    )
    expected = {"op_type": "test_calls", "d": "None", "f": "[1, 2]", "b": "True", "c": "2.5"}
    assert symbol.attr_dict()["foo"] == expected
    again = mx.sym.load_json(symbol.tojson())
    assert again.list_outputs() == ["foo_output"]
    assert CallsProp.seen == {key: text for key, text in expected.items() if key != "op_type"}


class Net(gluon.HybridBlock):
    def __init__(self):
        super().__init__()
        with self.name_scope():
            self.dense = gluon.nn.Dense(3, in_units=2)

    def hybrid_forward(self, F, x):
        return F.Custom(self.dense(x), op_type="test_calls", scale=2) + 1


def test_hybridized_blocks(calls, tmp_path):
    net = Net()
    net.initialize()
    x = nd.array([[1, 2], [3, 4]])
    results = []
    for hybrid in (False, True):
        net.hybridize(hybrid)
        with autograd.record():
            y = net(x)
        y.backward()
        results.append((y.asnumpy(), net.dense.weight.grad().asnumpy()))
    for eager, compiled in zip(*results):
        numpy.testing.assert_array_equal(eager, compiled)
    numpy.testing.assert_array_equal(results[0][1], [[8, 12]] * 3)
    net.export(str(tmp_path / "net"))
    nodes = json.loads((tmp_path / "net-symbol.json").read_text())["nodes"]
    custom = next(node for node in nodes if node["op"] == "Custom")
    assert custom["attrs"] == {"op_type": "test_calls", "scale": "2"}
    block = gluon.SymbolBlock.imports(
        str(tmp_path / "net-symbol.json"), ["data"], str(tmp_path / "net-0000.params")
    )
    numpy.testing.assert_array_equal(block(x).asnumpy(), results[0][0])


def test_module_trains():
    rng = numpy.random.RandomState(1)
    x = rng.randn(64, 4).astype("float32")
    label = (x[:, 0] > 0).astype("float32")
    net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2)
    net = mx.sym.Custom(net, op_type="test_softmax", name="softmax")
    module = mx.mod.Module(net)
    train = mx.io.NDArrayIter(x, label, 16, label_name="softmax_label")
    module.fit(train, num_epoch=5, optimizer_params={"learning_rate": 0.5})
    assert module.score(train, "acc")[0][1] > 0.95


def test_operator_keeps_what_forward_saved(calls):
    def forward(self, is_train, req, in_data, out_data, aux):
        self.mask = in_data[0] > 2
        self.assign(out_data[0], req[0], in_data[0] * self.mask)

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        self.assign(in_grad[0], req[0], out_grad[0] * self.mask)

    calls.forward_code, calls.backward_code = forward, backward
    x = nd.array([1, 2, 3, 4])
    x.attach_grad()
    with autograd.record():
        first = nd.Custom(x, op_type="test_calls")
        second = nd.Custom(x * 2, op_type="test_calls")
        loss = first + second
    loss.backward()
    assert x.grad.asnumpy().tolist() == [0, 2, 3, 3]


def test_code_may_record_and_call_custom_operators(calls):
    def forward(self, is_train, req, in_data, out_data, aux):
        x = in_data[0].copy()
        x.attach_grad()
        with autograd.record():
            y = nd.Custom(x, nd.zeros(1), op_type="test_square")
        y.backward()
        self.assign(out_data[0], req[0], x.grad)

    calls.forward_code = forward
    x = nd.array([1, 2, 3])
    x.attach_grad()
    with autograd.record():
        y = nd.Custom(x, op_type="test_calls") * 5
    y.backward()
    assert y.asnumpy().tolist() == [10, 20, 30] and x.grad.asnumpy().tolist() == [10, 10, 10]


def raising(error):
    def code(*_):
        raise error

    return code


@pytest.mark.parametrize("kind", [ValueError, TypeError, KeyError, NotImplementedError])
def test_errors_keep_their_types(calls, kind):
    calls.forward_code = raising(kind("wrong thing"))
    with pytest.raises(mx.MXNetError, match="test_calls.forward.*wrong thing") as raised:
        nd.Custom(nd.ones(2), op_type="test_calls").wait_to_read()
    assert isinstance(raised.value, kind) and isinstance(raised.value.__cause__, kind)


class _Rules(OP.CustomOpProp):
    error = None

    def infer_shape(self, in_shape):
        raise self.error

    def create_operator(self, ctx, shapes, dtypes):
        return OP.CustomOp()


def test_errors_of_rules_have_their_cause():
    OP.register("test_rules")(_Rules)
    _Rules.error = ValueError("no such shape")
    with pytest.raises(mx.MXNetError, match="test_rules.infer_shape.*no such shape") as raised:
        nd.Custom(nd.ones(2), op_type="test_rules")
    causes = [raised.value]
    while causes[-1].__cause__ is not None:
        causes.append(causes[-1].__cause__)
    assert causes[-1] is _Rules.error


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit])
def test_what_ends_the_program_leaves_rules_as_it_is(kind):
    OP.register("test_rules")(_Rules)
    _Rules.error = kind("stop")
    with pytest.raises(kind) as raised:
        nd.Custom(nd.ones(2), op_type="test_rules")
    assert raised.value is _Rules.error
    custom = mx.sym.Custom(mx.sym.FullyConnected(mx.sym.var("x"), num_hidden=2), op_type="test_rules")
    with pytest.raises(kind):
        custom.infer_shape(x=(2, 3))


def test_other_errors_are_mxnet_errors(calls):
    calls.backward_code = raising(AssertionError("not so"))
    x = nd.ones(2)
    x.attach_grad()
    with autograd.record():
        y = nd.Custom(x, op_type="test_calls")
    with pytest.raises(mx.MXNetError, match="test_calls.backward: AssertionError: not so"):
        y.backward()
        x.grad.wait_to_read()


def test_errors_of_operations_in_the_code(calls):
    def forward(self, is_train, req, in_data, out_data, aux):
        out_data[0][:] = nd.random.normal(0, -1, in_data[0].shape)

    calls.forward_code = forward
    with pytest.raises(mx.MXNetError, match="scale must not be negative"):
        nd.Custom(nd.ones(2), op_type="test_calls").wait_to_read()


@pytest.mark.parametrize(
    "method",
    ["list_arguments", "list_outputs", "infer_shape", "infer_type", "infer_storage_type", "create_operator"],
)
def test_errors_in_properties(method):
    kind = type("Prop", (OP.CustomOpProp,), {method: raising(ValueError("no idea"))})
    OP.register(f"test_bad_{method}")(kind)
    with pytest.raises(ValueError, match=f"test_bad_{method}.{method}: ValueError: no idea") as raised:
        nd.Custom(nd.ones(2), op_type=f"test_bad_{method}")
    assert isinstance(raised.value, mx.MXNetError)


def test_wrong_answers_of_properties():
    def registered(**methods):
        OP.register("test_wrong")(type("Prop", (OP.CustomOpProp,), methods))

    registered(infer_shape=lambda self, shapes: (shapes, [], []))
    with pytest.raises(
        mx.MXNetError, match="infer_shape must return one entry for each of the 1 outputs, got 0"
    ):
        nd.Custom(nd.ones(2), op_type="test_wrong")
    registered(infer_shape=lambda self, shapes: shapes)
    with pytest.raises(mx.MXNetError, match="infer_shape must return 2 or 3 lists, got 1"):
        nd.Custom(nd.ones(2), op_type="test_wrong")
    registered(infer_shape=lambda self, shapes: ([(3,)], [(3,)]))
    with pytest.raises(mx.MXNetError, match="data has shape \\(2,\\), but infer_shape says \\(3,\\)"):
        nd.Custom(nd.ones(2), op_type="test_wrong")
    registered(infer_type=lambda self, types: ([numpy.float16], [numpy.float16]))
    with pytest.raises(mx.MXNetError, match="data holds float32, but infer_type says float16"):
        nd.Custom(nd.ones(2), op_type="test_wrong")


def test_wrong_calls():
    with pytest.raises(mx.MXNetError, match="Cannot find custom operator test_nothing"):
        nd.Custom(nd.ones(2), op_type="test_nothing")
    with pytest.raises(mx.MXNetError, match="Cannot find custom operator test_nothing"):
        mx.sym.Custom(mx.sym.var("x"), op_type="test_nothing")
    with pytest.raises(mx.MXNetError, match="1 arrays are needed, got 2; the inputs are: data"):
        nd.Custom(nd.ones(2), nd.ones(2), op_type="test_calls")
    with pytest.raises((mx.MXNetError, TypeError), match="op_type"):
        nd.Custom(nd.ones(2))
    with pytest.raises(mx.MXNetError, match="unexpected keyword argument 'size'"):
        nd.Custom(nd.ones(2), nd.ones(1), op_type="test_square", size=2)


def test_second_gradients_are_refused(calls):
    x = nd.ones(2)
    x.attach_grad()
    with autograd.record():
        y = nd.Custom(x, op_type="test_calls")
        slope = autograd.grad(y, x, create_graph=True)[0]
    assert slope.asnumpy().tolist() == [2, 2]
    with pytest.raises(mx.MXNetError, match="_backward_Custom is non-differentiable"):
        slope.backward()


def test_threads(calls):
    results = [None] * 4

    def run(i):
        x = nd.full((100,), i)
        x.attach_grad()
        for _ in range(20):
            with autograd.record():
                y = nd.Custom(x, op_type="test_calls")
            y.backward()
        results[i] = y.asnumpy().tolist(), x.grad.asnumpy().tolist()

    threads = [threading.Thread(target=run, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [([2 * i] * 100, [2] * 100) for i in range(4)]


def test_after_a_fork(calls):
    assert nd.Custom(nd.ones(3), op_type="test_calls").asnumpy().sum() == 6
    child = os.fork()
    if child == 0:
        os._exit(int(nd.Custom(nd.ones(3), op_type="test_calls").asnumpy().sum() != 6))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


class Doubled(gluon.data.Dataset):
    def __len__(self):
        return 6

    def __getitem__(self, i):
        return nd.Custom(nd.full((2,), i), op_type="test_calls").asnumpy()


def test_in_data_loader_workers(calls):
    loader = gluon.data.DataLoader(Doubled(), batch_size=3, num_workers=2)
    assert [batch.asnumpy()[:, 0].tolist() for batch in loader] == [[0, 2, 4], [6, 8, 10]]
