"""Keywords that MXNet's functions take are taken."""

import numpy as np
import pytest

import headrace as mx


def test_of_arrays():
    x = mx.nd.array([[1, 2]])
    assert x.expand_dims(0, inplace=True).shape == x.expand_dims(axis=0).shape == (1, 1, 2)
    assert x.squeeze(inplace=True).shape == x.squeeze(axis=0).shape == (2,)
    assert mx.nd.ones((2, 3, 4)).flatten(inplace=True).shape == (2, 12)
    assert x.broadcast_like(other=mx.nd.ones((3, 2))).shape == (3, 2)
    assert x.as_in_ctx(ctx=mx.cpu(1)).ctx == mx.cpu(1)
    y = mx.np.array([[3.0, 1.0]])
    for changed in (y.expand_dims(axis=0), y.squeeze(), y.broadcast_like(other=y), y.copy(order="C")):
        assert type(changed) is mx.np.ndarray
    assert y.astype("int32", order="K", casting="unsafe", subok=True, copy=True).dtype == np.int32
    with pytest.raises(TypeError, match="does not allow float32 to become int32"):
        y.astype("int32", casting="safe")
    assert y.astype("float32", copy=False) is y
    y.sort(axis=1, kind="stable")
    assert y.tolist() == [[1, 3]]
    with pytest.raises(NotImplementedError, match="order='C'"):
        y.copy(order="F")
    with pytest.raises(NotImplementedError, match="fields"):
        y.sort(order="a")


def test_of_creation():
    like = mx.np.ones((2, 3), dtype="int32")
    assert mx.np.full_like(like, 7, dtype=None, order="C", ctx=mx.cpu(1)).ctx == mx.cpu(1)
    assert mx.np.full_like(like, 7).tolist() == [[7] * 3] * 2
    assert mx.np.zeros_like(like, ctx=mx.cpu(1)).dtype == np.int32
    assert mx.np.ones_like(like, dtype="float32", ctx=None).dtype == np.float32
    assert mx.np.empty_like(like, subok=False, shape=(4,)).shape == (4,)
    assert mx.np.empty_like(like).dtype == np.int32
    out = mx.np.zeros(3)
    assert mx.np.full_like(mx.np.ones(3), 2, out=out) is out and out.tolist() == [2, 2, 2]
    assert mx.nd.zeros((2,), stype="default").shape == mx.nd.empty((2,), stype=None).shape == (2,)
    for make in (mx.nd.zeros, mx.nd.empty):
        assert make((2, 2), stype="csr").stype == "csr"
        with pytest.raises(ValueError, match="storage type 'dense' is unknown"):
            make((2, 2), stype="dense")
    shared = mx.nd.from_numpy(np.ones(2, "float32"), zero_copy=False, array_cls=mx.np.ndarray)
    assert type(shared) is mx.np.ndarray
    assert type(mx.nd.from_numpy(np.ones(2, "float32"), array_cls=mx.np.ndarray)) is mx.np.ndarray
    assert mx.nd.from_dlpack(dlpack=mx.nd.ones(2).to_dlpack_for_read()).shape == (2,)


def test_of_functions():
    x, s = mx.nd.array([2]), mx.sym.Variable("s")
    assert mx.nd.power(base=x, exp=3).asscalar() == 8 and mx.nd.power(3, x).asscalar() == 9
    for function in (mx.sym.power, mx.sym.pow):
        assert function(base=s, exp=2).eval(s=x)[0].asscalar() == 4 and function(2, 3) == 8
    assert mx.sym.load_json(json_str=s.tojson()).name == "s"
    assert type(mx.sym.Group([s, s], create_fn=type(s.as_np_ndarray()))) is type(s.as_np_ndarray())
    mx.npx.random.seed(seed=3)
    first = mx.np.random.uniform(size=2).tolist()
    mx.npx.random.seed(3, ctx="all")
    assert mx.np.random.uniform(size=2).tolist() == first
    assert mx.util.use_np(func=mx.util.is_np_array)() and mx.base.py_str(x=b"x") == "x"
    assert mx.AttrScope(a="1").get(attr={"b": "2"}) == {"a": "1", "b": "2"}


LONE_SURROGATE = "\ud800"


@pytest.mark.parametrize(
    "call",
    [
        lambda: mx.nd.relu(mx.nd.ones((2,)), **{LONE_SURROGATE: 1}),
        lambda: mx.np.exp(mx.np.ones((2,)), **{LONE_SURROGATE: 1}),
        lambda: mx.np.exp(mx.np.ones((2,)), casting=LONE_SURROGATE),
        lambda: mx.sym.relu(mx.sym.var("x"), **{LONE_SURROGATE: 1}),
        lambda: mx.nd.Activation(mx.nd.ones((2,)), act_type=LONE_SURROGATE),
        lambda: mx.nd.clip(mx.nd.ones((2,)), LONE_SURROGATE, 1),
        lambda: mx.nd.cast(mx.nd.ones((2,)), dtype=LONE_SURROGATE),
        lambda: mx.nd.ones((2,)).tostype(LONE_SURROGATE),
        lambda: mx.nd.Custom(mx.nd.ones((2,)), op_type=LONE_SURROGATE),
    ],
)
def test_texts_that_are_no_characters(call):
    with pytest.raises(UnicodeEncodeError):
        call()


def test_of_metrics():
    both = mx.metric.CompositeEvalMetric([mx.metric.Accuracy()])
    both.update_dict(labels={"l": mx.nd.array([1])}, preds={"p": mx.nd.array([[0, 1]])})
    assert both.get()[1] == [1.0]
    mx.metric.PCC(has_global_stats=True)


def test_of_nd_operators_without_attributes():
    a, b = mx.nd.array([1, 4]), mx.nd.array([3, 2])
    assert mx.nd.broadcast_maximum(a, b, axis=1).asnumpy().tolist() == [3, 4]
    assert mx.nd.relu(a, no_keyword=3).shape == (2,)
    with pytest.raises(TypeError, match="no_keyword"):
        mx.nd.sum(a, no_keyword=3)


UFUNC_KEYWORDS = [
    ({"where": False}, NotImplementedError),
    ({"subok": False}, NotImplementedError),
    ({"order": "C"}, NotImplementedError),
    ({"order": 3}, TypeError),
    ({"dtype": np.int8}, NotImplementedError),
    ({"dtype": "no dtype"}, TypeError),
    ({"casting": "safe"}, NotImplementedError),
    ({"casting": "no rule"}, TypeError),
    ({"no_keyword": 1}, TypeError),
]


@pytest.mark.parametrize("of_symbols", [False, True])
@pytest.mark.parametrize("name", ["absolute", "sin", "logical_not", "add", "power", "maximum", "matmul"])
def test_of_ufuncs(name, of_symbols):
    x = mx.sym.Variable("x").as_np_ndarray() if of_symbols else mx.np.ones((2, 2))
    arguments = (x,) if name in ("absolute", "sin", "logical_not") else (x, x)
    function = getattr(mx.sym.np if of_symbols else mx.np, name)
    function(*arguments, where=True, subok=True, order="K", dtype=None, casting="same_kind")
    for keywords, error in UFUNC_KEYWORDS:
        if of_symbols and "no_keyword" in keywords:
            continue
        with pytest.raises(error, match=next(iter(keywords))):
            function(*arguments, **keywords)


def test_of_functions_that_numpy_computes():
    x = mx.np.array([[1.0, 2.0, np.nan], [3.0, 5.0, 4.0]])
    assert mx.np.nanquantile(x, 0.5, interpolation="lower") == 3
    assert mx.np.nanpercentile(x, 50, interpolation="higher", axis=0).tolist() == [3, 5, 4]
    assert mx.np.array_equal(x, x, equal_nan=True) and not mx.np.array_equal(x, x)
    y = mx.np.array([[1.0, 2.0, 4.0], [4.0, 1.0, 0.0]])
    assert mx.np.array_equal(mx.np.corrcoef(y, bias=True, ddof=1), mx.np.corrcoef(y))
    counts, _, _ = mx.np.histogram2d(y[0], y[1], bins=2, normed=False)
    assert counts.sum() == 3


def test_of_symbols():
    x = mx.sym.var("x")
    for changed in (x.expand_dims(axis=0, inplace=True), x.squeeze(inplace=True), x.flatten(inplace=True)):
        assert changed.list_arguments() == ["x"]
    assert x.expand_dims(0, inplace=False).infer_shape(x=(2,))[1] == [(1, 2)]


def test_of_loaders_and_transforms():
    loader = mx.gluon.data.DataLoader(list(range(5)), batch_size=2, num_workers=1, thread_pool=True)
    loader.refresh()
    loader.clean()
    loader.refresh()
    assert [batch.asnumpy().tolist() for batch in loader] == [[0, 1], [2, 3], [4]]
    steps = mx.gluon.data.vision.transforms.Compose([lambda x: x + 1])
    steps.add(lambda x: 3 * x)
    assert steps(2) == 9
    with pytest.raises(DeprecationWarning, match="set_lr_mult"):
        mx.optimizer.SGD().set_lr_scale({})


def test_out_comes_before_keepdims_by_position():
    x = mx.np.array([[1.0, 3.0], [5.0, 7.0]])
    out = mx.np.zeros((2, 1))
    assert mx.np.mean(x, 1, None, out, True) is out and out.tolist() == [[2], [6]]
    assert mx.np.std(x, 1, None, None, 0, True).tolist() == [[1], [1]]
    assert x.max(0, None, True).tolist() == [[5, 7]] and x.sum(1, "float32", None, True).shape == (2, 1)
    assert mx.np.max(x, 0, True).tolist() == [[5, 7]]


def test_names_of_inputs():
    x = mx.np.array([[1.0, 0.0], [0.0, 1.0]])
    for keyword in ("v", "data"):
        assert mx.np.diag(**{keyword: x}).tolist() == [1, 1]
    assert mx.npx.nonzero(a=x).tolist() == mx.npx.nonzero(x=x).tolist() == [[0, 0], [1, 1]]
    assert mx.npx.constraint_check(x=x < 2).item()


def test_powers_are_new_arrays():
    x = mx.np.array([1, 4], dtype="int32")
    x **= mx.np.array([0.5, 0.5], dtype="float32")
    assert x.dtype == np.float32 and x.tolist() == [1, 2]
    for front in (mx.np, mx.nd):
        before = y = front.array([2.0])
        y **= front.ones((2, 1))
        assert before.asnumpy().tolist() == [2] and y.asnumpy().tolist() == [[2], [2]]
        before.attach_grad()
        with mx.autograd.record():
            z = before * 1
            z **= 3
        z.backward()
        assert before.grad.asnumpy().tolist() == [12]


def test_bits_are_changed_in_place():
    x = mx.np.array([1, 2, 4], dtype="int32")
    view = x[:2]
    view |= mx.np.array([4, 1], dtype="int32")
    assert x.tolist() == [5, 3, 4]
    x &= 6
    x ^= mx.np.array([1, 1, 1], dtype="int32")
    assert x.tolist() == [5, 3, 5]
    flags = mask = mx.np.array([1, 0]) > 0
    mask |= mx.np.array([0, 1]) > 0
    assert flags.tolist() == [True, True] and mask is flags


def test_negative_bools_are_whole_numbers():
    x = -(mx.np.array([1, 0]) > 0)
    assert x.dtype == np.int64 and x.tolist() == [-1, 0]


def test_rounding_by_the_standard_library():
    import math

    x = mx.np.array([2.5, -1.5])
    assert math.floor(x).tolist() == [2, -2]
    assert math.ceil(x).tolist() == [3, -1]
    assert math.trunc(x).tolist() == [2, -1]


@pytest.mark.parametrize(
    "call",
    [
        lambda a, out: mx.nd.exp(a, out),
        lambda a, out: mx.nd.elemwise_add(a, a, out),
        lambda a, out: mx.nd.Activation(a, "relu", out, "name"),
        lambda a, out: mx.nd.clip(a, 2, 3, out),
        lambda a, out: mx.nd.dot(a, a, False, False, None, out),
        lambda a, out: mx.nd.full((2, 2), 3, None, "float32", out),
        lambda a, out: mx.nd.sgd_update(a, a, 0.1, 0.0, 1.0, -1.0, True, out),
    ],
)
def test_out_and_name_follow_the_parameters_by_position(call):
    out = mx.nd.zeros((2, 2))
    assert call(mx.nd.ones((2, 2)), out) is out and out.asnumpy().all()
    for surplus in ((None, "name", 1), (3,)):
        with pytest.raises(TypeError, match="at most 1 positional arguments"):
            mx.nd.exp(out, *surplus)


def test_name_and_attr_follow_the_parameters_of_symbols():
    x = mx.sym.var("x")
    assert mx.sym.Flatten(x, "flat").name == "flat"
    assert mx.sym.Activation(x, "relu", "act").name == "act"
    assert mx.sym.broadcast_add(x, x, "sum", {"mood": "good"}).attr("mood") == "good"
    with pytest.raises(TypeError, match="positional arguments"):
        mx.sym.exp(x, "name", {}, None, 1)


def test_out_follows_the_axis_of_np_functions_that_join():
    a = mx.np.ones((2, 3))
    for out, join in (
        (mx.np.zeros((2, 6)), lambda out: mx.np.concatenate((a, a), 1, out)),
        (mx.np.zeros((2, 2, 3)), lambda out: mx.np.stack([a, a], 0, out)),
        (mx.np.zeros((4, 3)), lambda out: mx.np.vstack((a, a), out)),
    ):
        assert join(out) is out and out.asnumpy().all()
    assert mx.np.concatenate([a, a], 0, None).shape == (4, 3)


def test_of_updates_by_position():
    arrays = [mx.nd.ones((2,)) for _ in range(4)]
    by_position = mx.nd.contrib.adamw_update(*arrays, 1, 0.1, 1.0, 0.8, 0.99, 1e-6, 0.1, 0.5)
    arrays = [mx.nd.ones((2,)) for _ in range(4)]
    by_name = mx.nd.contrib.adamw_update(
        *arrays,
        rescale_grad=1,
        lr=0.1,
        eta=1.0,
        beta1=0.8,
        beta2=0.99,
        epsilon=1e-6,
        wd=0.1,
        clip_gradient=0.5,
    )
    assert by_position.asnumpy().tolist() == by_name.asnumpy().tolist()


def test_states_of_modified_cells_begin_with_a_function_or_a_size():
    cell = mx.gluon.rnn.ResidualCell(mx.gluon.rnn.RNNCell(3))
    assert cell.begin_state(mx.nd.ones, batch_size=2)[0].asnumpy().tolist() == [[1] * 3] * 2
    assert cell.begin_state(2)[0].asnumpy().tolist() == cell.begin_state(batch_size=2)[0].asnumpy().tolist()


@pytest.mark.parametrize("name", ["all", "any", "sometrue", "diag", "diagflat", "diagonal", "trace"])
def test_symbols_of_np_call_their_input_data(name):
    function, x = getattr(mx.sym.np, name), mx.sym.var("x").as_np_ndarray()
    values = {"x": mx.np.array([[0.0, 1], [2, 3]])}
    results = [symbol.eval(**values)[0].asnumpy() for symbol in (function(data=x), function(x))]
    assert (results[0] == results[1]).all()
