"""Random operators: moments of every distribution, seeds, shapes, dtypes, errors."""

import math

import numpy
import pytest

import headrace as mx
from headrace import autograd, nd, np, npx
from headrace.base import MXNetError

N = 40_000
EULER = 0.5772156649

# Draws, mean and standard deviation.
MOMENTS = {
    "nd uniform": (lambda: nd.random.uniform(-1, 3, shape=N), 1, 4 / math.sqrt(12)),
    "nd normal": (lambda: nd.random.normal(2, 3, shape=N), 2, 3),
    "nd exponential": (lambda: nd.random.exponential(2, shape=N), 2, 2),
    "nd gamma": (lambda: nd.random.gamma(3, 2, shape=N), 6, math.sqrt(12)),
    "nd gamma below 1": (lambda: nd.random.gamma(0.5, 1, shape=N), 0.5, math.sqrt(0.5)),
    "nd poisson": (lambda: nd.random.poisson(4, shape=N), 4, 2),
    "nd poisson, large": (lambda: nd.random.poisson(50, shape=N), 50, math.sqrt(50)),
    "nd negative_binomial": (lambda: nd.random.negative_binomial(4, 0.5, shape=N), 4, math.sqrt(8)),
    "nd generalized": (lambda: nd.random.generalized_negative_binomial(4, 0.5, shape=N), 4, math.sqrt(12)),
    "nd randint": (lambda: nd.random.randint(-5, 5, shape=N), -0.5, math.sqrt(99 / 12)),
    "nd bernoulli": (lambda: nd.random.bernoulli(0.3, shape=N), 0.3, math.sqrt(0.21)),
    "np uniform": (lambda: np.random.uniform(-1, 3, N), 1, 4 / math.sqrt(12)),
    "np normal": (lambda: np.random.normal(2, 3, N), 2, 3),
    "np lognormal": (
        lambda: np.random.lognormal(0, 0.5, N),
        math.exp(0.125),
        math.exp(0.125) * math.sqrt(math.expm1(0.25)),
    ),
    "np logistic": (lambda: np.random.logistic(1, 2, N), 1, 2 * math.pi / math.sqrt(3)),
    "np gumbel": (lambda: np.random.gumbel(1, 2, N), 1 + 2 * EULER, 2 * math.pi / math.sqrt(6)),
    "np laplace": (lambda: np.random.laplace(1, 2, N), 1, 2 * math.sqrt(2)),
    "np rayleigh": (
        lambda: np.random.rayleigh(2, N),
        2 * math.sqrt(math.pi / 2),
        2 * math.sqrt(2 - math.pi / 2),
    ),
    "np weibull": (lambda: np.random.weibull(2, N), math.gamma(1.5), math.sqrt(1 - math.gamma(1.5) ** 2)),
    "np pareto": (lambda: np.random.pareto(6, N), 1 / 5, math.sqrt(6 / (25 * 4))),
    "np power": (lambda: np.random.power(3, N), 0.75, math.sqrt(3 / (16 * 5))),
    "np exponential": (lambda: np.random.exponential(2, N), 2, 2),
    "np gamma": (lambda: np.random.gamma(3, 2, N), 6, math.sqrt(12)),
    "np beta": (lambda: np.random.beta(2, 3, N), 0.4, 0.2),
    "np chisquare": (lambda: np.random.chisquare(5, N), 5, math.sqrt(10)),
    "np poisson": (lambda: np.random.poisson(4, N), 4, 2),
    "np choice": (lambda: np.random.choice(3, N, p=[0.5, 0.25, 0.25]), 0.75, math.sqrt(0.6875)),
    "npx bernoulli": (lambda: npx.random.bernoulli(logit=0.0, size=N), 0.5, 0.5),
}


@pytest.fixture(params=["philox", "mt19937"])
def generator(request):
    mx.random.set_generator(request.param)
    mx.random.seed(11)
    yield request.param
    mx.random.set_generator("philox")
    mx.random.seed(0)


@pytest.mark.parametrize("name", MOMENTS)
def test_mean_and_deviation(name, generator):
    draw, mean, deviation = MOMENTS[name]
    samples = draw().asnumpy().astype("float64")
    assert samples.shape == (N,)
    assert abs(samples.mean() - mean) < 5 * deviation / math.sqrt(N)
    assert abs(samples.std() - deviation) < 0.06 * deviation


@pytest.mark.parametrize("name", MOMENTS)
def test_a_seed_gives_the_same_numbers(name, generator):
    draw = MOMENTS[name][0]
    runs = []
    for _ in range(2):
        mx.random.seed(5)
        runs.append((draw().asnumpy(), draw().asnumpy()))
    numpy.testing.assert_array_equal(runs[0], runs[1])
    assert (runs[0][0] != runs[0][1]).any()


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_dtypes(dtype, generator):
    for samples in (nd.random.uniform(shape=(100,), dtype=dtype), np.random.normal(size=(100,), dtype=dtype)):
        assert samples.dtype == numpy.dtype(dtype)
        assert numpy.isfinite(samples.asnumpy()).all()


def test_arrays_of_parameters(generator):
    low, high = nd.array([0.0, 10.0]), nd.array([1.0, 20.0])
    samples = nd.random.uniform(low, high, shape=1000).asnumpy()
    assert samples.shape == (2, 1000)
    assert samples[0].max() < 1 and samples[1].min() >= 10 and samples[1].max() < 20
    loc = np.array([0.0, 100.0])
    loc.attach_grad()
    with autograd.record():
        drawn = np.random.normal(loc, 2.0, size=(500, 2))
    drawn.backward()
    assert loc.grad.asnumpy().tolist() == [500, 500]
    assert abs(drawn.asnumpy().mean(0) - [0, 100]).max() < 0.5
    assert np.random.gamma(np.ones((3, 1)), np.ones((4,))).shape == (3, 4)
    assert npx.random.normal_n(np.zeros((2,)), 1.0, batch_shape=(3,)).shape == (3, 2)


def test_multinomial_draws_and_log_likelihood(generator):
    p = nd.array([[0.0, 0.25, 0.75], [1.0, 0.0, 0.0]])
    p.attach_grad()
    with autograd.record():
        drawn, logs = nd.random.multinomial(p, shape=400, get_prob=True)
    logs.backward()
    drawn = drawn.asnumpy()
    assert drawn.shape == (2, 400) and drawn.dtype == numpy.int32
    counts = numpy.bincount(drawn[0], minlength=3)
    assert counts[0] == 0 and abs(counts[2] / 400 - 0.75) < 0.12
    assert (drawn[1] == 0).all()
    numpy.testing.assert_allclose(p.grad.asnumpy()[0], [0, counts[1] / 0.25, counts[2] / 0.75], rtol=1e-5)
    totals = np.random.multinomial(50, [0.2, 0.8], size=(7,)).asnumpy()
    assert totals.shape == (7, 2) and (totals.sum(1) == 50).all()


def test_shuffle_and_choice_keep_the_entries(generator):
    x = np.arange(200).reshape(100, 2)
    before = x.asnumpy().copy()
    np.random.shuffle(x)
    after = x.asnumpy()
    assert (after != before).any()
    assert sorted(map(tuple, after)) == sorted(map(tuple, before))
    chosen = np.random.choice(50, 50, replace=False).asnumpy()
    assert sorted(chosen) == list(range(50))


@pytest.mark.parametrize(
    "call, error",
    [
        (lambda: np.random.normal(0, -1, 3), ValueError),
        (lambda: np.random.gamma(-1.0, 1.0, 3), ValueError),
        (lambda: np.random.randint(5, 5), ValueError),
        (lambda: nd.random.randint(3, 1, shape=2), ValueError),
        (lambda: nd.random.randint(0, 2**33, dtype="int32"), ValueError),
        (lambda: np.random.randint(-1, 3, dtype="uint8"), ValueError),
        (lambda: nd.random.uniform(shape=(-1,)), ValueError),
        (lambda: nd.random.uniform(shape=2, dtype="int32"), TypeError),
        (lambda: np.random.choice(3, 5, replace=False), ValueError),
        (lambda: np.random.multinomial(1 << 62, [0.2, 0.8], size=2), ValueError),
        (lambda: npx.random.bernoulli(0.5, 0.5), ValueError),
        (lambda: mx.random.set_generator("nonsense"), ValueError),
        (lambda: nd.Dropout(nd.ones((2,)), p=1.5), ValueError),
    ],
)
def test_bad_calls_raise_at_once(call, error):
    with pytest.raises(error):
        call()


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (lambda: npx.random.bernoulli(np.array([0.5, 1.5])), r"must be in \[0, 1\], got 1.5"),
        (
            lambda: np.random.gamma(np.array([1.0, 2.0]), np.array([1.0, -1.0])),
            "must be positive, got 2 and -1",
        ),
        (lambda: np.random.gamma(np.array(0.0), 1), "must be positive, got 0 and 1"),
        (
            lambda: nd.random.gamma(nd.array([1, 2]), nd.array([1, -1]), shape=2),
            "must not be negative, got 2 and -1",
        ),
        (lambda: nd.random.normal(0, -1, shape=3), "scale must not be negative, got -1"),
    ],
)
def test_wrong_parameters_are_value_errors_when_samples_are_read(draw, message):
    samples = draw()
    with pytest.raises(ValueError, match=message):
        samples.asnumpy()


@pytest.mark.parametrize(("shape", "scale"), [(0, 1), (1, 0), (1, -1)])
def test_parameters_of_gamma_are_positive_in_np(shape, scale):
    with pytest.raises(ValueError, match=f"shape and scale must be positive, got {shape} and {scale}"):
        np.random.gamma(shape, scale, size=3)


@pytest.mark.parametrize("generator", ["philox", "mt19937"])
def test_parameters_may_be_zero_where_the_distribution_has_a_limit(generator):
    mx.random.set_generator(generator)
    try:
        samples = nd.random.gamma(nd.array([1, 0, 0, 2]), nd.array([0, 2, 0, 1]), shape=(50,)).asnumpy()
        assert (samples[:3] == 0).all() and (samples[3] > 0).all()
        assert (nd.random.gamma(0, 1, shape=5).asnumpy() == 0).all()
        counts = nd.random.negative_binomial(nd.array([0, 5]), nd.array([0.5, 0.2]), shape=(50,)).asnumpy()
        assert (counts[0] == 0).all() and counts[1].sum() > 0
    finally:
        mx.random.set_generator("philox")


def test_nd_reports_bad_numbers_when_the_result_is_read():
    samples = nd.random.normal(0, -1, shape=3)
    with pytest.raises(MXNetError, match="scale"):
        samples.asnumpy()


def test_infinite_parameters_end(generator):
    inf = float("inf")
    for draw, expected in (
        (lambda: nd.random.gamma(inf, 1, shape=4), inf),
        (lambda: nd.random.gamma(1e300, 1, shape=4, dtype="float64"), 1e300),
        (lambda: nd.random.gamma_like(nd.ones(4), alpha=inf, beta=1), inf),
        (lambda: np.random.gamma(inf, 1, 4), inf),
        (lambda: np.random.chisquare(inf, 4), inf),
        (lambda: np.random.beta(inf, 1, 4), 1),
        (lambda: np.random.beta(1, inf, 4), 0),
        (lambda: np.random.beta(inf, inf, 4), 0.5),
        (lambda: nd.random.poisson(inf, shape=4), inf),
    ):
        assert draw().asnumpy().tolist() == 4 * [expected]


def test_empty_results():
    assert np.random.uniform(size=(0, 3)).shape == (0, 3)
    assert np.random.poisson(3, size=(0,)).shape == (0,)


COVARIANCES = {
    "definite": [[2.0, -0.6, 0.3], [-0.6, 1.0, 0.1], [0.3, 0.1, 0.5]],
    "singular": [[1.0, 2.0, 0.0], [2.0, 4.0, 0.0], [0.0, 0.0, 0.0]],
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("covariance", COVARIANCES.values(), ids=COVARIANCES)
def test_multivariate_normal_has_the_moments(covariance, dtype):
    mx.random.seed(5)
    mean = [1.0, -2.0, 3.0]
    drawn = np.random.multivariate_normal(
        np.array(mean, dtype=dtype), np.array(covariance, dtype=dtype), size=(200, 200)
    )
    assert drawn.shape == (200, 200, 3) and drawn.dtype == dtype
    samples = drawn.asnumpy().reshape(-1, 3).astype("float64")
    numpy.testing.assert_allclose(samples.mean(0), mean, atol=0.05)
    numpy.testing.assert_allclose(numpy.cov(samples.T), covariance, atol=0.1)


def test_multivariate_normal_of_batches():
    mx.random.seed(6)
    means = np.array([[0.0, 0.0], [5.0, 6.0], [-7.0, 8.0]])
    covariances = np.array([[[1, 0], [0, 1e-4]], [[1e-4, 0], [0, 1]], [[1, 0.9], [0.9, 1]]])
    assert np.random.multivariate_normal(means, covariances).shape == (3, 2)
    assert np.random.multivariate_normal(means, covariances[0], size=4).shape == (4, 3, 2)
    assert np.random.multivariate_normal([1, 2], [[1, 0], [0, 1]]).shape == (2,)
    samples = np.random.multivariate_normal(means, covariances, size=N).asnumpy()
    for k in range(3):
        numpy.testing.assert_allclose(samples[:, k].mean(0), means[k].asnumpy(), atol=0.05)
        numpy.testing.assert_allclose(numpy.cov(samples[:, k].T), covariances[k].asnumpy(), atol=0.05)
    mx.random.seed(6)
    np.random.multivariate_normal(means, covariances)
    first = np.random.multivariate_normal(means, covariances).asnumpy()
    mx.random.seed(6)
    np.random.multivariate_normal(means, covariances)
    numpy.testing.assert_array_equal(np.random.multivariate_normal(means, covariances).asnumpy(), first)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("size", [None, 1, (), (2, 3), (2, 0)])
@pytest.mark.parametrize(
    "shapes", [((2,), (2, 2)), ((3, 2), (2, 2)), ((2,), (3, 2, 2)), ((3, 2), (4, 3, 2, 2))]
)
def test_multivariate_normal_is_the_same_in_graphs(shapes, size, dtype):
    class Draw(mx.gluon.HybridBlock):
        def hybrid_forward(self, F, mean, cov):
            return F.np.random.multivariate_normal(mean, cov, size)

    mean = np.broadcast_to(np.array([0.5, 10.0]), shapes[0]).astype(dtype)
    covariance = np.broadcast_to(np.array([[2.0, 0.5], [0.5, 1.0]]), shapes[1]).astype(dtype)
    net = Draw()
    net.hybridize()
    mean.attach_grad()
    mx.random.seed(5)
    with autograd.record():
        found = net(mean, covariance)
    mx.random.seed(5)
    expected = np.random.multivariate_normal(mean, covariance, size)
    assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
    numpy.testing.assert_allclose(
        found.asnumpy(), expected.asnumpy(), rtol=2e-3 if dtype == "float16" else 1e-5
    )
    found.backward()
    assert (mean.grad.asnumpy() == found.size / mean.size).all()


def test_multivariate_normal_of_symbols_refuses_what_is_singular():
    draw = mx.sym.np.random.multivariate_normal(
        mx.sym.var("m").as_np_ndarray(), mx.sym.var("c").as_np_ndarray()
    )
    for cov, message in (([[1, 1], [1, 1]], "positive definite"), ([[1, 1, 1]], "covariance of shape")):
        with pytest.raises(MXNetError, match=message):
            draw.eval(m=np.zeros(2), c=np.array(cov))[0].asnumpy()


def test_multivariate_normal_passes_gradients_to_the_mean():
    mean, covariance = np.array([1.0, 2.0]), np.array([[1.0, 0.5], [0.5, 1.0]])
    mean.attach_grad()
    with autograd.record():
        loss = np.random.multivariate_normal(mean, covariance, size=3).sum()
    loss.backward()
    numpy.testing.assert_array_equal(mean.grad.asnumpy(), [3, 3])
    covariance.attach_grad()
    with autograd.record(), pytest.raises(MXNetError, match="multivariate_normal: NumPy computes"):
        np.random.multivariate_normal(mean, covariance * 2)


@pytest.mark.parametrize(
    ("mean", "covariance", "message"),
    [
        ([1.0, 2.0], [[1.0, 2.0], [2.0, 1.0]], "positive semidefinite"),
        ([1.0, 2.0], [[1.0, 0.0], [0.0, math.nan]], "positive semidefinite"),
        ([1.0, 2.0, 3.0], [[1.0, 0.0], [0.0, 1.0]], "of shape"),
        ([1.0, 2.0], [1.0, 1.0], "of shape"),
        (1.0, [[1.0]], "of shape"),
    ],
)
def test_multivariate_normal_refuses(mean, covariance, message):
    with pytest.raises(ValueError, match=message):
        np.random.multivariate_normal(np.array(mean), np.array(covariance))


SLOPES = {
    "gumbel": lambda x, loc, scale: (1, (x - loc) / scale),
    "laplace": lambda x, loc, scale: (1, (x - loc) / scale),
    "logistic": lambda x, loc, scale: (1, (x - loc) / scale),
    "rayleigh": lambda x, scale: (x / scale,),
    "pareto": lambda x, a: (-(1 + x) * numpy.log(1 + x) / a,),
    "weibull": lambda x, a: (-x * numpy.log(x) / a,),
    "power": lambda x, a: (0,),
}


@pytest.mark.parametrize("name", SLOPES)
def test_samples_move_with_their_parameters(name):
    slopes = SLOPES[name]
    count = slopes.__code__.co_argcount - 1
    parameters = [np.array([1.0, 1.5, 2.0]) + k for k in range(count)]
    for one in parameters:
        one.attach_grad()
    with autograd.record():
        x = getattr(np.random, name)(*parameters, size=(4, 3))
    x.backward(np.full((4, 3), 2.0))
    expected = slopes(x.asnumpy(), *(one.asnumpy() for one in parameters))
    for one, slope in zip(parameters, expected):
        numpy.testing.assert_allclose(one.grad.asnumpy(), (2 * slope * numpy.ones((4, 3))).sum(0), 1e-4)


def test_a_scale_of_zero_has_a_finite_gradient():
    scale = np.zeros(3)
    scale.attach_grad()
    with autograd.record():
        x = np.random.gumbel(np.ones(3), scale) + np.random.rayleigh(scale)
    x.backward()
    assert numpy.isfinite(scale.grad.asnumpy()).all()


def test_candidates_of_a_sampled_loss():
    classes, tries = nd._internal._sample_unique_zipfian(1000, shape=(3, 40))
    assert classes.shape == (3, 40) and classes.dtype == tries.dtype == numpy.int64
    for row, count in zip(classes.asnumpy(), tries.asnumpy()):
        assert len(set(row)) == 40 <= count and row.min() >= 0 and row.max() < 1000
    many, _ = nd._internal._sample_unique_zipfian(10**6, shape=(5000, 1))
    assert abs((many.asnumpy() == 0).mean() - math.log(1.5) / math.log(10**6)) < 0.02
    with pytest.raises(ValueError, match="different classes cannot be drawn"):
        nd._internal._sample_unique_zipfian(3, shape=(1, 4))


@pytest.mark.parametrize("generator", ["philox", "mt19937"])
def test_few_of_very_many_numbers_are_chosen_without_memory_for_all(generator):
    mx.random.set_generator(generator)
    try:
        drawn = np.random.choice(2**61, size=(6,), replace=False).asnumpy()
    finally:
        mx.random.set_generator("philox")
    assert len(set(drawn.tolist())) == 6 and (drawn >= 0).all() and (drawn < 2**61).all()


def test_all_numbers_chosen_without_replacement_are_in_random_order():
    drawn = np.random.choice(1000, size=(1000,), replace=False).asnumpy()
    assert sorted(drawn.tolist()) == list(range(1000)) and drawn.tolist() != list(range(1000))
