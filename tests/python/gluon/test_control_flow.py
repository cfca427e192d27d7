"""contrib.foreach, while_loop and cond: on arrays, on symbols, in hybridized blocks."""

from collections import defaultdict

import numpy
import pytest

from headrace import autograd, gluon, nd, sym
from headrace.attribute import AttrScope
from headrace.gluon import nn


class Block(nn.HybridBlock):
    def __init__(self, function):
        super().__init__()
        self._function = function

    def hybrid_forward(self, F, *args):
        return self._function(F, *args)


def results_of(function, *inputs):
    """Values and gradients, eager and hybridized."""
    found = []
    for hybrid in (False, True):
        net = Block(function)
        net.hybridize(hybrid)
        arrays = [one.copy() for one in inputs]
        for one in arrays:
            one.attach_grad()
        with autograd.record():
            out = net(*arrays)
            total = sum((one * one).sum() for one in out)
        total.backward()
        found.append([one.asnumpy() for one in out] + [one.grad.asnumpy() for one in arrays])
    for a, b in zip(*found):
        numpy.testing.assert_allclose(a, b, rtol=1e-6)
    return found[0]


def running_sum(F, x, s):
    outs, state = F.contrib.foreach(lambda e, st: (e * 2 + st, e + st), x, s)
    return [outs, state]


def test_foreach():
    outs, state, dx, ds = results_of(running_sum, nd.array([[1.0], [2.0], [3.0]]), nd.array([10.0]))
    assert outs.ravel().tolist() == [12, 15, 19]
    assert state.tolist() == [16]
    assert dx.shape == (3, 1) and ds.shape == (1,)


def test_foreach_over_nested_lists():
    def body(entry, states):
        (a, b), (s, t) = entry, states
        return [a + s, [b * t]], [s + 1, t + b]

    def function(F, a, b, s, t):
        (x, (y,)), (s, t) = F.contrib.foreach(body, [a, b], [s, t])
        return [x, y, s, t]

    ones = nd.ones((4, 2))
    results = results_of(function, ones, ones * 2, nd.zeros(2), nd.ones(2))
    assert results[0][:, 0].tolist() == [1, 2, 3, 4]
    assert results[1][:, 0].tolist() == [2, 6, 10, 14]


def test_foreach_uses_what_lies_outside():
    def function(F, x, s, w):
        scaled = F.tanh(w)
        outs, state = F.contrib.foreach(lambda e, st: (e * scaled, st + e * w), x, s)
        return [outs, state]

    results_of(function, nd.array([[1.0, 2.0], [3.0, 4.0]]), nd.zeros(2), nd.array([0.5, 2.0]))


def test_foreach_uses_twice_what_lies_outside():
    def function(F, x, s, w):
        scaled, (low, high) = w * 2, F.split(w, num_outputs=2, axis=0)

        def step(e, st):
            return e * scaled + F.concat(high, high, dim=0), st + e * scaled * F.concat(high, low, dim=0)

        outs, state = F.contrib.foreach(step, x, s)
        return [outs, state]

    results_of(function, nd.array([[1.0, 2, 3, 4], [3, 4, 5, 6]]), nd.zeros(4), nd.array([0.5, 2.0, 1, 3]))


def test_one_variable_stands_for_what_lies_outside():
    outside = sym.var("w") * 2
    out, _ = sym.contrib.foreach(
        lambda e, s: (e * outside + outside, [s[0] + e]), sym.var("x"), [sym.var("s")]
    )
    assert out.eval(x=nd.ones((2, 1)), s=nd.ones(1), w=nd.ones(1))[0].asnumpy().ravel().tolist() == [4, 4]
    assert out.attr("num_args") == "4"


def test_entries_of_numbers_have_one_element():
    outs, state, dx, ds = results_of(running_sum, nd.array([1.0, 2.0, 3.0]), nd.array([10.0]))
    assert outs.shape == (3, 1) and state.shape == (1,) and dx.shape == (3,) and ds.shape == (1,)
    out, last = sym.contrib.foreach(lambda e, s: (e + s, e + s), sym.var("x"), sym.var("s"))
    assert sym.Group([out, last]).infer_shape(x=(5,)) == ([(5,), (1,)], [(5, 1), (1,)], [])


def test_foreach_inside_foreach():
    def function(F, x, s):
        def outer(row, st):
            outs, last = F.contrib.foreach(lambda e, inner: (e + inner, e * st), row, st)
            return outs, last

        outs, state = F.contrib.foreach(outer, x, s)
        return [outs, state]

    results_of(function, nd.array(numpy.arange(12.0).reshape(3, 2, 2)), nd.ones(2))


def powers(F, x):
    outs, (i, last) = F.contrib.while_loop(
        lambda i, t: F.sum(i) < 3, lambda i, t: (t * t, [i + 1, t * 2]), [x * 0, x], max_iterations=5
    )
    return [outs, i, last]


def test_while_loop():
    outs, i, last, _ = results_of(powers, nd.array([1.0]))
    assert outs.ravel().tolist() == [1, 4, 16, 0, 0]
    assert i.tolist() == [3] and last.tolist() == [8]


def test_loop_variables_may_be_nested():
    def function(F, x):
        outs, (i, (last, [square])) = F.contrib.while_loop(
            lambda i, _: F.sum(i) < 3,
            lambda i, pair: (pair[0], [i + 1, [pair[0] * 2, [pair[0] * pair[1][0]]]]),
            [x * 0, [x, [x]]],
            max_iterations=4,
        )
        return [outs, i, last, square]

    outs, i, last, square, _ = results_of(function, nd.array([1.0]))
    assert outs.ravel().tolist() == [1, 2, 4, 0]
    assert (i.item(), last.item(), square.item()) == (3, 8, 8)


def test_states_that_start_alike_go_on_by_themselves():
    def function(F, x, s):
        outs, (sums, products) = F.contrib.foreach(
            lambda e, states: (states[0] * states[1], [states[0] + e, states[1] * e]), x, [s, s]
        )
        return [outs, sums, products]

    outs, sums, products, *_ = results_of(function, nd.array([[2.0], [3.0]]), nd.array([1.0]))
    assert outs.ravel().tolist() == [1, 6] and (sums.item(), products.item()) == (6, 6)


def test_while_loop_that_stops_at_the_limit():
    (outs,), last = nd.contrib.while_loop(
        lambda x: x < 100, lambda x: ([x], x + 1), nd.array([0.0]), max_iterations=2
    )
    assert outs.asnumpy().ravel().tolist() == [0, 1] and last.asscalar() == 2


def test_while_loop_without_a_step():
    outs, (x,) = nd.contrib.while_loop(
        lambda x: x < 0, lambda x: (x, [x]), [nd.array([1.0])], max_iterations=3
    )
    assert outs == [] and x.asscalar() == 1


@pytest.mark.parametrize("value, expected", [(1.0, -8), (4.0, 18)])
def test_cond(value, expected):
    def function(F, x, y):
        z = x * 2
        return [F.contrib.cond(F.sum(x) > 3, lambda: z + y, lambda: z - y)]

    assert results_of(function, nd.array([value]), nd.array([10.0]))[0].tolist() == [expected]


def test_loops_over_layers_finish_their_initialization(tmp_path):
    class Recurrent(nn.HybridBlock):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            with self.name_scope():
                self.dense = nn.Dense(3, flatten=False)

        def hybrid_forward(self, F, x, s):
            return F.contrib.foreach(lambda e, st: (self.dense(e) + st, st * 2), x, s)

    net = Recurrent()
    net.initialize()
    x, s = nd.ones((4, 2, 5)), nd.ones((2, 3))
    net.hybridize()
    outs, state = net(x, s)
    assert net.dense.weight.shape == (3, 5)
    net.hybridize(False)
    numpy.testing.assert_allclose(net(x, s)[0].asnumpy(), outs.asnumpy(), rtol=1e-6)
    net.hybridize()
    net(x, s)
    net.export(str(tmp_path / "net"))
    loaded = gluon.SymbolBlock.imports(
        str(tmp_path / "net-symbol.json"), ["data0", "data1"], str(tmp_path / "net-0000.params")
    )
    assert (loaded(x, s)[0].asnumpy() == outs.asnumpy()).all()


def test_symbols():
    x, s = sym.var("x"), sym.var("s")
    net = sym.Group(running_sum(sym, x, s))
    assert net.list_arguments() == ["x", "s"]
    outs, state = net.eval(x=nd.array([[1.0], [2.0]]), s=nd.array([0.0]))
    assert outs.asnumpy().ravel().tolist() == [2, 5] and state.asscalar() == 3
    again = sym.fromjson(net.tojson())
    assert again.tojson() == net.tojson()
    assert net.infer_shape(x=(7, 2), s=(2,))[1] == [(7, 2), (2,)]


def test_errors():
    x = nd.ones((2, 2))
    with pytest.raises(TypeError):
        nd.contrib.foreach(lambda e, s: (e, s), 3, x)
    with pytest.raises(ValueError, match="one length"):
        nd.contrib.foreach(lambda e, s: (e, s), [x, nd.ones((3, 2))], x)
    with pytest.raises(AssertionError, match="formats"):
        nd.contrib.foreach(lambda e, s: (e, [s, s]), x, x)
    with pytest.raises(ValueError, match="max_iterations"):
        nd.contrib.while_loop(lambda x: x, lambda x: (x, x), x)
    with pytest.raises(ValueError, match="at least one"):
        nd.contrib.while_loop(lambda: 1, lambda: ([], []), [], max_iterations=1)
    with pytest.raises(ValueError, match="one value"):
        nd.contrib.cond(x, lambda: x, lambda: x)
    a, b = sym.var("a"), sym.var("b")
    with pytest.raises(AssertionError, match="used in the body"):
        sym.contrib.foreach(lambda e, s: (e, e + 1), a, b)
    with pytest.raises(ValueError, match="structure"):
        sym.contrib.cond(a, lambda: [b, b], lambda: b)


def test_symbolic_loop_without_a_step():
    outs, last = sym.contrib.while_loop(
        lambda i, x: i < 0,
        lambda i, x: (x * 2, [i + 1, x + 1]),
        [sym.var("i"), sym.var("x")],
        max_iterations=3,
    )
    block = gluon.SymbolBlock(sym.Group([outs, *last]), [sym.var("i"), sym.var("x")])
    rows, i, x = block(nd.array([1]), nd.array([[5, 6]], dtype="float64"))
    assert rows.shape == (3, 1, 2) and rows.dtype == numpy.float64 and not rows.asnumpy().any()
    assert i.asnumpy().tolist() == [1] and x.asnumpy().tolist() == [[5, 6]]


def test_parameters_inside_bodies_are_completed():
    class Looped(nn.HybridBlock):
        def __init__(self):
            super().__init__()
            with self.name_scope():
                self.inner = nn.Dense(4)

        def hybrid_forward(self, F, i, x):
            outs, _ = F.contrib.while_loop(
                lambda i, x: i < 2, lambda i, x: (self.inner(x), [i + 1, x + 1]), [i, x], max_iterations=3
            )
            return outs

    net = Looped()
    net.initialize()
    net.hybridize()
    assert net(nd.zeros(1), nd.ones((2, 5))).shape == (3, 2, 4)
    assert net.inner.weight.shape == (4, 5)


def test_first_values_of_loop_variables_stay_what_they_are():
    start = sym.var("x") * 1
    out, _ = sym.contrib.while_loop(lambda v: v < 100, lambda v: (v, v + start), [start], max_iterations=4)
    assert out.eval(x=nd.array([1.0]))[0].asnumpy().ravel().tolist() == [1, 2, 3, 4]


def test_attr_scopes_count_the_bodies_of_each_name(monkeypatch):
    counts = defaultdict(int)
    monkeypatch.setattr(AttrScope, "_subgraph_names", counts)
    x = sym.var("x")
    for _ in range(2):
        sym.contrib.cond(x > 0, lambda: x * 2, lambda: x * 3, name="branch")
    sym.contrib.foreach(lambda e, s: (e + s, s), x, sym.var("s"), name="loop")
    assert counts == {"branch_pred": 2, "branch_then": 2, "branch_else": 2, "loop": 1}
