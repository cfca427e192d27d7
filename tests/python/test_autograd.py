"""Recording, backward, grad, custom functions: values by hand or by NumPy."""

import gc
import json
import weakref

import numpy
import pytest

import headrace as mx
from headrace import MXNetError, autograd, nd, np


def variable(values, req="write"):
    x = nd.array(values)
    x.attach_grad(req)
    return x


def gradient_of(function, values):
    x = variable(values)
    with autograd.record():
        y = function(x)
    y.backward()
    return x.grad.asnumpy()


def test_flags():
    assert not autograd.is_recording()
    assert not autograd.is_training()
    with autograd.record():
        assert autograd.is_recording()
        assert autograd.is_training()
        with autograd.pause():
            assert not autograd.is_recording()
            assert not autograd.is_training()
        with autograd.predict_mode():
            assert autograd.is_recording()
            assert not autograd.is_training()
    with autograd.record(train_mode=False):
        assert autograd.is_recording()
        assert not autograd.is_training()
    with autograd.train_mode():
        assert not autograd.is_recording()
        assert autograd.is_training()
    with autograd.train_mode(), autograd.record(None):
        assert autograd.is_training()
    assert autograd.set_recording(True) is False
    assert autograd.set_recording(is_recording=False) is True
    assert autograd.set_training(train_mode=False) is False


def test_flags_are_restored_after_an_error():
    with pytest.raises(ZeroDivisionError), autograd.record():
        raise ZeroDivisionError
    assert not autograd.is_recording()


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda x: x * x * 2, [4, -8, 12]),
        (lambda x: (x + 1) * (x - 1), [2, -4, 6]),
        (lambda x: nd.exp(x), numpy.exp([1.0, -2, 3])),
        (lambda x: x**3, [3, 12, 27]),
        (lambda x: 1 / x, [-1, -0.25, -1 / 9]),
        (lambda x: x.sum() * 2, [2, 2, 2]),
        (lambda x: nd.relu(x), [1, 0, 1]),
        (lambda x: x[1:] * 5, [0, 5, 5]),
        (lambda x: x.reshape((3, 1)).T * 4, [4, 4, 4]),
        (lambda x: nd.concat(x, x * 2, dim=0), [3, 3, 3]),
        (lambda x: x.detach() * x, [1, -2, 3]),
        (lambda x: nd.stop_gradient(x) + x, [1, 1, 1]),
    ],
)
def test_gradients(function, expected):
    numpy.testing.assert_allclose(gradient_of(function, [1, -2, 3]), expected, rtol=1e-5)


def test_broadcast_gradients_are_summed():
    a, b = variable(numpy.ones((2, 3))), variable(numpy.ones((1, 3)))
    with autograd.record():
        y = a * b + b
    y.backward()
    numpy.testing.assert_array_equal(a.grad.asnumpy(), numpy.ones((2, 3)))
    numpy.testing.assert_array_equal(b.grad.asnumpy(), numpy.full((1, 3), 4))


def test_head_gradients_scale():
    x = variable([1, 2])
    with autograd.record():
        y = x * 3
    y.backward(nd.array([10, 100]))
    assert x.grad.asnumpy().tolist() == [30, 300]


def test_several_heads():
    x = variable([1.0, 2])
    with autograd.record():
        y, z = x * 2, x * x
    autograd.backward([y, z], [None, nd.array([1, 10])])
    assert x.grad.asnumpy().tolist() == [4, 42]


def test_add_collects_and_write_replaces():
    for req, expected in (("add", [6.0]), ("write", [2.0])):
        x = variable([1], req)
        for _ in range(3):
            with autograd.record():
                y = x * 2
            y.backward()
        assert x.grad.asnumpy().tolist() == expected


def test_null_collects_nothing():
    x, w = variable([1], "null"), variable([2])
    with autograd.record():
        y = x * w
    y.backward()
    assert w.grad.asnumpy().tolist() == [1]


@pytest.mark.parametrize("keeps", [False, True])
def test_null_is_forgotten_with_the_graph(keeps):
    x, w = variable([1], "null"), variable([2])
    assert x.grad.asnumpy().tolist() == [0]
    with autograd.record():
        y = x * w
    y.backward(retain_graph=keeps)
    assert (x.grad is None) is not keeps
    with autograd.record():
        y = x * w
    y.backward()
    assert w.grad.asnumpy().tolist() == [1] and x.grad is None
    x.attach_grad()
    assert x.grad.asnumpy().tolist() == [0]


def test_the_gradient_array_stays_the_same_object():
    x = variable([1.0, 2])
    grad = x.grad
    with autograd.record():
        y = (x * x).sum()
    y.backward()
    assert x.grad is grad
    assert grad.asnumpy().tolist() == [2, 4]


def test_unreached_variables_keep_their_gradient():
    x, other = variable([1]), variable([1])
    other.grad[:] = 7
    with autograd.record():
        y = x * 2
    y.backward()
    assert other.grad.asnumpy().tolist() == [7]


def test_structurally_zero_gradients_are_written():
    x = variable([1.5])
    x.grad[:] = 7
    with autograd.record():
        y = nd.floor(x)
    y.backward()
    assert x.grad.asnumpy().tolist() == [0]


def test_a_graph_is_used_once_unless_retained():
    x = variable([3])
    with autograd.record():
        y = x * x
    y.backward(retain_graph=True)
    y.backward()
    with pytest.raises(MXNetError, match="retain_graph"):
        y.backward()


def test_what_a_freed_graph_made_is_a_constant_in_the_next():
    weight = nd.array([2.0])
    weight.attach_grad()
    state = nd.array([1.0])
    for _ in range(3):
        before = state.asscalar()
        with autograd.record():
            state = state * weight
            loss = state * 3
        loss.backward()
        assert weight.grad.asscalar() == 3 * before
    state += 1  # no part of a graph any more


def test_a_graph_that_shares_a_freed_part_is_used_no_more():
    x = nd.array([2.0])
    x.attach_grad()
    with autograd.record():
        shared = x * x
        first, second = shared * 2, shared * 3
    first.backward()
    with pytest.raises(MXNetError, match="computational graph"):
        second.backward()


def test_a_freed_part_gives_no_part_of_a_gradient():
    """Though another variable is left that the head depends on."""
    x, other = variable([2]), variable([5])
    with autograd.record():
        shared = x * 3
        first, second = shared * 1, shared * shared * other
    first.backward()
    with pytest.raises(MXNetError, match="retain_graph"):
        second.backward()
    assert other.grad.asnumpy().tolist() == [0]


def test_what_a_gradient_reads_is_not_written_while_recording():
    weight, x = variable([1, 1]), nd.array([1.0, 1.0])
    with autograd.record():
        y = weight * x
        for write in (lambda: x.__iadd__(1), lambda: x.__setitem__(slice(None), 7), lambda: nd.exp(y, out=x)):
            with pytest.raises(MXNetError, match="Inplace operations"):
                write()
        y.backward()
        x += 1  # nothing reads it any more
        z = weight + x
        x += 1  # whose gradient does not read it
    assert weight.grad.asnumpy().tolist() == [1, 1]
    z.backward()
    buffer = nd.zeros((3, 2))
    with autograd.record():
        rows = []
        for i in range(3):
            buffer[i] = i
            rows.append((weight * buffer[i]).sum())
        loss = sum(rows[1:], rows[0])
    loss.backward()
    assert weight.grad.asnumpy().tolist() == [3, 3]
    net = mx.gluon.nn.Dense(1, in_units=2, use_bias=False)
    net.initialize()
    net.hybridize()
    row = nd.ones((1, 2))
    with autograd.record():
        first = net(row)
        with pytest.raises(MXNetError, match="Inplace operations"):
            row[:] = 5
    first.backward()
    with autograd.record():
        row[:] = 5
        net(row).backward()
    assert net.weight.grad().asnumpy().tolist() == [[5, 5]]


@pytest.mark.parametrize("kind", ["GRU", "LSTM"])
def test_states_of_recurrent_layers_are_constants_in_the_next_graph(kind):
    layer = getattr(mx.gluon.rnn, kind)(3, num_layers=2)
    layer.initialize()
    x = nd.ones((4, 2, 3))
    states, gradients = layer.begin_state(2), []
    for _ in range(3):
        with autograd.record():
            outputs, new_states = layer(x, states)
            loss = outputs.sum()
        loss.backward()
        gradients.append(layer.l0_i2h_weight.grad().asnumpy())
        with autograd.record():
            again, _ = layer(x, [state.copy() for state in states])
        again.backward()
        assert (layer.l0_i2h_weight.grad().asnumpy() == gradients[-1]).all()
        states = new_states
    assert (gradients[0] != gradients[2]).any()


def test_nothing_to_differentiate():
    with autograd.record():
        y = nd.ones((1,)) * 2
    with pytest.raises(MXNetError, match="computational graph"):
        y.backward()


def test_a_zero_gradient_by_definition_stops_nothing():
    x = variable([3, 1, 2])
    with autograd.record():
        y = nd.shape_array(x).astype("float32") + x.sum()
    y.backward()
    assert x.grad.asnumpy().tolist() == [1, 1, 1]


def test_writing_into_a_recorded_array_is_refused():
    x = variable([1])
    with autograd.record():
        y = x * 2
        with pytest.raises(MXNetError, match="recording"):
            y += 1
        with pytest.raises(MXNetError, match="recording"):
            x[:] = 3
    x -= 0.5  # outside of a recording it is an ordinary update
    assert x.asnumpy().tolist() == [0.5]


def test_assignment_of_recorded_values_passes_gradients():
    x = variable([2.0])
    with autograd.record():
        y = nd.zeros((3,))
        y[1:2] = x * 5
        z = (y * y).sum()
    z.backward()
    assert x.grad.asnumpy().tolist() == [100]


class TestGrad:
    def test_returns_new_arrays(self):
        x = variable([3])
        with autograd.record():
            y = x * x
        (g,) = autograd.grad(y, [x])
        assert g.asnumpy().tolist() == [6]
        assert x.grad.asnumpy().tolist() == [0]

    @pytest.mark.parametrize(
        ("function", "third"),
        [
            (lambda x: x**4, lambda x: 24 * x),
            (lambda x: nd.sin(x), lambda x: -numpy.cos(x)),
            (lambda x: nd.exp(x * 2), lambda x: 8 * numpy.exp(2 * x)),
            (lambda x: nd.sigmoid(x), None),
            (lambda x: nd.dot(x.reshape((1, 1)), x.reshape((1, 1))) * x, lambda x: 6 + 0 * x),
        ],
    )
    def test_any_order(self, function, third):
        x = variable([0.7])
        with autograd.record():
            y = function(x)
            for _ in range(2):
                (y,) = autograd.grad(y, [x], create_graph=True)
        y.backward()
        value = x.asnumpy().astype("float64")
        if third is None:
            s = 1 / (1 + numpy.exp(-value))
            expected = s * (1 - s) * (1 - 6 * s + 6 * s * s)
        else:
            expected = third(value)
        numpy.testing.assert_allclose(x.grad.asnumpy(), expected, rtol=2e-4)

    def test_variables_must_be_leaves(self):
        x = variable([1])
        with autograd.record():
            y = x * 2
            z = y * 3
        with pytest.raises(MXNetError, match="variable 1 of 1"):
            autograd.grad(z, [y])


def test_mark_variables():
    x, grad = nd.array([1.0, 2]), nd.zeros((2,))
    autograd.mark_variables([x], [grad])
    with autograd.record():
        y = x * x
    y.backward()
    assert grad.asnumpy().tolist() == [2, 4]
    assert x.grad is grad


def test_gradients_are_on_the_device_of_their_array(at):
    x, grad = nd.array([1.0, 2], ctx=at(0)), nd.zeros((2,), ctx=at(1))
    if at(0).device_type == "cpu":  # places of the host share its memory
        autograd.mark_variables([x], [grad])
        with autograd.record():
            y = x * x
        y.backward()
        assert grad.asnumpy().tolist() == [2, 4]
        return
    with pytest.raises(ValueError, match=r"gradient is on gpu\(1\), but the variable is on gpu\(0\)"):
        autograd.mark_variables([x], [grad])
    autograd.mark_variables([x], [grad], "null")


def test_fresh_gradients_are_marked():
    x = variable([1])
    assert not x._fresh_grad
    with autograd.record():
        y = x * 2
    y.backward()
    assert x._fresh_grad
    x._fresh_grad = False
    assert not x._fresh_grad


def test_long_tapes_are_freed_without_recursion():
    x = variable([1])
    with autograd.record():
        y = x
        for _ in range(100_000):
            y = y + 1
    del y
    gc.collect()


def test_what_is_recorded_keeps_only_what_backward_needs():
    class Marked(autograd.Function):
        def forward(self, x):
            return x * 2

        def backward(self, dy):
            return dy * 2

    function = Marked()
    alive = weakref.ref(function)
    x = variable([1])
    with autograd.record():
        y = function(x)
    del function
    assert alive() is not None
    y.backward()
    gc.collect()
    assert alive() is None


def test_np_arrays():
    x = np.array([1.0, 2, 3])
    x.attach_grad()
    with autograd.record():
        y = np.dot(x, x) / 2 + x[x > 1].sum()
    y.backward()
    assert type(x.grad) is np.ndarray
    numpy.testing.assert_array_equal(x.grad.asnumpy(), [1, 3, 4])


def test_symbol_of_what_was_recorded():
    x, y = nd.array([[1, 2, 3]]), nd.array([[4, 5, 6]])
    x.attach_grad()
    with autograd.record():
        z = nd.split(x * y + x * 2, num_outputs=3)[1]
    made = autograd.get_symbol(z)
    assert made.list_arguments() == ["var0", "null0"] and made.list_outputs() == ["node_3_output1"]
    assert [node["op"] for node in json.loads(made.tojson())["nodes"]] == [
        *("null", "null", "broadcast_mul", "_mul_scalar", "broadcast_add", "SliceChannel")
    ]
    assert made.eval(var0=x, null0=y)[0].asnumpy().tolist() == z.asnumpy().tolist()
    assert autograd.get_symbol(x).list_outputs() == ["var0"]
    z.backward()
    with pytest.raises(MXNetError, match="backward has used up what was recorded"):
        autograd.get_symbol(z)


def test_symbols_of_what_was_not_recorded():
    x = nd.ones((2,))
    with pytest.raises(MXNetError, match="not in a computational graph"):
        autograd.get_symbol(x)
    with pytest.raises(AssertionError, match="expected an array"):
        autograd.get_symbol(3)

    class Same(autograd.Function):
        def forward(self, x):
            return x

        def backward(self, gradient):
            return gradient

    x.attach_grad()
    with autograd.record():
        y = Same()(x)
    with pytest.raises(MXNetError, match="no operator but an autograd.Function"):
        autograd.get_symbol(y)


def test_symbols_of_hybridized_blocks_are_those_of_their_operators():
    net = mx.gluon.nn.HybridSequential()
    for _ in range(2):
        net.add(mx.gluon.nn.Dense(3, activation="tanh"))
    net.initialize()
    net.hybridize()
    x = nd.random.normal(shape=(2, 4))
    with autograd.record():
        y = net(net(x)[:, :1].broadcast_to((2, 4)))
    made = autograd.get_symbol(y)
    names = made.list_arguments()
    assert names == ["null0", "var0", "var1", "var2", "var3"]
    arrays = (x, *(param.data() for param in net.collect_params().values()))
    assert (made.eval(**dict(zip(names, arrays)))[0] == y).asnumpy().all()


def test_what_has_gradient_zero_takes_any_head_gradient():
    x = variable([[1.0, 2, 3]])
    with autograd.record():
        y = nd.shape_array(x)
    y.backward(nd.ones((1, 3)))
    assert x.grad.asnumpy().tolist() == [[0, 0, 0]]


def test_gradients_that_do_not_depend_on_the_variable_have_gradient_zero():
    x = nd.array([1, 2])
    x.attach_grad()
    with autograd.record():
        slope = autograd.grad(3 * x, x, create_graph=True)[0]
        assert slope.asnumpy().tolist() == [3, 3]
        second = autograd.grad(slope, x, create_graph=True)[0]
        third = autograd.grad(second, x)[0]
        masked = autograd.grad(nd.Dropout(x), x, create_graph=True)[0]
        loss = (masked * x).sum()
    assert second.asnumpy().tolist() == third.asnumpy().tolist() == [0, 0]
    loss.backward()
    assert x.grad.asnumpy().tolist() == masked.asnumpy().tolist()


def test_copyto_passes_gradients_on():
    x, target = variable([1, 2]), nd.zeros(2, dtype="float64")
    with autograd.record():
        (x * 3).copyto(target)
        y = target * target
    y.backward()
    assert x.grad.asnumpy().tolist() == [18, 36]
    leaf = variable([0, 0])
    with autograd.record(), pytest.raises(MXNetError, match="computational graph"):
        (x * 3).copyto(leaf)
    nd.ones(2).copyto(leaf)
    assert leaf.asnumpy().tolist() == [1, 1]


def test_dropout_that_keeps_all_is_not_recorded_in_a_pause():
    x = variable([1, 2])
    with autograd.record(train_mode=False):
        y = nd.Dropout(x, p=0.5)
        with autograd.pause():
            z = nd.Dropout(x, p=0.5)
        out = y + z
    out.backward()
    assert x.grad.asnumpy().tolist() == [1, 1]
