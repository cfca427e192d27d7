"""Pointwise operators against NumPy, with MXNet's dtype rules."""

import math

import numpy
import pytest

import headrace
from headrace import autograd, nd, np, npx

UNARY = {
    "negative": numpy.negative,
    "abs": numpy.abs,
    "sign": numpy.sign,
    "square": numpy.square,
    "reciprocal": numpy.reciprocal,
    "sqrt": numpy.sqrt,
    "cbrt": numpy.cbrt,
    "exp": numpy.exp,
    "expm1": numpy.expm1,
    "log": numpy.log,
    "log2": numpy.log2,
    "log10": numpy.log10,
    "log1p": numpy.log1p,
    "sin": numpy.sin,
    "cos": numpy.cos,
    "tan": numpy.tan,
    "arcsin": numpy.arcsin,
    "arccos": numpy.arccos,
    "arctan": numpy.arctan,
    "sinh": numpy.sinh,
    "cosh": numpy.cosh,
    "tanh": numpy.tanh,
    "arcsinh": numpy.arcsinh,
    "arctanh": numpy.arctanh,
    "degrees": numpy.degrees,
    "radians": numpy.radians,
    "floor": numpy.floor,
    "ceil": numpy.ceil,
    "trunc": numpy.trunc,
    "fix": numpy.trunc,
}
BINARY = [
    "add",
    "subtract",
    "multiply",
    "mod",
    "power",
    "maximum",
    "minimum",
    "hypot",
    "arctan2",
    "copysign",
    "floor_divide",
]
COMPARISONS = {
    "equal": "equal",
    "not_equal": "not_equal",
    "less": "lesser",
    "less_equal": "lesser_equal",
    "greater": "greater",
    "greater_equal": "greater_equal",
}


def values(shape, low=0.1, high=0.9, seed=0, dtype="float32"):
    return numpy.random.RandomState(seed).uniform(low, high, shape).astype(dtype)


def close(actual, expected, rtol=2e-6, atol=1e-6):
    numpy.testing.assert_allclose(actual.asnumpy(), expected, rtol=rtol, atol=atol)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", UNARY)
def test_unary_function_is_numpys(name, dtype):
    x = values((3, 257), dtype=dtype)
    for module in (nd, np):
        result = getattr(module, name)(module.array(x, dtype=dtype))
        assert numpy.dtype(result.dtype) == dtype
        close(result, UNARY[name](x))


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_cosine_of_zero_is_one(dtype):
    assert np.cos(np.array([0.0, -0.0], dtype=dtype)).asnumpy().tolist() == [1, 1]


@pytest.mark.parametrize(
    "name, reference", [("erf", math.erf), ("gamma", math.gamma), ("gammaln", math.lgamma)]
)
def test_special_function(name, reference):
    x = values((40,), 0.2, 6)
    close(getattr(nd, name)(nd.array(x)), numpy.vectorize(reference)(x), rtol=2e-5)


@pytest.mark.parametrize("name", UNARY)
def test_integers_stay_integers(name):
    x = numpy.array([1, 4, 9], dtype="int32")
    result = getattr(np, name)(np.array(x, dtype="int32"))
    assert result.dtype == numpy.int32


@pytest.mark.parametrize("name", BINARY)
def test_binary_function_is_numpys(name):
    a, b = values((2, 1, 5), -2, 2), values((4, 1), 0.5, 2, seed=1)
    if name == "power":
        a = abs(a)
    close(getattr(np, name)(np.array(a), np.array(b)), getattr(numpy, name)(a, b), rtol=1e-5)


@pytest.mark.parametrize("name", BINARY)
def test_either_operand_may_be_a_number(name):
    a = values((2, 3), 0.5, 2)
    function, reference = getattr(np, name), getattr(numpy, name)
    close(function(np.array(a), 1.5), reference(a, numpy.float32(1.5)), rtol=1e-5)
    close(function(1.5, np.array(a)), reference(numpy.float32(1.5), a), rtol=1e-5)


@pytest.mark.parametrize("name", COMPARISONS)
def test_comparison_gives_numbers_in_nd_and_bool_in_np(name):
    a, b = numpy.array([1, 2, 3], "float32"), numpy.array([3, 2, 1], "float32")
    expected = getattr(numpy, name)(a, b)
    in_nd = getattr(nd, COMPARISONS[name])(nd.array(a), nd.array(b))
    in_np = getattr(np, name)(np.array(a), np.array(b))
    assert in_nd.dtype == numpy.float32 and in_np.dtype == numpy.bool_
    assert in_nd.asnumpy().tolist() == expected.tolist() and in_np.asnumpy().tolist() == expected.tolist()
    assert getattr(np, name)(2, np.array(a)).asnumpy().tolist() == getattr(numpy, name)(2, a).tolist()


def test_nan_compares_as_ieee_says_and_wins_extremes():
    x = np.array([math.nan, 1.0])
    assert (x == x).asnumpy().tolist() == [False, True]
    assert numpy.isnan(np.maximum(x, 0).asnumpy()).tolist() == [True, False]


def test_nd_refuses_mixed_dtypes():
    with pytest.raises(headrace.MXNetError, match="astype"):
        nd.ones((2,)) + nd.ones((2,), dtype="int32")


@pytest.mark.parametrize(
    "left, right, result",
    [
        ("float32", "float64", "float64"),
        ("float16", "int64", "float16"),
        ("int32", "int64", "int64"),
        ("bool", "uint8", "uint8"),
        ("bool", "float32", "float32"),
        ("int8", "int32", "int32"),
    ],
)
def test_np_promotes(left, right, result):
    assert (np.ones((2,), dtype=left) + np.ones((2,), dtype=right)).dtype == result


def test_division_of_integers():
    a = numpy.array([7, -7, 6], "int32")
    assert (nd.array(a, dtype="int32") / nd.array([2, 2, 2], dtype="int32")).asnumpy().tolist() == [3, -3, 3]
    quotient = np.array(a, dtype="int32") / 2
    assert quotient.dtype == numpy.float32 and quotient.asnumpy().tolist() == [3.5, -3.5, 3.0]


def test_scalars_are_truncated_to_integer_arrays():
    x = np.array([1, 2], dtype="int32")
    assert (x + 1.5).asnumpy().tolist() == [2, 3]
    assert (5.5 - x).asnumpy().tolist() == [4, 3]
    assert (x < 1.5).asnumpy().tolist() == [False, False]


def test_bool_arrays():
    b = np.array([True, False], dtype="bool")
    assert (b + b).dtype == bool and (b * b).dtype == bool and (b + 1).dtype == numpy.int64
    for refused in (lambda: b - b, lambda: np.exp(b), lambda: np.negative(b)):
        with pytest.raises(TypeError, match="astype"):
            refused()


def test_bit_operations():
    a, b = numpy.array([12, 7, 0], "int32"), numpy.array([10, 3, 5], "int32")
    for name in ("bitwise_and", "bitwise_or", "bitwise_xor", "left_shift", "right_shift", "lcm", "gcd"):
        result = getattr(np, name)(np.array(a, dtype="int32"), np.array(b, dtype="int32"))
        assert result.asnumpy().tolist() == getattr(numpy, name)(a, b).tolist()
    assert np.bitwise_not(np.array([True, False], dtype="bool")).asnumpy().tolist() == [False, True]
    with pytest.raises(TypeError, match="integers or bool"):
        np.bitwise_and(np.ones((2,)), 1)


def test_rounding_of_halves():
    x = [0.5, 1.5, 2.5, -0.5, -1.5]
    assert nd.round(nd.array(x)).asnumpy().tolist() == [1, 2, 3, -1, -2]
    assert nd.rint(nd.array(x)).asnumpy().tolist() == [0, 1, 2, -1, -2]
    assert np.around(np.array(x)).asnumpy().tolist() == [0, 2, 2, 0, -2]
    close(np.around(np.array([1.234, -5.678]), 2), [1.23, -5.68])
    assert np.around(np.array([12, 27], dtype="int32"), -1).asnumpy().tolist() == [10, 30]


def test_questions():
    x = np.array([0, math.inf, -math.inf, math.nan])
    for name in ("isnan", "isinf", "isfinite", "isposinf", "isneginf"):
        result = getattr(np, name)(x)
        assert (
            result.dtype == bool and result.asnumpy().tolist() == getattr(numpy, name)(x.asnumpy()).tolist()
        )
    assert nd.contrib.isnan(nd.array([1, math.nan])).asnumpy().tolist() == [0, 1]


def test_where():
    condition, x, y = np.array([1, 0, 2]), np.array([1.0, 2, 3]), np.array([4.0, 5, 6])
    assert np.where(condition, x, y).asnumpy().tolist() == [1, 5, 3]
    assert np.where(condition, x, 7).asnumpy().tolist() == [1, 7, 3]
    assert np.where(condition, 7, y).asnumpy().tolist() == [7, 5, 7]
    whole, far = np.array([1, 2, 3], dtype="int64"), 2**60 + 1
    assert np.where(whole > 1, far, whole).asnumpy().tolist() == [1, far, far]
    assert np.where(whole > 1, whole, -far).asnumpy().tolist() == [-far, 2, 3]
    assert np.where(condition, 7, 8).asnumpy().tolist() == [7, 8, 7]
    assert np.where(condition)[0].asnumpy().tolist() == [0, 2]
    rows = nd.where(nd.array([1, 0]), nd.array([[1, 2], [3, 4]]), nd.array([[5, 6], [7, 8]]))
    assert rows.asnumpy().tolist() == [[1, 2], [7, 8]]
    with pytest.raises(ValueError, match="first extent"):
        nd.where(nd.array([1, 0, 1]), nd.ones((2, 2)), nd.ones((2, 2)))


def test_where_sends_the_gradient_to_what_was_chosen():
    x, y = np.array([1.0, 2, 3]), np.array([4.0, 5, 6])
    x.attach_grad(), y.attach_grad()
    with autograd.record():
        z = np.where(np.array([1, 0, 1]), x, y) + np.where(np.array([0, 0, 1]), x, 2.0)
    z.backward()
    assert x.grad.asnumpy().tolist() == [1, 0, 2] and y.grad.asnumpy().tolist() == [0, 1, 0]


def test_clip():
    x = np.array([-2.0, -1, 0, 1, 2])
    x.attach_grad()
    with autograd.record():
        y = np.clip(x, -1, 1)
    y.backward()
    assert y.asnumpy().tolist() == [-1, -1, 0, 1, 1] and x.grad.asnumpy().tolist() == [0, 1, 1, 1, 0]
    assert np.clip(x, None, 1).asnumpy().tolist() == [-2, -1, 0, 1, 1]
    assert x.clip(min=0).asnumpy().tolist() == [0, 0, 0, 1, 2]
    with pytest.raises(ValueError, match="bounds"):
        np.clip(x, None, None)


def test_nan_to_num():
    x = np.array([math.nan, math.inf, -math.inf, 1], dtype="float16")
    assert np.nan_to_num(x).asnumpy().tolist() == [0, 65504, -65504, 1]
    assert np.nan_to_num(x, nan=5, posinf=6, neginf=7).asnumpy().tolist() == [5, 6, 7, 1]
    np.nan_to_num(x, copy=False)
    assert x.asnumpy().tolist() == [0, 65504, -65504, 1]


@pytest.mark.parametrize("copy", [True, False])
def test_gradient_of_nan_to_num_is_that_of_elements_that_stay(copy):
    x = np.array([math.nan, math.inf, -math.inf, 1])
    x.attach_grad()
    with autograd.record():
        y = np.nan_to_num(x, copy=copy, posinf=2) * 3
    y.backward()
    assert y.asnumpy().tolist()[:2] == [0, 6]
    assert x.grad.asnumpy().tolist() == [0, 0, 0, 3]


def test_gradients_of_gamma_functions_at_their_poles_are_infinite():
    for name, expected in (("gammaln", [math.inf] * 3), ("gamma", [math.inf, -math.inf])):
        x = nd.array([0.0, -0.0, -1.0][: len(expected)])
        x.attach_grad()
        with autograd.record():
            y = getattr(nd, name)(x)
        y.backward()
        assert x.grad.asnumpy().tolist() == expected


def test_gradient_of_relu_is_nan_where_its_argument_is():
    x = nd.array([math.nan, -1, 0, 2, math.inf])
    x.attach_grad()
    with autograd.record():
        y = nd.relu(x)
    y.backward()
    assert math.isnan(x.grad[0].asscalar())
    assert x.grad.asnumpy().tolist()[1:] == [0, 0, 1, 1]


@pytest.mark.parametrize("name", ["isnan", "sin", "negative"])
def test_out_may_be_given_by_place(name):
    x = np.array([0.5, 1.5])
    out = np.zeros(2, dtype=getattr(np, name)(x).dtype)
    assert getattr(np, name)(x, out) is out
    numpy.testing.assert_array_equal(out.asnumpy(), getattr(np, name)(x).asnumpy())
    with pytest.raises(TypeError, match="positional arguments"):
        getattr(np, name)(x, out, out)


@pytest.mark.parametrize(
    "act_type, reference",
    [
        ("relu", lambda x: numpy.maximum(x, 0)),
        ("sigmoid", lambda x: 1 / (1 + numpy.exp(-x))),
        ("tanh", numpy.tanh),
        ("softrelu", lambda x: numpy.log1p(numpy.exp(x))),
        ("softsign", lambda x: x / (1 + abs(x))),
    ],
)
def test_activation(act_type, reference):
    x = values((4, 5), -3, 3)
    close(nd.Activation(nd.array(x), act_type=act_type), reference(x))
    close(npx.activation(np.array(x), act_type), reference(x))


def test_activation_names_what_it_knows():
    with pytest.raises(ValueError, match="softrelu"):
        nd.Activation(nd.ones((2,)), act_type="swish")


def test_extreme_arguments_of_activations():
    assert npx.sigmoid(np.array([-1000.0, 1000])).asnumpy().tolist() == [0, 1]
    assert nd.Activation(nd.array([-1000.0, 1000]), "softrelu").asnumpy().tolist() == [0, 1000]


def test_leaky_relu_forms():
    x = nd.array([[-1.0, 2], [-3, 4]])
    assert nd.LeakyReLU(x, slope=0.5).asnumpy().tolist() == [[-0.5, 2], [-1.5, 4]]
    close(nd.LeakyReLU(x, nd.array([0.1, 0.2]), act_type="prelu"), [[-0.1, 2], [-0.3, 4]])
    images, slopes = nd.full((2, 2, 1, 3), -1), nd.array([[0.1, 0.2], [0.3, 0.4]])
    close(nd.LeakyReLU(images, slopes, act_type="prelu")[:, :, 0, 2], [[-0.1, -0.2], [-0.3, -0.4]])
    close(nd.LeakyReLU(x, act_type="gelu"), [[-0.158655, 1.9545], [-0.00405, 3.999873]], atol=1e-5)
    close(nd.LeakyReLU(x, act_type="rrelu"), [[-0.2295, 2], [-0.6885, 4]])
    with autograd.train_mode():
        drawn = nd.LeakyReLU(nd.full((1000,), -1.0), act_type="rrelu").asnumpy()
    assert drawn.min() >= -0.334 and drawn.max() <= -0.125 and drawn.std() > 0.01
    with pytest.raises(TypeError, match="gamma"):
        nd.LeakyReLU(x, act_type="prelu")


def test_gradient_at_the_edge_is_mxnets():
    for function, expected in [
        (nd.relu, [0.0]),
        (nd.abs, [0.0]),
        (lambda x: nd.maximum(x, 0), [1.0]),
        (lambda x: nd.minimum(x, 0), [1.0]),
        (nd.floor, [0.0]),
        (nd.sign, [0.0]),
        (lambda x: nd.LeakyReLU(x, slope=0.3), [0.3]),
        (lambda x: nd.LeakyReLU(x, act_type="elu", slope=2.0), [2.0]),
    ]:
        x = nd.array([0.0])
        x.attach_grad()
        with autograd.record():
            y = function(x)
        y.backward()
        close(x.grad, expected)


def test_ties_of_two_arrays_go_to_the_first():
    a, b = nd.array([1.0]), nd.array([1.0])
    for function in (nd.broadcast_maximum, nd.broadcast_minimum):
        a.attach_grad(), b.attach_grad()
        with autograd.record():
            y = function(a, b)
        y.backward()
        assert a.grad.asscalar() == 1 and b.grad.asscalar() == 0


def test_gradients_of_broadcast_operands_are_summed():
    a, b = np.ones((2, 3)), np.ones((3,))
    a.attach_grad(), b.attach_grad()
    with autograd.record():
        y = a * b + b
    y.backward()
    assert a.grad.shape == (2, 3) and b.grad.asnumpy().tolist() == [4, 4, 4]


def test_second_derivative():
    x = nd.array([0.3, 1.2])
    x.attach_grad()
    with autograd.record():
        first = autograd.grad(nd.exp(x) * nd.sin(x), [x], create_graph=True)[0]
    first.backward()
    v = x.asnumpy()
    close(x.grad, 2 * numpy.exp(v) * numpy.cos(v), rtol=1e-5)


def test_add_n():
    arrays = [nd.array(values((3, 4), seed=i)) for i in range(20)]
    arrays[0].attach_grad()
    with autograd.record():
        total = nd.add_n(*arrays)
    total.backward()
    close(total, sum(a.asnumpy() for a in arrays), rtol=1e-5)
    assert arrays[0].grad.asnumpy().min() == 1
    with pytest.raises(ValueError, match="shape"):
        nd.add_n(nd.ones((2,)), nd.ones((3,)))


def test_casts():
    x = np.array([-1.7, 0.0, 2.9])
    assert x.astype("int32").asnumpy().tolist() == [-1, 0, 2]
    assert x.astype("bool").asnumpy().tolist() == [True, False, True]
    assert x.astype("float16").astype("float64").dtype == numpy.float64
    big = np.array([2**53 + 1], dtype="int64")
    assert big.astype("int64").asnumpy().tolist() == [2**53 + 1]
    x.attach_grad()
    with autograd.record():
        y = x.astype("float64") * 2
    y.backward()
    assert x.grad.dtype == numpy.float32 and x.grad.asnumpy().tolist() == [2, 2, 2]


def test_gradient_stops_and_losses():
    x = nd.array([1.0, 2])
    for function, expected in [
        (nd.BlockGrad, [0, 0]),
        (nd.make_loss, [1, 1]),
        (lambda v: nd.MakeLoss(v, grad_scale=3), [3, 3]),
        (lambda v: nd.contrib.gradientmultiplier(v, scalar=5), [10, 10]),
    ]:
        x.attach_grad()
        with autograd.record():
            y = function(x) * 2
        y.backward()
        assert x.grad.asnumpy().tolist() == expected


# What MXNet 1.9.1 divides by: rows, not the batch.
@pytest.mark.parametrize("shape, gradient", [((4,), 3), ((2, 3), 1.5), ((2, 3, 4), 0.5), ((2, 0), None)])
def test_losses_are_divided_by_their_rows(shape, gradient):
    x = nd.ones(shape)
    x.attach_grad()
    with autograd.record():
        y = nd.MakeLoss(x, grad_scale=3, normalization="batch")
    y.backward()
    assert (x.grad.asnumpy() == gradient).all()


def test_out_is_written_in_place():
    x, out = np.ones((2, 2)), np.zeros((2, 2))
    assert np.add(x, 1, out=out) is out and out.asnumpy().max() == 2
    view = np.zeros((2, 4))
    np.exp(x * 0, out=view[:, ::2])
    assert view.asnumpy().tolist() == [[1, 0, 1, 0]] * 2
    with pytest.raises(ValueError, match="shape"):
        np.add(x, 1, out=np.zeros((3,)))
    with pytest.raises(TypeError, match="dtype"):
        np.add(x, 1, out=np.zeros((2, 2), dtype="int32"))


def test_errors_name_operation_and_shapes():
    with pytest.raises(ValueError, match=r"broadcast_add.*\(2, 3\).*\(4,\)"):
        nd.broadcast_add(nd.ones((2, 3)), nd.ones((4,)))
    with pytest.raises(headrace.MXNetError, match="elemwise_add"):
        nd.elemwise_add(nd.ones((2, 3)), nd.ones((3,)))


@pytest.mark.parametrize(
    ("name", "arguments", "dtype"),
    [
        ("log", (1e-60,), "float64"),
        ("sqrt", (2,), "float64"),
        ("abs", (-3,), "int64"),
        ("exp", (numpy.float32(0.5),), "float32"),
        ("isnan", (math.nan,), "bool"),
        ("round", (2.567, 2), "float64"),
        ("fix", (-1.5,), "float64"),
        ("nan_to_num", (math.nan,), "float64"),
        ("add", (16777217, 0), "int64"),
        ("power", (10, 10), "int64"),
        ("maximum", (2, 3), "int64"),
        ("true_divide", (1, 3), "float64"),
        ("less", (1, 2), "bool"),
    ],
)
def test_numbers_alone_give_the_scalars_of_numpy(name, arguments, dtype):
    found = getattr(np, name)(*arguments)
    expected = getattr(numpy, name)(*arguments)
    assert isinstance(found, numpy.generic)
    assert (found.dtype, found) == (numpy.dtype(dtype), expected)


@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [
        ("add", (1, 2), 3), ("subtract", (1, 2.5), -1.5), ("multiply", (2, 3), 6), ("divide", (3, 2), 1.5),
        ("true_divide", (1, 2), 0.5), ("modulo", (-5, 3), 1), ("power", (0.5, 3), 0.125),
        ("maximum", (1, 2.5), 2.5), ("minimum", (3, 2), 2), ("equal", (1, 1), 1), ("not_equal", (1, 1), 0),
        ("greater", (2, 1), 1), ("greater_equal", (1, 2), 0), ("lesser", (2, 1), 0),
        ("lesser_equal", (1, 1), 1), ("logical_and", (2, 1), 1), ("logical_or", (0.0, 0.5), 1),
        ("logical_xor", (2, 1), 0),
    ],
)  # fmt: skip
def test_nd_functions_of_two_numbers_give_a_number(name, arguments, expected):
    got = getattr(nd, name)(*arguments)
    assert type(got) is type(expected)
    assert got == expected
    assert isinstance(getattr(nd, name)(nd.ones(1), 2), nd.NDArray)


def test_an_array_or_out_among_numbers_gives_an_array():
    out = np.zeros(())
    assert np.add(2, 3, out=out) is out
    assert out.item() == 5
    assert isinstance(np.add(2, np.ones((2,))), np.ndarray)
    assert isinstance(np.sqrt(numpy.ones(2)), np.ndarray)
    assert isinstance(np.sqrt([1.0, 4.0]), np.ndarray)


def test_values_that_are_no_arrays_go_where_out_is(at):
    where = at(0)
    scalar, pair = np.zeros((), ctx=where), np.zeros((2,), ctx=where)
    assert np.add(2, 3, out=scalar) is scalar
    assert scalar.item() == 5
    assert np.power(2.0, 3, out=(scalar,)).item() == 8
    assert np.sum([1.0, 2.0], out=scalar).item() == 3
    assert np.sqrt([4.0, 9.0], out=pair).tolist() == [2, 3]
    assert np.maximum(numpy.ones(2, "float32"), 3, out=pair).tolist() == [3, 3]
    assert pair.context == where


def test_values_that_are_no_arrays_go_to_the_current_context(at):
    with at(0) as where:
        assert np.sqrt([4.0, 9.0]).context == where
        assert np.maximum(numpy.ones(2), 3).context == where


def test_round_of_python():
    x = np.array([12.567, -2.5])
    assert round(x).asnumpy().tolist() == [13, -2]
    close(round(x, 2), numpy.array([12.57, -2.5]))
    assert round(x, -1).asnumpy().tolist() == [10, 0]
    assert isinstance(round(np.array(2.5)), np.ndarray)
    with pytest.raises(TypeError, match="__round__"):
        round(nd.array([1.5]))


def test_logaddexp_of_equal_infinities():
    x = numpy.array([math.inf, -math.inf, 1e300, 0, -math.inf])
    y = numpy.array([math.inf, -math.inf, 1e300, 0, 3])
    numpy.testing.assert_allclose(np.logaddexp(np.array(x), np.array(y)).asnumpy(), numpy.logaddexp(x, y))


def test_the_gradient_of_gradientmultiplier_can_be_called():
    product = nd.contrib.backward_gradientmultiplier(nd.array([1, -2]), scalar=3)
    assert product.asnumpy().tolist() == [3, -6]


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "int64"])
def test_fractions_on_the_way_of_integers(dtype):
    def of(values):
        return nd.array(values, dtype=dtype)

    for made, expected in [
        (nd.degrees(of([1, 2])), [57, 114]),
        (nd.radians(of([57, 58, 115])), [0, 1, 2]),
        (np.radians(np.array([57, 58, 115], dtype=dtype)), [0, 1, 2]),
        (nd.sigmoid(of([0, 1, 100])), [0, 0, 1]),
        (nd.contrib.quadratic(of([1, 2, 3]), a=0.5, b=0.5, c=0.5), [1, 3, 6]),
        (nd.smooth_l1(of([0, 1, 2]), scalar=1), [0, 0, 1]),
    ]:
        assert numpy.dtype(made.dtype) == dtype and made.asnumpy().tolist() == expected


@pytest.mark.parametrize("dtype", ["int32", "int64", "float32"])
def test_remainders_of_integers_have_a_zero_gradient(dtype):
    calls = {nd.broadcast_mod: (1, -2), (lambda a, b: a % 3): (1, 0), (lambda a, b: 8 % b): (0, -2)}
    for call, slopes in calls.items():
        a, b = nd.array([7], dtype=dtype), nd.array([3], dtype=dtype)
        for x in (a, b):
            x.attach_grad()
        with autograd.record():
            y = call(a, b)
        y.backward()
        expected = slopes if dtype == "float32" else (0, 0)
        assert (a.grad.asscalar(), b.grad.asscalar()) == expected
