"""Shapes and dtypes of graphs from those of some inputs: what is known, forwards and backwards."""

import json

import numpy
import pytest

import headrace as mx
from headrace import gluon, nd, sym
from headrace.util import np_shape

# Expression (of the symbols d, l and z), known shapes, and what MXNet 1.9.1 infers from them: shapes of the
# arguments, of the outputs, of the auxiliary states.
SHAPES = [
    ("S.FullyConnected(d, num_hidden=4, name='fc')", {"d": (0, 5)}, [(0, 5), (4, 5), (4,)], [(0, 4)]),
    ("S.FullyConnected(d, num_hidden=4, name='fc')", {"d": (0, 2, 3)}, [(0, 2, 3), (4, 6), (4,)], [(0, 4)]),
    (
        "S.FullyConnected(d, num_hidden=4, flatten=False, name='fc')",
        {"d": (0, 2, 3)},
        [(0, 2, 3), (4, 3), (4,)],
        [(0, 2, 4)],
    ),
    ("S.FullyConnected(d, num_hidden=4, name='fc') + l", {"d": (0, 5), "l": (7, 4)},
     [(7, 5), (4, 5), (4,), (7, 4)], [(7, 4)]),
    ("d + l", {"d": (3, 0), "l": (0, 5)}, [(3, 5), (3, 5)], [(3, 5)]),
    ("(d + l) * 2", {"d": (3, 0)}, [(3, 0), (3, 0)], [(3, 0)]),
    ("S.tanh(d) * 2 + l", {"l": (3, 5)}, [(3, 5), (3, 5)], [(3, 5)]),
    ("S.Activation(d, act_type='relu') + l", {"l": (0, 6)}, [(0, 6), (0, 6)], [(0, 6)]),
    ("S.cast(d, dtype='float16') + l", {"l": (2, 3)}, [(2, 3), (2, 3)], [(2, 3)]),
    ("S.BlockGrad(d) + l", {"l": (2, 3)}, [(2, 3), (2, 3)], [(2, 3)]),
    ("S.broadcast_add(d, l)", {"d": (0, 5), "l": (1, 5)}, [(0, 5), (1, 5)], [(0, 5)]),
    ("S.Convolution(d, kernel=(3, 3), num_filter=4, name='c')", {"d": (0, 3, 8, 8)},
     [(0, 3, 8, 8), (4, 3, 3, 3), (4,)], [(0, 4, 6, 6)]),
    ("S.Convolution(d, kernel=(3, 3), num_filter=4, name='c')", {"d": (2, 3, 0, 8)},
     [(2, 3, 0, 8), (4, 3, 3, 3), (4,)], [(2, 4, 0, 6)]),
    ("S.Convolution(d, kernel=(3, 3), num_filter=4, name='c')", {"d": (2, 0, 8, 8)},
     [(2, 0, 8, 8), (4, 0, 3, 3), (4,)], [(2, 4, 6, 6)]),
    ("S.Convolution(d, kernel=(3, 3), num_filter=4, name='c') + l", {"d": (0, 3, 0, 0), "l": (2, 4, 6, 6)},
     [(2, 3, 8, 8), (4, 3, 3, 3), (4,), (2, 4, 6, 6)], [(2, 4, 6, 6)]),
    ("S.Convolution(d, kernel=(3, 3), stride=(2, 2), num_filter=4, name='c') + l",
     {"d": (0, 3, 0, 0), "l": (2, 4, 6, 6)},
     [(2, 3, 0, 0), (4, 3, 3, 3), (4,), (2, 4, 6, 6)], [(2, 4, 6, 6)]),
    ("S.Deconvolution(d, kernel=(3, 3), num_filter=4, no_bias=True, name='c')", {"d": (0, 3, 8, 8)},
     [(0, 3, 8, 8), (3, 4, 3, 3)], [(0, 4, 10, 10)]),
    ("S.Pooling(d, global_pool=True, kernel=(1, 1))", {"d": (0, 3, 0, 0)}, [(0, 3, 0, 0)], [(0, 3, 1, 1)]),
    ("S.BatchNorm(d, name='bn')", {"d": (0, 3, 0, 0)},
     [(0, 3, 0, 0), (3,), (3,)], [(0, 3, 0, 0)], [(3,), (3,)]),
    ("S.LayerNorm(d, name='ln')", {"d": (0, 3)}, [(0, 3), (3,), (3,)], [(0, 3)]),
    ("S.Embedding(d, input_dim=10, output_dim=4, name='e')", {"d": (0, 3)}, [(0, 3), (10, 4)], [(0, 3, 4)]),
    ("S.reshape(d, shape=(-1, 4))", {"d": (0, 3, 4)}, [(0, 3, 4)], [(0, 4)]),
    ("S.reshape(d, shape=(6, 4))", {"d": (0, 3, 4)}, [(2, 3, 4)], [(6, 4)]),
    ("S.reshape(d, shape=(-1, 4)) + l", {"d": (0, 3, 4), "l": (6, 4)}, [(2, 3, 4), (6, 4)], [(6, 4)]),
    ("S.transpose(d, axes=(1, 0, 2))", {"d": (0, 3, 4)}, [(0, 3, 4)], [(3, 0, 4)]),
    ("S.transpose(d, axes=(1, 0, 2)) + l", {"l": (5, 3, 4)}, [(3, 5, 4), (5, 3, 4)], [(5, 3, 4)]),
    ("S.swapaxes(d, dim1=0, dim2=1)", {"d": (0, 3, 4)}, [(0, 3, 4)], [(3, 0, 4)]),
    ("S.expand_dims(d, axis=1) + l", {"l": (5, 1, 2)}, [(5, 2), (5, 1, 2)], [(5, 1, 2)]),
    ("S.Concat(d, l, dim=1)", {"d": (0, 3), "l": (5, 4)}, [(5, 3), (5, 4)], [(5, 7)]),
    ("S.Concat(d, l, dim=1)", {"d": (5, 3), "l": (0, 0)}, [(5, 3), (5, 0)], [(5, 0)]),
    ("S.split(d, num_outputs=3, axis=1)", {"d": (0, 6)}, [(0, 6)], [(0, 2)] * 3),
    ("S.split(d, num_outputs=6, axis=1, squeeze_axis=True)[1] + l", {"d": (0, 6), "l": (5,)},
     [(5, 6), (5,)], [(5,)]),
    ("S.slice_axis(d, axis=1, begin=0, end=2)", {"d": (0, 6)}, [(0, 6)], [(0, 2)]),
    ("S.sum(d, axis=1)", {"d": (0, 6)}, [(0, 6)], [(0,)]),
    ("S.softmax(d)", {"d": (0, 6)}, [(0, 6)], [(0, 6)]),
    ("S.Dropout(d)", {"d": (0, 6)}, [(0, 6)], [(0, 6)]),
    ("S.dot(d, l)", {"d": (0, 6), "l": (6, 3)}, [(0, 6), (6, 3)], [(0, 3)]),
    ("S.UpSampling(d, scale=2, sample_type='nearest')", {"d": (0, 3, 4, 4)}, [(0, 3, 4, 4)], [(0, 3, 8, 8)]),
    ("S.pick(d, l, axis=1)", {"d": (0, 4, 3), "l": (0, 3)}, [(0, 4, 3), (0, 3)], [(0, 3)]),
    ("S.pick(d, l, keepdims=True)", {"d": (0, 4, 3), "l": (0, 4)}, [(0, 4, 3), (0, 4)], [(0, 4, 1)]),
    ("S.Pad(d, mode='constant', pad_width=(0, 0, 0, 0, 1, 1, 1, 1))", {"d": (0, 4, 2, 2)},
     [(0, 4, 2, 2)], [(0, 4, 4, 4)]),
    ("S.repeat(d, 2, axis=1)", {"d": (0, 4, 2)}, [(0, 4, 2)], [(0, 8, 2)]),
    ("S.SequenceMask(d)", {"d": (0, 4, 2)}, [(0, 4, 2)], [(0, 4, 2)]),
    ("S.SequenceLast(d)", {"d": (0, 2, 4)}, [(0, 2, 4)], [(2, 4)]),
    ("S.SequenceReverse(d)", {"d": (0, 2, 4)}, [(0, 2, 4)], [(0, 2, 4)]),
    ("S.MakeLoss(d)", {"d": (0, 4)}, [(0, 4)], [(0, 4)]),
    ("S.space_to_depth(d, 2)", {"d": (0, 2, 2, 4)}, [(0, 2, 2, 4)], [(0, 8, 1, 2)]),
    ("S.moments(d, axes=(1,))", {"d": (0, 2, 4)}, [(0, 2, 4)], [(0, 4), (0, 4)]),
    ("S.shape_array(d)", {"d": (0, 2, 4)}, [(0, 2, 4)], [(3,)]),
    ("S.zeros((0, 6)) + d", {"d": (4, 6)}, [(4, 6)], [(4, 6)]),
    ("S.FullyConnected(S.zeros((0, 6)), num_hidden=3, name='h') + d", {"d": (4, 3)},
     [(3, 6), (3,), (4, 3)], [(4, 3)]),
]  # fmt: skip


def inferred(text, known, mx):
    with mx.name.NameManager():
        names = {"S": mx.sym, **{name: mx.sym.var(name) for name in "dlz"}}
        return eval(text, names).infer_shape_partial(**known)


@pytest.mark.parametrize("case", SHAPES, ids=lambda case: f"{case[0]} {case[1]}")
def test_shapes(case):
    text, known, arguments, outputs, *auxiliary = case
    assert inferred(text, known, mx) == (arguments, outputs, auxiliary[0] if auxiliary else [])


def test_shapes_are_those_of_mxnet(mxnet_peer):
    cases = [(text, known) for text, known, *_ in SHAPES]
    theirs = mxnet_peer(
        f"import json\nimport mxnet\n"
        "def inferred(text, known, mx):\n"
        "    names = {'S': mx.sym, **{name: mx.sym.var(name) for name in 'dlz'}}\n"
        "    return eval(text, names).infer_shape_partial(**known)\n"
        f"print(json.dumps([inferred(text, known, mxnet) for text, known in {cases!r}]))"
    )
    for (text, known), expected in zip(cases, theirs):
        assert json.loads(json.dumps(inferred(text, known, mx))) == expected, text


def test_more_than_mxnet_is_known():
    known = {"d": (0, 3, 4)}
    assert inferred("S.reshape(d, shape=(0, -1))", known, mx)[1] == [(0, 12)]
    assert inferred("S.Flatten(d)", known, mx)[1] == [(0, 12)]
    assert inferred("S.Pooling(d, kernel=(2,), stride=(2,), pool_type='max')", known, mx)[1] == [(0, 3, 2)]
    assert inferred("S.FullyConnected(d, num_hidden=2, name='fc')", {}, mx)[0] == [(), (2, 0), (2,)]


def test_a_slice_of_an_unknown_axis_is_not_known():
    known = {"d": (0, 6)}
    assert inferred("S.slice_axis(d, axis=0, begin=0, end=2)", known, mx)[1] == [(0, 6)]


def test_np_shapes_say_unknown_with_minus_one():
    with np_shape(True):
        total = sym.var("a") + sym.var("b")
        assert total.infer_shape_partial(a=(-1, 5), b=(3, -1)) == ([(3, 5), (3, 5)], [(3, 5)], [])
        assert total.infer_shape_partial(a=(-1, 0)) == ([(-1, 0), (-1, 0)], [(-1, 0)], [])


def test_dtypes_that_contradict():
    both = sym.var("a") + sym.var("b")
    with pytest.raises(mx.MXNetError, match="float64 and float32"):
        both.infer_type(a="float64", b="float32")
    assert both.infer_type(a="float64", b="float64")[1] == [numpy.float64]


def test_given_shapes_go_before_those_of_variables():
    dense = sym.FullyConnected(sym.var("data", shape=(2, 9)), num_hidden=3, name="f")
    assert dense.infer_shape(data=(5, 9)) == ([(5, 9), (3, 9), (3,)], [(5, 3)], [])
    assert dense.infer_shape(data=(5, 0))[1] == [(5, 3)]  # what is not given is as the variable says
    assert dense.simple_bind(mx.cpu(), data=(5, 4)).arg_dict["f_weight"].shape == (3, 4)


def test_a_copy_that_is_like_another_array():
    """A shape goes from either input to the other, and back from the result."""
    weight, shift = sym.var("weight"), sym.var("shift", shape=(1,))
    like = sym._internal._identity_with_attr_like_rhs(sym.broadcast_add(weight, shift), weight)
    dense = sym.FullyConnected(sym.var("data"), like, num_hidden=11, no_bias=True)
    shapes, outputs, _ = dense.infer_shape(data=(7, 100))
    assert dict(zip(dense.list_arguments(), shapes))["weight"] == (11, 100) and outputs == [(7, 11)]
    values = {"weight": nd.array([[1, 2]]), "shift": nd.array([3])}
    gradients = {name: nd.zeros(value.shape) for name, value in values.items()}
    executor = like.bind(mx.cpu(), values, gradients)
    assert executor.forward(is_train=True)[0].asnumpy().tolist() == [[4, 5]]
    executor.backward(nd.ones((1, 2)))
    assert gradients["weight"].asnumpy().tolist() == [[1, 1]] and gradients["shift"].asscalar() == 2
    with pytest.raises(mx.MXNetError, match=r"\(1, 2\).*\(2,\)"):
        nd._internal._identity_with_attr_like_rhs(nd.ones((1, 2)), nd.ones((2,)))


def test_shapes_that_do_not_fit():
    both = sym.var("a") + sym.var("b")
    with pytest.raises(mx.MXNetError, match=r"\(3, 2\).*\(3, 5\)|\(3, 5\).*\(3, 2\)"):
        both.infer_shape(a=(3, 2), b=(3, 5))
    with pytest.raises(mx.MXNetError, match="Shape inconsistent"):
        sym.Concat(sym.var("a"), sym.var("b"), dim=1).infer_shape_partial(a=(3, 2), b=(4, 5))


def test_open_extents_are_filled_in_when_the_graph_runs():
    x = nd.array(numpy.arange(24).reshape(4, 6))
    made = sym.zeros((0, 6)) + sym.var("x") * 2
    assert made.eval(x=x)[0].asnumpy().tolist() == (x * 2).asnumpy().tolist()
    assert sym.ones((2, 3)).eval()[0].shape == (2, 3)
    hidden = sym.FullyConnected(sym.ones((0, 2)), sym.var("w"), num_hidden=6, no_bias=True)
    executor = (hidden + sym.var("x")).simple_bind(mx.cpu(), x=(4, 6))
    assert executor.arg_dict["w"].shape == (6, 2)
    executor.arg_dict["w"][:] = 1
    executor.arg_dict["x"][:] = x
    assert executor.forward(is_train=True)[0].asnumpy().tolist() == (x + 2).asnumpy().tolist()
    executor.backward(nd.ones((4, 6)))
    assert executor.grad_dict["w"].asnumpy().tolist() == [[4, 4]] * 6
    drawn = (sym.random.uniform(0, 1, shape=(0, 6)) + sym.var("x")).eval(x=x)[0]
    assert drawn.shape == (4, 6)


def test_a_recurrent_block_begins_with_zeros_of_any_batch():
    class Cell(gluon.HybridBlock):
        def __init__(self):
            super().__init__()
            self.inner = gluon.nn.Dense(3, flatten=False)

        def hybrid_forward(self, F, x):
            return self.inner(x) + F.FullyConnected(
                F.zeros((0, 2)), F.ones((3, 2)), num_hidden=3, no_bias=True
            )

    block = Cell()
    block.initialize()
    block.hybridize()
    for batch in (2, 5):
        assert block(nd.ones((batch, 4))).shape == (batch, 3)


def test_a_range_is_as_long_as_its_users_need():
    open_range = sym.arange(2, step=3, infer_range=True)
    total = sym.elemwise_add(open_range, sym.var("x"))
    for count in (5, 2):
        expected = numpy.arange(2, 2 + 3 * count, 3).tolist()
        assert total.eval(x=nd.zeros((count,)))[0].asnumpy().tolist() == expected
        assert sym.fromjson(total.tojson()).eval(x=nd.zeros((count,)))[0].asnumpy().tolist() == expected
    assert total.infer_shape_partial()[1] == [(0,)] and total.infer_shape(x=(4,))[1] == [(4,)]
    twice = sym.elemwise_add(sym.arange(0, repeat=2, infer_range=True), sym.zeros((6,)))
    assert twice.eval()[0].asnumpy().tolist() == [0, 0, 1, 1, 2, 2]
    assert sym.arange(4, infer_range=False).eval()[0].shape == (4,)
    with pytest.raises(mx.MXNetError, match="Shape inconsistent"):
        total.eval(x=nd.zeros((2, 2)))


D, F16, F32, F64 = None, "float16", "float32", "float64"
# The same for dtypes.
TYPES = [
    ("S.FullyConnected(d, num_hidden=4, name='fc')", {}, [D] * 3, [D]),
    ("S.FullyConnected(d, num_hidden=4, name='fc')", {"d": F64}, [F64] * 3, [F64]),
    ("S.FullyConnected(d, num_hidden=4, name='fc')", {"fc_weight": F16}, [F16] * 3, [F16]),
    ("d + l", {"l": F64}, [F64] * 2, [F64]),
    ("S.tanh(d) + l", {"l": F64}, [F64] * 2, [F64]),
    ("S.reshape(d, shape=(0, -1)) + l", {"l": F64}, [F64] * 2, [F64]),
    ("S.broadcast_add(d, l)", {"l": F64}, [F64] * 2, [F64]),
    ("S.cast(d, dtype='float16') + l", {}, [D, F16], [F16]),
    ("S.Embedding(d, input_dim=9, output_dim=4, name='e')", {"d": "int32"}, ["int32", F32], [F32]),
    ("S.BatchNorm(d, name='bn')", {"d": F16}, [F16, F32, F32], [F16], [F32, F32]),
    ("S.Convolution(d, kernel=(3, 3), num_filter=4, name='c')", {"d": F16}, [F16] * 3, [F16]),
    ("S.SoftmaxOutput(d, l)", {"d": F64}, [F64] * 2, [F64]),
    ("d + 1", {}, [D], [D]),
    ("S.zeros((2, 3)) + d", {}, [F32], [F32]),
    ("S.Group([d + 1, l * 2])", {"d": F16}, [F16, D], [F16, D]),
    ("S.Concat(d, l)", {"l": F16}, [F16] * 2, [F16]),
    ("S.var('q', dtype='int32') + l", {}, ["int32"] * 2, ["int32"]),
]


def types_of(text, known, mx):
    with mx.name.NameManager():
        names = {"S": mx.sym, **{name: mx.sym.var(name) for name in "dlz"}}
        found = eval(text, names).infer_type_partial(**known)
    return [[None if one is None else numpy.dtype(one).name for one in part] for part in found]


@pytest.mark.parametrize("case", TYPES, ids=lambda case: f"{case[0]} {case[1]}")
def test_types(case):
    text, known, arguments, outputs, *auxiliary = case
    assert types_of(text, known, mx) == [arguments, outputs, auxiliary[0] if auxiliary else []]


def test_types_are_those_of_mxnet(mxnet_peer):
    cases = [(text, known) for text, known, *_ in TYPES]
    theirs = mxnet_peer(
        "import json\nimport numpy\nimport mxnet\n"
        "def types_of(text, known, mx):\n"
        "    names = {'S': mx.sym, **{name: mx.sym.var(name) for name in 'dlz'}}\n"
        "    found = eval(text, names).infer_type_partial(**known)\n"
        "    return [[None if one is None else numpy.dtype(one).name for one in part] for part in found]\n"
        f"print(json.dumps([types_of(text, known, mxnet) for text, known in {cases!r}]))"
    )
    for (text, known), expected in zip(cases, theirs):
        assert types_of(text, known, mx) == expected, text


def test_types_that_are_not_all_known_are_none():
    assert (sym.Group([sym.var("a") + 1, sym.var("b") * 2])).infer_type(a="float16") == (None, None, None)


def test_shapes_in_bodies():
    def loop(i, x):
        return sym.FullyConnected(x, num_hidden=4, name="fc"), [i + 1, x + 1]

    outs, last = sym.contrib.while_loop(
        lambda i, x: i < 2, loop, [sym.var("i"), sym.var("x")], max_iterations=3
    )
    both = sym.Group([outs, *last])
    shapes = dict(zip(both.list_arguments(), both.infer_shape(i=(1,), x=(2, 5))[0]))
    assert shapes == {"i": (1,), "x": (2, 5), "fc_weight": (4, 5), "fc_bias": (4,)}
    assert both.infer_shape(i=(1,), x=(2, 5))[1] == [(3, 2, 4), (1,), (2, 5)]

    x = sym.var("x")
    branch = sym.contrib.cond(
        sym.var("p") > 0,
        lambda: sym.FullyConnected(x, num_hidden=4, name="a"),
        lambda: sym.FullyConnected(x, num_hidden=4, name="b"),
    )
    arguments, outputs, _ = branch.infer_shape(p=(1,), x=(2, 5))
    assert arguments == [(1,), (2, 5), (4, 5), (4,), (4, 5), (4,)] and outputs == [(2, 4)]
    assert branch.infer_type(p="float32", x="float64")[1] == [numpy.float64]

    outs, _ = sym.contrib.foreach(
        lambda entry, state: (sym.FullyConnected(entry, num_hidden=4, name="q") + state, state + 1),
        sym.var("d"),
        sym.var("s"),
    )
    arguments, outputs, _ = outs.infer_shape_partial(d=(3, 0, 5), s=(2, 4))
    assert arguments[1:] == [(2, 4), (4, 5), (4,)] and outputs == [(3, 2, 4)]
    assert outs.infer_shape_partial(d=(0, 2, 5))[1] == [(0, 2, 4)]


@pytest.mark.parametrize("shape", [(0, 2, 3), (), (4, 0)])
def test_zeros_that_variables_declare_are_extents_in_np_mode_alone(shape):
    result = sym.sin(sym.var("x", shape=shape))
    with np_shape(True):
        assert result.infer_shape() == ([shape], [shape], [])
        assert result.infer_shape_partial()[1] == [shape]
        assert sym.sin(sym.var("x", shape=(-1, 2))).infer_shape_partial()[1] == [(-1, 2)]
        assert result.simple_bind(mx.cpu()).forward()[0].shape == shape
    assert result.infer_shape_partial()[1] == [shape]
    with pytest.warns(UserWarning, match="Cannot decide shape"):
        assert result.infer_shape() == (None, None, None)


@pytest.mark.parametrize("indices", ["float64", "float16", "int32", "float32"])
def test_tables_of_embeddings_hold_what_is_asked_for(indices):
    for dtype in ("float32", "float16"):
        rows = sym.Embedding(sym.var("data"), input_dim=3, output_dim=2, dtype=dtype, name="rows")
        inputs, outputs, _ = rows.infer_type(data=indices)
        assert [numpy.dtype(one).name for one in (*inputs, *outputs)] == [indices, dtype, dtype]
