"""Reductions, softmax, running sums and layer normalisation, against NumPy and finite differences."""

import itertools

import numpy
import pytest

from headrace import autograd, cpu, gluon, nd, np, npx, sym
from headrace.base import MXNetError

AXES = [None, 0, 1, 2, -1, (0, 1), (0, 2), (1, 2), (0, 1, 2)]
DTYPES = ["float32", "float64", "float16", "int8", "uint8", "int32", "int64"]
RNG = numpy.random.RandomState(7)


def check(got, expected, rtol=1e-5, atol=1e-6):
    got, expected = got.asnumpy(), numpy.asarray(expected)
    assert got.shape == expected.shape
    numpy.testing.assert_allclose(got.astype("float64"), expected.astype("float64"), rtol=rtol, atol=atol)


def numeric_gradient(function, x, head, step=1e-6):
    gradient = numpy.zeros_like(x)
    for i in numpy.ndindex(*x.shape):
        up, down = x.copy(), x.copy()
        up[i] += step
        down[i] -= step
        difference = function(np.array(up)).asnumpy() - function(np.array(down)).asnumpy()
        gradient[i] = (difference * head).sum() / (2 * step)
    return gradient


def check_gradient(function, x, rtol=1e-4):
    array = np.array(x)
    array.attach_grad()
    with autograd.record():
        y = function(array)
    head = RNG.uniform(0.5, 1.5, y.shape)
    y.backward(np.array(head))
    check(array.grad, numeric_gradient(function, x, head), rtol, 1e-6)


@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("axis", AXES)
@pytest.mark.parametrize("name", ["sum", "mean", "prod", "max", "min", "var", "std", "all", "any"])
def test_np_reduction_over_any_axes(name, axis, keepdims):
    x = RNG.uniform(-2, 2, (3, 4, 5)).astype("float32")
    expected = getattr(numpy, name)(x, axis=axis, keepdims=keepdims)
    check(getattr(np, name)(np.array(x), axis=axis, keepdims=keepdims), expected)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["sum", "prod", "max", "min"])
def test_dtype_is_kept(name, dtype):
    x = RNG.randint(1, 4, (2, 3)).astype(dtype)
    got = getattr(np, name)(np.array(x), axis=1)
    assert got.dtype == numpy.dtype(dtype)
    check(got, getattr(numpy, name)(x, axis=1), rtol=1e-3)


def test_dtypes_of_results():
    mask = np.array(numpy.array([True, False, True]), dtype="bool")
    assert np.sum(mask).dtype == numpy.int64
    assert np.sum(mask).item() == 2
    assert np.mean(np.array([1, 2], dtype="int32")).dtype == numpy.float32
    assert np.sum(np.array([1, 2], dtype="int32"), dtype="float64").dtype == numpy.float64
    assert np.argmax(np.ones((2, 3)), axis=0).dtype == numpy.int64
    for dtype in ("float16", "float32", "float64", "uint8", "int32", "int64"):
        x = nd.array([[1, 2, 3], [1, 2, 0]], dtype=dtype)
        assert x.dtype == nd.argmax_channel(x).dtype == nd.argmin(x, axis=1).dtype
        places = nd.argmax(x, axis=1)
        assert places.dtype == x.dtype
        assert places.asnumpy().tolist() == [2, 1]
    assert nd.argmax(nd.array([0, 1], dtype="bool"), axis=0).dtype == numpy.float32
    assert nd.mean(nd.array([1, 2, 4], dtype="int32")).asnumpy().tolist() == [2]


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int32", "int64"])
@pytest.mark.parametrize("source", ["int8", "int32", "float32"])
def test_means_of_an_integer_dtype_wrap_as_their_sums_do(dtype, source):
    x = numpy.array([[100, 120, 7], [-128, -3, -100], [127, 127, 127]], source)
    for axis in (0, 1, None):
        with numpy.errstate(all="ignore"):
            expected = x.astype("int64").mean(axis, dtype=dtype)
        for got in (
            np.mean(np.array(x, dtype=source), axis, dtype),
            np.array(x, dtype=source).mean(axis, dtype),
        ):
            assert got.dtype == dtype
            assert numpy.array_equal(got.asnumpy(), expected)


def test_means_of_an_integer_dtype_wrap_in_compiled_graphs():
    class Mean(gluon.HybridBlock):
        def hybrid_forward(self, F, x):
            return F.np.mean(x * 2, axis=1, dtype="int8") + 1

    net = Mean()
    net.hybridize()
    x = np.array([[50, 60, 3], [10, 20, 30]], dtype="int32")
    for _ in range(3):
        assert net(x).asnumpy().tolist() == [-10 + 1, 40 + 1]


def test_legacy_rules():
    x = RNG.uniform(-2, 2, (3, 4, 5)).astype("float32")
    check(nd.sum(nd.array(x)), [x.sum()], rtol=1e-4)
    check(nd.sum(nd.array(x), axis=1, exclude=True), x.sum((0, 2)))
    check(nd.sum(nd.array(x), axis=()), [x.sum()], rtol=1e-4)
    check(nd.array(x).max(axis=(0, 1)), x.max((0, 1)))
    check(nd.norm(nd.array(x), ord=1, axis=2), abs(x).sum(2))
    check(nd.nansum(nd.array([1, numpy.nan, 2])), [3])
    check(nd.nanprod(nd.array([3, numpy.nan, 2])), [6])
    check(nd.argmax_channel(nd.array(x[:, :, 0])), x[:, :, 0].argmax(1))


@pytest.mark.parametrize("axis", AXES)
def test_reduction_of_a_strided_array(axis):
    x = RNG.uniform(-2, 2, (3, 8, 5)).astype("float32")
    view, expected = np.array(x)[:, ::2].transpose(2, 0, 1), x[:, ::2].transpose(2, 0, 1)
    check(np.sum(view, axis=axis), expected.sum(axis=axis), atol=1e-5)
    check(np.max(view, axis=axis), expected.max(axis=axis))


@pytest.mark.parametrize("shape", [(2000003,), (3, 700001), (700001, 3), (5, 20011, 7), (70001, 1, 33)])
def test_large_sums_are_accurate(shape):
    x = RNG.uniform(0, 1, shape).astype("float32")
    exact = x.astype("float64")
    for axis in [None, *range(len(shape))]:
        check(np.sum(np.array(x), axis=axis), exact.sum(axis=axis), rtol=2e-7)
        check(np.max(np.array(x), axis=axis), x.max(axis=axis), rtol=0, atol=0)


def test_half_precision_is_accumulated_in_single():
    x = numpy.full(30000, 0.1, "float16")
    check(np.mean(np.array(x)), 0.1, rtol=1e-3)


def test_nothing_to_reduce():
    empty = np.zeros((0, 3))
    check(np.sum(empty, axis=0), numpy.zeros(3))
    check(np.prod(empty), 1)
    assert np.sum(np.zeros((2, 0)), axis=0).shape == (0,)
    assert np.max(empty, axis=1).shape == (0,)
    for name in ("max", "min", "argmax", "argmin"):
        with pytest.raises(ValueError, match=f"{name}.*shape \\(0, 3\\)"):
            getattr(np, name)(empty, axis=0)


@pytest.mark.usefixtures("on_host")  # GPUs keep numbers that have lost digits
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_shares_too_small_for_all_their_digits_are_zero(axis, dtype):
    """As in MXNet; and nothing that is made of them takes long."""
    least = float(numpy.log(numpy.finfo(dtype).tiny))
    x = numpy.repeat(numpy.array([[0, least + 2, least - 0.5, least - 10, -1e9, -numpy.inf, 0]], dtype), 9, 0)
    x = np.array(x.T if axis == 0 else x, dtype=dtype)
    x.attach_grad()
    shares = npx.softmax(x, axis=axis).asnumpy()
    shares = shares.T if axis == 0 else shares
    assert (shares[:, [2, 3, 4, 5]] == 0).all()
    assert (shares[:, [0, 6]] == 0.5).all() and (shares[:, 1] > 0).all()
    with autograd.record():
        first = npx.log_softmax(x, axis=axis).take(np.array([0]), axis=axis)
    first.backward()
    gradient = x.grad.asnumpy()
    gradient = gradient.T if axis == 0 else gradient
    assert (gradient[:, [2, 3, 4, 5]] == 0).all() and (gradient[:, 0] == 0.5).all()


def test_nan_wins():
    x = numpy.array([[1, numpy.nan, 3], [4, 5, 6]], "float32")
    check(np.max(np.array(x), axis=1), [numpy.nan, 6])
    check(np.min(np.array(x), axis=0), [1, numpy.nan, 3])
    assert np.argmax(np.array(x), axis=1).asnumpy().tolist() == [1, 2]
    infinite = numpy.zeros(1000, "float32")
    infinite[[3, 700]] = numpy.inf, -numpy.inf
    check(np.max(np.array(infinite)), numpy.inf)
    check(np.min(np.array(infinite)), -numpy.inf)
    for place in (0, 40, 3000):
        x = numpy.arange(6000, dtype="float32").reshape(3000, 2)
        x.ravel()[place] = numpy.nan
        for axis in (None, 0, 1):
            check(np.max(np.array(x), axis=axis), x.max(axis=axis))
            assert (np.argmin(np.array(x), axis=axis).asnumpy() == x.argmin(axis=axis)).all()
        for axis in (0, 1):
            expected = numpy.isnan(x).any(axis=axis, keepdims=True) & numpy.ones_like(x, dtype=bool)
            assert (numpy.isnan(npx.softmax(np.array(x), axis=axis).asnumpy()) == expected).all()
            assert (numpy.isnan(npx.log_softmax(np.array(x), axis=axis).asnumpy()) == expected).all()


@pytest.mark.parametrize("shape,axis", [((5000,), None), ((3, 5000), 1), ((300, 40), 0), ((4, 50, 6), 1)])
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int32", "uint8"])
def test_arg_reductions(shape, axis, dtype):
    x = RNG.randint(0, 100, shape).astype(dtype)
    assert (np.argmax(np.array(x), axis=axis).asnumpy() == x.argmax(axis)).all()
    assert (np.argmin(np.array(x), axis=axis).asnumpy() == x.argmin(axis)).all()


@pytest.mark.parametrize(
    "name", ["sum", "prod", "mean", "max", "min", "argmax", "argmin", "std", "any", "squeeze"]
)
def test_a_number_may_be_reduced_over_its_axis(name):
    number = np.array(3.0)
    for axis in (0, -1):
        found = getattr(np, name)(number, axis=axis)
        assert found.shape == () and found.item() == getattr(numpy, name)(numpy.float32(3))
    for axis in (1, -2):
        with pytest.raises(ValueError, match="axis"):
            getattr(np, name)(number, axis=axis)


def test_gradient_of_the_variance_of_integers():
    x = np.array([[1, 2, 6]], dtype="int32")
    x.attach_grad()
    with autograd.record():
        y = np.var(x, dtype="float32")
    y.backward(np.array(3.0))
    assert x.grad.dtype == numpy.int32 and x.grad.tolist() == [[-4, -2, 6]]


def test_wrong_axes():
    x = np.ones((2, 3))
    with pytest.raises(ValueError, match="axis 2"):
        np.sum(x, axis=2)
    with pytest.raises(ValueError, match="named twice"):
        np.max(x, axis=(0, -2))
    with pytest.raises(ValueError, match="axis"):
        npx.softmax(x, axis=5)
    with pytest.raises(ValueError, match="ord must be 1 or 2"):
        nd.norm(nd.ones((2,)), ord=3)


@pytest.mark.parametrize("axis", [None, 0, (0, 2), -1])
@pytest.mark.parametrize("name", ["sum", "mean", "prod", "max", "min", "var", "std", "nansum"])
def test_gradients(name, axis):
    check_gradient(lambda a: getattr(np, name)(a, axis=axis), RNG.uniform(0.5, 2, (2, 3, 4)))


def test_gradient_conventions():
    x = nd.array([1, 3, 3, 2])
    x.attach_grad()
    with autograd.record():
        y = nd.max(x)
    y.backward()
    assert x.grad.asnumpy().tolist() == [0, 1, 1, 0]
    x = nd.zeros((3,))
    x.attach_grad()
    with autograd.record():
        y = nd.norm(x)
    y.backward()
    assert numpy.isnan(x.grad.asnumpy()).all()


@pytest.mark.parametrize("axis", [0, 1, 2, -1])
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
def test_softmax(axis, dtype):
    x = RNG.uniform(-5, 5, (3, 7, 40)).astype(dtype)
    wide = x.astype("float64")
    exponentials = numpy.exp(wide - wide.max(axis, keepdims=True))
    expected = exponentials / exponentials.sum(axis, keepdims=True)
    tolerance = 2e-3 if dtype == "float16" else 2e-6
    check(npx.softmax(np.array(x), axis=axis), expected, tolerance, tolerance)
    check(npx.log_softmax(np.array(x), axis=axis), numpy.log(expected), tolerance, 4 * tolerance)
    assert npx.softmax(np.array(x), axis=axis).dtype == numpy.dtype(dtype)


def test_softmax_at_the_edges():
    big = np.array([[1e30, 1e30], [-1e30, 0], [numpy.nan, 1]])
    assert numpy.array_equal(npx.softmax(big).asnumpy()[:2], [[0.5, 0.5], [0, 1]])
    assert numpy.isnan(npx.softmax(big).asnumpy()[2]).all()
    assert npx.softmax(np.zeros((0, 3))).shape == (0, 3)
    lengths = np.array([0, 2], dtype="int32")
    masked = npx.softmax(np.zeros((2, 3)), lengths, use_length=True)
    assert masked.asnumpy().tolist() == [[0, 0, 0], [0.5, 0.5, 0]]
    with pytest.raises(ValueError, match="length"):
        npx.softmax(np.zeros((2, 3)), use_length=True)
    with pytest.raises(ValueError, match="temperature"):
        npx.softmax(np.zeros((2, 3)), temperature=0.0)


@pytest.mark.parametrize("mode, axis", [("instance", -1), ("channel", 1)])
def test_softmax_activation(mode, axis):
    x = nd.array(RNG.uniform(-1, 1, (2, 3, 4)))
    found = nd.SoftmaxActivation(x, mode=mode)
    assert found.asnumpy().tolist() == nd.softmax(x, axis=axis).asnumpy().tolist()
    if mode == "instance":
        found = nd.SoftmaxActivation(x[0, 0], mode=mode)
        assert found.asnumpy().tolist() == nd.softmax(x[0, 0]).asnumpy().tolist()
    else:
        with pytest.raises(ValueError, match="two or more dimensions"):
            nd.SoftmaxActivation(x[0, 0], mode=mode)


@pytest.mark.parametrize("axis", [0, -1])
@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_softmax_gradients(name, axis):
    check_gradient(lambda a: getattr(npx, name)(a, axis=axis, temperature=1.5), RNG.uniform(-1, 1, (3, 4)))


@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_softmax_without_axes_is_a_constant(name):
    x = np.array(2.0)
    x.attach_grad()
    with autograd.record():
        y = getattr(npx, name)(x)
    y.backward()
    assert y.item() == (name == "softmax") and x.grad.item() == 0


def test_softmax_can_be_differentiated_twice():
    x = np.array(RNG.uniform(-1, 1, (2, 3)))
    x.attach_grad()
    for function in (npx.softmax, npx.log_softmax):

        def first(a, function=function):
            a.attach_grad()
            with autograd.record():
                y = function(a) * np.array([1.0, 2.0, 3.0], dtype="float64")
                (gradient,) = autograd.grad(y.sum(), [a], create_graph=True)
            return gradient

        host = x.asnumpy()
        array = np.array(host)
        array.attach_grad()
        with autograd.record():
            y = function(array) * np.array([1.0, 2.0, 3.0], dtype="float64")
            (gradient,) = autograd.grad(y.sum(), [array], create_graph=True)
            squared = (gradient**2).sum()
        squared.backward()
        expected = numpy.zeros_like(host)
        for i in numpy.ndindex(*host.shape):
            step = numpy.zeros_like(host)
            step[i] = 1e-5
            up, down = (first(np.array(host + s)).asnumpy() for s in (step, -step))
            expected[i] = ((up**2).sum() - (down**2).sum()) / 2e-5
        check(array.grad, expected, 1e-5, 1e-7)


@pytest.mark.parametrize("shape", [(7,), (300001,), (4, 1000), (1000, 4), (3, 5, 7)])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "float16"])
def test_cumsum(shape, dtype):
    x = RNG.randint(-3, 4, shape).astype(dtype)
    for axis in [None, *range(len(shape))]:
        got = np.cumsum(np.array(x), axis=axis)
        assert got.dtype == numpy.dtype(dtype)
        check(got, numpy.cumsum(x.astype("float64"), axis=axis), rtol=1e-3 if dtype == "float16" else 1e-6)


def test_cumsum_counts_what_is_true():
    mask = numpy.array([[True, False, True], [True, True, False]])
    for got in (np.array(mask).cumsum(axis=1), nd.cumsum(nd.array(mask, dtype="bool"), axis=1)):
        assert got.dtype == numpy.int64
        check(got, mask.cumsum(axis=1))


@pytest.mark.parametrize("axis", [None, 0, 1])
def test_cumsum_gradient(axis):
    check_gradient(lambda a: np.cumsum(a, axis=axis), RNG.uniform(-1, 1, (3, 4)))


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_layer_norm(axis):
    x = RNG.uniform(-2, 2, (6, 5, 70))
    n = x.shape[axis]
    gamma, beta = RNG.uniform(0.5, 2, n), RNG.uniform(-1, 1, n)
    along = [1, 1, 1]
    along[axis] = n
    scale = 1 / numpy.sqrt(x.var(axis, keepdims=True) + 1e-5)
    expected = (x - x.mean(axis, keepdims=True)) * scale * gamma.reshape(along) + beta.reshape(along)
    check(npx.layer_norm(np.array(x), np.array(gamma), np.array(beta), axis=axis), expected)
    small = x[:2, :3, :4]
    n = small.shape[axis]
    gamma, beta = np.array(gamma[:n]), np.array(beta[:n])
    check_gradient(lambda a: npx.layer_norm(a, gamma, beta, axis=axis), small)
    check_gradient(lambda g: npx.layer_norm(np.array(small), g, beta, axis=axis), gamma.asnumpy())


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("rows", [0, 3, 1000])
def test_layer_norm_of_parameters_that_need_no_gradient(rows, dtype):
    """The gradient of the data has the same bits whether or not others are asked for."""
    gamma, beta = (np.array(RNG.uniform(0.5, 2, 70), dtype=dtype) for _ in range(2))
    x, head = (np.array(RNG.uniform(-2, 2, (rows, 70)), dtype=dtype) for _ in range(2))
    gradients = []
    for attached in [(x,), (x, gamma), (x, beta)]:
        for array in attached:
            array.attach_grad()
        with autograd.record():
            y = npx.layer_norm(x, gamma, beta)
        y.backward(head)
        gradients.append(x.grad.asnumpy())
    numpy.testing.assert_array_equal(gradients[0], gradients[1])
    numpy.testing.assert_array_equal(gradients[0], gradients[2])


def test_layer_norm_refuses():
    with pytest.raises(ValueError, match="gamma"):
        npx.layer_norm(np.ones((2, 3)), np.ones((2,)), np.ones((3,)))
    with pytest.raises(TypeError, match="float"):
        npx.layer_norm(np.ones((2, 3), dtype="int32"), np.ones((3,)), np.ones((3,)))


def test_norms():
    x = RNG.uniform(-2, 2, (3, 4)).astype("float32")
    for order in (None, "fro", "nuc", 1, -1, 2, -2, numpy.inf, -numpy.inf):
        check(np.linalg.norm(np.array(x), ord=order), numpy.linalg.norm(x, ord=order))
    for order in (None, 0, 1, 2, 3, numpy.inf):
        check(np.linalg.norm(np.array(x), ord=order, axis=1), numpy.linalg.norm(x, ord=order, axis=1))
    with pytest.raises(ValueError, match="not a norm"):
        np.linalg.norm(np.array(x), ord="abc")
    stack = RNG.uniform(-2, 2, (3, 4, 2)).astype("float32")
    for order, axis, keepdims in itertools.product(("nuc", 2, -2), ((0, 1), (2, 0), (-1, -2)), (False, True)):
        expected = numpy.linalg.norm(stack, ord=order, axis=axis, keepdims=keepdims)
        check(np.linalg.norm(np.array(stack), ord=order, axis=axis, keepdims=keepdims), expected)


def test_statistics():
    x = RNG.uniform(-2, 2, (3, 4, 5)).astype("float32")
    weights = RNG.uniform(1, 2, 4).astype("float32")
    got = np.average(np.array(x), axis=1, weights=np.array(weights))
    check(got, numpy.average(x, axis=1, weights=weights))
    for axis in (None, 0, (0, 2)):
        check(np.median(np.array(x), axis=axis), numpy.median(x, axis=axis))
        check(np.quantile(np.array(x), [0.1, 0.5], axis=axis), numpy.quantile(x, [0.1, 0.5], axis=axis))
    for method in ("linear", "lower", "higher", "midpoint", "nearest"):
        check(np.percentile(np.array(x), 37, interpolation=method), numpy.percentile(x, 37, method=method))
    check(np.ptp(np.array(x), axis=1), numpy.ptp(x, axis=1))
    check(np.count_nonzero(np.array(x > 0.5, dtype="bool"), axis=0), numpy.count_nonzero(x > 0.5, axis=0))
    with pytest.raises(ValueError, match="q must lie"):
        np.quantile(np.array(x), 2)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("axis", [None, 0, -1, (0, 2)])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_quantiles_among_nan(dtype, axis, keepdims):
    x = RNG.randint(-9, 9, (3, 4, 5)).astype(dtype)
    x[0, 1, 2] = x[2, 3, 4] = numpy.nan
    options = {"axis": axis, "keepdims": keepdims}
    array = np.array(x, dtype=dtype)
    check(np.median(array, **options), numpy.median(x, **options), 2e-3)
    check(np.array(np.nanmedian(array, **options)), numpy.nanmedian(x, **options), 2e-3)
    for method in ("linear", "lower", "higher", "midpoint", "nearest"):
        for q in (0, 50, numpy.array([25, 100])):
            expected = numpy.percentile(x, q, method=method, **options)
            check(np.percentile(array, q, interpolation=method, **options), expected, 2e-3)
            check(np.quantile(array, q / 100, interpolation=method, **options), expected, 2e-3)
            ignoring = numpy.nanpercentile(x, q, method=method, **options)
            check(np.array(np.nanpercentile(array, q, method=method, **options)), ignoring, 2e-3)


@pytest.mark.parametrize("method", ["linear", "lower", "higher", "midpoint", "nearest"])
def test_percentiles_of_symbols_among_nan(method):
    x = RNG.randint(-9, 9, (3, 4)).astype("float32")
    x[1, 2] = numpy.nan
    symbol = sym.np.percentile(sym.var("a").as_np_ndarray(), 30, axis=1, interpolation=method)
    got = symbol.bind(cpu(), {"a": np.array(x)}).forward()[0]
    check(got, numpy.percentile(x, 30, axis=1, method=method))


def test_median_of_infinities():
    inf = numpy.inf
    check(np.median(np.array([[inf, 1, inf, inf], [-inf, -inf, 2, -inf]]), axis=1), [inf, -inf])
    check(np.median(np.array([[7, -inf], [inf, 7]]), axis=1), [-inf, inf])
    assert numpy.isnan(np.median(np.array([-inf, inf])).item())


def test_moments_and_cross_entropy():
    x = RNG.uniform(-2, 2, (3, 4)).astype("float32")
    mean, variance = nd.moments(nd.array(x), axes=(0,))
    check(mean, x.mean(0))
    check(variance, x.var(0))
    label = numpy.array([0, 3, 1])
    log = x - numpy.log(numpy.exp(x).sum(1, keepdims=True))
    check(nd.softmax_cross_entropy(nd.array(x), nd.array(label)), [-log[numpy.arange(3), label].sum()])
    with pytest.raises((ValueError, MXNetError), match="softmax_cross_entropy"):
        nd.softmax_cross_entropy(nd.array(x), nd.array([1, 2]))
