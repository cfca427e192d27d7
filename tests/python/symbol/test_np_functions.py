"""np functions on symbols give what they give on arrays."""

import numpy
import pytest

import headrace as mx
from headrace import np, npx, sym

X = numpy.arange(24, dtype="float32").reshape(2, 3, 4)
Y = numpy.cos(X)

CALLS = {
    "append": lambda F, x, y: F.append(x, y, axis=0),
    "append flat": lambda F, x, y: F.append(x, y),
    "array_split": lambda F, x, y: F.array_split(x, 2, axis=1)[0],
    "array_split at": lambda F, x, y: F.array_split(x, [1], axis=1)[1],
    "atleast_1d": lambda F, x, y: F.atleast_1d(x, y)[1],
    "atleast_2d": lambda F, x, y: F.atleast_2d(x),
    "atleast_3d": lambda F, x, y: F.atleast_3d(x, y, x)[0],
    "average": lambda F, x, y: F.average(x, axis=1),
    "average weighted": lambda F, x, y: F.average(x, axis=0, weights=y),
    "average and weights": lambda F, x, y: F.average(x, axis=0, weights=y, returned=True)[1],
    "dsplit": lambda F, x, y: F.dsplit(x, 2)[1],
    "einsum": lambda F, x, y: F.einsum("ijk,ijk->k", x, y),
    "full": lambda F, x, y: F.full((2, 3), 7),
    "full of an array": lambda F, x, y: F.full((3, 2, 3, 4), x),
    "histogram": lambda F, x, y: F.histogram(x, 5, (0, 20))[0],
    "hsplit": lambda F, x, y: F.hsplit(x, 3)[2],
    "pad": lambda F, x, y: F.pad(x, ((1, 0), (0, 2), (1, 1)), constant_values=3),
    "pad edge": lambda F, x, y: F.pad(x, ((1, 0), (0, 2), (1, 1)), mode="edge"),
    "split": lambda F, x, y: F.split(x, 2, axis=2)[1],
    "split at": lambda F, x, y: F.split(x, (1, 3), axis=2)[1],
    "tensordot": lambda F, x, y: F.tensordot(x, y, ((0, 1), (0, 1))),
    "tensordot count": lambda F, x, y: F.tensordot(x, F.reshape(y, (4, 6)), 1),
    "vsplit": lambda F, x, y: F.vsplit(x, 2)[0],
    "where": lambda F, x, y: F.where(x, y, 1),
    "where left": lambda F, x, y: F.where(x, 2, y),
    "where both": lambda F, x, y: F.where(x, y, x),
    "where numbers": lambda F, x, y: F.where(x, 2, 3),
}


@pytest.fixture(autouse=True)
def np_mode():
    npx.set_np()
    yield
    npx.reset_np()


@pytest.mark.parametrize("name", CALLS)
def test_as_on_arrays(name):
    expected = CALLS[name](np, np.array(X), np.array(Y))
    made = CALLS[name](sym.np, sym.var("x"), sym.var("y"))
    given = {key: np.array(value) for key, value in (("x", X), ("y", Y)) if key in made.list_arguments()}
    (found,) = made.eval(**given)
    assert type(found) is np.ndarray and found.dtype == expected.dtype
    numpy.testing.assert_allclose(found.asnumpy(), expected.asnumpy(), rtol=1e-6)


INDICES = [
    0,
    -1,
    slice(1),
    slice(None, None, 2),
    (1, slice(0, 2)),
    (slice(None), None, 2),
    (Ellipsis,),
    (0, 1, -1),
]


@pytest.mark.parametrize("index", INDICES, ids=str)
def test_indexing(index):
    (found,) = sym.var("x")[index].eval(x=np.array(X))
    assert found.asnumpy().tolist() == X[index].tolist()


def test_what_needs_a_shape_or_values_is_refused():
    x = sym.var("x")
    with pytest.raises(ValueError, match="a pair .* for each axis"):
        sym.np.pad(x, 1)
    with pytest.raises(ValueError, match="both x and y"):
        sym.np.where(x)
    with pytest.raises(ValueError, match="null range"):
        sym.np.histogram(x)
    with pytest.raises(NotImplementedError, match="density"):
        sym.np.histogram(x, 2, (0, 1), density=True)


def test_a_number_chooses_between_symbols():
    x = sym.var("x").as_np_ndarray()
    assert sym.np.where(True, x, 0) is x and sym.np.where(0, x, 5) == 5


def test_names_that_numpy_has_dropped():
    assert sym.np.row_stack is sym.np.vstack and sym.np.product is sym.np.prod


def test_matrices_are_multiplied_with_symbols_alone():
    with pytest.raises(TypeError, match="unsupported operand"):
        sym.var("x").as_np_ndarray() @ 2


# By numbers; by symbols a and b, whose shapes (3, 1) and (2,) are broadcast.
SAMPLERS = {
    "beta": lambda r, a, b, **k: r.beta(a, b, **k),
    "chisquare": lambda r, a, b, **k: r.chisquare(a + b, **k),
    "exponential": lambda r, a, b, **k: r.exponential(a + b, **k),
    "gamma": lambda r, a, b, **k: r.gamma(a, b, **k),
    "gumbel": lambda r, a, b, **k: r.gumbel(a, b, **k),
    "laplace": lambda r, a, b, **k: r.laplace(a, b, **k),
    "logistic": lambda r, a, b, **k: r.logistic(a, b, **k),
    "lognormal": lambda r, a, b, **k: r.lognormal(a, b, **k),
    "normal": lambda r, a, b, **k: r.normal(a, b, **k),
    "pareto": lambda r, a, b, **k: r.pareto(a + b, **k),
    "poisson": lambda r, a, b, **k: r.poisson(a + b, **k),
    "power": lambda r, a, b, **k: r.power(a + b, **k),
    "rayleigh": lambda r, a, b, **k: r.rayleigh(a + b, **k),
    "uniform": lambda r, a, b, **k: r.uniform(a, b, **k),
    "weibull": lambda r, a, b, **k: r.weibull(a + b, **k),
}


@pytest.mark.parametrize("name", SAMPLERS)
def test_samplers_draw_what_they_draw_for_arrays(name):
    a, b = np.array([[1.0], [2.0], [3.0]]), np.array([4.0, 5.0])
    symbols = {"a": sym.var("a"), "b": sym.var("b")}
    sample = SAMPLERS[name]
    for size in (None, (3, 2), (4, 3, 2)):
        mx.random.seed(5)
        (found,) = sample(sym.np.random, **symbols, size=size).eval(a=a, b=b)
        mx.random.seed(5)
        expected = sample(np.random, a, b, size=size)
        assert found.shape == expected.shape and found.dtype == expected.dtype
        numpy.testing.assert_allclose(found.asnumpy(), expected.asnumpy(), rtol=1e-5)
    mx.random.seed(5)
    (found,) = sample(sym.np.random, 1.5, 4.0, size=(2, 5)).eval()
    mx.random.seed(5)
    numpy.testing.assert_allclose(
        found.asnumpy(), sample(np.random, 1.5, 4.0, size=(2, 5)).asnumpy(), rtol=1e-6
    )


OTHERS = {
    "choice": lambda r: r.choice(9, 5),
    "choice without replacement": lambda r: r.choice(9, 9, replace=False),
    "rand": lambda r: r.rand(2, 3),
    "randint": lambda r: r.randint(0, 9, (4,)),
    "randint high": lambda r: r.randint(9, size=4),
    "randn": lambda r: r.randn(2, 3),
}


@pytest.mark.parametrize("name", OTHERS)
def test_samplers_of_numbers(name):
    mx.random.seed(3)
    (found,) = OTHERS[name](sym.np.random).eval()
    mx.random.seed(3)
    expected = OTHERS[name](np.random)
    assert found.dtype == expected.dtype and found.asnumpy().tolist() == expected.asnumpy().tolist()


def test_choice_with_probabilities():
    chosen = sym.np.random.choice(3, (2, 5), p=sym.var("p"))
    assert sym.load_json(chosen.tojson()).tojson() == chosen.tojson()
    (found,) = chosen.eval(p=np.array([0, 1, 0], dtype="float64"))
    assert found.asnumpy().tolist() == [[1] * 5] * 2


@pytest.mark.parametrize("weights", [None, [0.5, 0, 0.25, 0, 0.25]])
def test_choice_among_the_entries_of_a_symbol(weights):
    p = None if weights is None else sym.var("p")
    chosen = sym.np.random.choice(sym.var("x"), (3,), replace=False, p=p)
    assert sym.load_json(chosen.tojson()).tojson() == chosen.tojson()
    x = np.array([[10, 0], [20, 0], [30, 0], [40, 0], [50, 0]])
    arrays = {} if p is None else {"p": np.array(weights)}
    (found,) = chosen.eval(x=x, **arrays)
    assert found.shape == (3, 2)
    entries = set(found[:, 0].asnumpy().tolist())
    assert len(entries) == 3 and entries <= {10, 20, 30, 40, 50} and (p is None or entries == {10, 30, 50})
    with pytest.raises(ValueError, match="replace=True"):
        sym.np.random.choice(sym.var("x"), 6, replace=False).eval(x=x)
    with pytest.raises(ValueError, match="array with an axis"):
        sym.np.random.choice(sym.var("x"), 6).eval(x=np.array(1.0))


def test_full_like_of_a_symbol_takes_a_context():
    (found,) = sym.np.full_like(sym.var("x"), True, dtype="int32", ctx=mx.cpu(0)).eval(x=np.ones((2,)))
    assert found.tolist() == [1, 1] and found.dtype == numpy.int32


def test_shuffle_and_multinomial():
    (mixed,) = sym.np.random.shuffle(sym.var("x")).eval(x=np.arange(9))
    assert sorted(mixed.asnumpy().tolist()) == list(range(9))
    (counts,) = sym.np.random.multinomial(10, sym.var("p")).eval(p=np.array([0.5, 0.5], dtype="float64"))
    assert counts.asnumpy().sum() == 10


def test_npx_random():
    (zeros,) = sym.npx.random.bernoulli(prob=sym.var("p"), size=(2, 3)).eval(p=np.array([0.0, 1.0, 0.0]))
    assert zeros.asnumpy().tolist() == [[0, 1, 0]] * 2
    (ones,) = sym.npx.random.bernoulli(logit=50.0, size=(3,)).eval()
    assert ones.asnumpy().tolist() == [1, 1, 1]
    with pytest.raises(ValueError, match="either prob or logit"):
        sym.npx.random.bernoulli()
    loc = np.array([[100.0], [200.0]])
    (drawn,) = sym.npx.random.normal_n(sym.var("loc"), 0.1, batch_shape=(4, 3)).eval(loc=loc)
    assert drawn.shape == (4, 3, 2, 1)
    numpy.testing.assert_allclose(drawn.asnumpy().mean(axis=(0, 1)), loc.asnumpy(), atol=1)
    assert sym.npx.random.uniform_n(0, 1, batch_shape=(4,)).eval()[0].shape == (4,)
    (image,) = sym.npx.image.to_tensor(sym.var("x")).eval(x=np.ones((2, 3, 3), dtype="uint8"))
    assert image.shape == (3, 2, 3)


@pytest.mark.parametrize("name", ["uniform", "normal", "exponential", "gamma", "poisson", "negative_binomial",
                                  "generalized_negative_binomial"])  # fmt: skip
def test_random_like(name):
    npx.reset_np()
    data = mx.nd.zeros((3, 5), dtype="float64")
    mx.random.seed(2)
    eager = getattr(mx.nd.random, name + "_like")(data)
    mx.random.seed(2)
    (found,) = getattr(sym.random, name + "_like")(sym.var("x")).eval(x=data)
    assert found.shape == (3, 5) and found.dtype == numpy.float64
    assert found.asnumpy().tolist() == eager.asnumpy().tolist()
    assert getattr(mx.nd.random, name + "_like")(mx.nd.zeros(2, dtype="int32")).dtype == numpy.float32


def test_rand_zipfian():
    """The numbers are those of MXNet 1.9.1 on the CPU."""
    npx.reset_np()
    true = mx.nd.array([3, 0, 9])
    kind = mx.random.generator()
    mx.random.set_generator("mt19937")
    try:
        mx.random.seed(3)
        eager = mx.nd.contrib.rand_zipfian(true, 5, 20)
        mx.random.seed(3)
        made = mx.sym.Group(list(sym.contrib.rand_zipfian(sym.var("t"), 5, 20))).eval(t=true)
    finally:
        mx.random.set_generator(kind)
    for one, other in zip(eager, made):
        assert one.dtype == other.dtype and one.asnumpy().tolist() == other.asnumpy().tolist()
    sampled, of_true, of_sampled = (one.asnumpy() for one in eager)
    assert sampled.tolist() == [2, 1, 1, 1, 0]
    share = numpy.log((true.asnumpy() + 2) / (true.asnumpy() + 1)) / numpy.log(21)
    numpy.testing.assert_allclose(of_true, 5 * share, rtol=1e-6)
    numpy.testing.assert_allclose(of_sampled, 5 * numpy.log((sampled + 2) / (sampled + 1)) / numpy.log(21))
