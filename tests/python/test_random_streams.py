"""Which seeded random numbers are those of MXNet 1.9.1, drawn beside it."""

import json

import numpy
import pytest

import headrace as mx

pytestmark = pytest.mark.usefixtures("mt19937")

# Drawn after one seed in both, in the mode of arrays that the first word names.
DRAWS = [
    *(
        f"mx.nd.random.{call}, shape=(200,), dtype='{dtype}')"
        for call in ("uniform(-1, 2", "normal(1, 2")
        for dtype in ("float32", "float64")
    ),
    *(f"mx.nd.random.randint(-5, {high}, shape=(200,), dtype='int64')" for high in (100, 2**40)),
    "mx.nd.random.randint(0, 9, shape=(200,))",
    "mx.nd.random.randn(200)",
    "mx.nd.random.uniform(mx.nd.array([0, 1]), mx.nd.array([2, 4]), shape=(50,))",
    "mx.nd.random.normal(mx.nd.array([0, 1]), mx.nd.array([2, 4]), shape=(50,))",
    "mx.nd.random.uniform_like(mx.nd.zeros((200,)))",
    "mx.nd.random.normal_like(mx.nd.zeros((200,)))",
    "mx.nd.Dropout(mx.nd.ones((200,)), p=0.3, mode='always')",
    "mx.nd.Dropout(mx.nd.ones((20, 10)), p=0.3, mode='always', axes=(1,))",
    *(
        f"filled(mx.init.{init})"
        for init in ("Uniform()", "Normal()", "Xavier()", "Xavier('gaussian')", "MSRAPrelu()")
    ),
    "abs(filled(mx.init.Orthogonal()))",
    *(
        f"mx.np.random.{call}, size=(200,), dtype='{dtype}')"
        for call in ("uniform(-1, 2", "normal(1, 2")
        for dtype in ("float32", "float16")
    ),
    "mx.np.random.rand(200)",
    "mx.np.random.randn(200)",
    "mx.np.random.randint(0, 100, size=(200,))",
    "mx.np.random.uniform(mx.np.zeros(5), mx.np.ones(5), size=(40, 5))",
    "mx.np.random.normal(mx.np.zeros(5), mx.np.ones(5), size=(40, 5))",
    "mx.npx.random.bernoulli(0.3, size=(200,))",
    "mx.npx.random.uniform_n(0, 1, batch_shape=(200,))",
    "mx.npx.random.normal_n(0, 1, batch_shape=(200,))",
    "mx.npx.dropout(mx.np.ones((200,)), p=0.3, mode='always')",
    *(
        f"mx.nd.random.{call}, shape=(200,), dtype='{dtype}')"
        for call in (
            "exponential(2.0",
            "gamma(2.3, 1.5",
            "gamma(0.4, 2",
            "poisson(3.5",
            "poisson(40.5",
            "negative_binomial(4, 0.3",
            "generalized_negative_binomial(25.0, 0.1",
        )
        for dtype in ("float32", "float64", "float16")
    ),
    "mx.nd.random.uniform(-1, 2, shape=(200,), dtype='float16')",
    "mx.nd.random.normal(1, 2, shape=(200,), dtype='float16')",
    "mx.nd.random.gamma(mx.nd.array([1, 0.5]), mx.nd.array([1, 2.5]), shape=(50,))",
    "mx.nd.random.multinomial(mx.nd.array([[0.1, 0.2, 0.3, 0.4], [0.25, 0.25, 0.4, 0.1]]), shape=100)",
    "mx.nd.random.shuffle(mx.nd.arange(60).reshape((20, 3)))",
    "mx.nd._internal._sample_unique_zipfian(range_max=100, shape=(2, 20))[0]",
    *(
        f"mx.np.random.{call}, size=(200,), dtype='{dtype}')"
        for call in ("gamma(2.3, 1.5", "gamma(0.4, 2", "beta(2.0, 3.0", "lognormal(1.0, 0.5", "uniform(-1, 2")
        for dtype in ("float32", "float64", "float16")
    ),
    *(
        f"mx.np.random.{call}, size=(200,))"
        for call in (
            "exponential(2.0",
            "gumbel(1.0, 2.0",
            "logistic(1.0, 2.0",
            "pareto(3.0",
            "power(3.0",
            "rayleigh(2.0",
            "weibull(2.0",
            "choice(50",
        )
    ),
    "mx.np.random.gamma(mx.np.array([2.0, 0.5]), mx.np.array([1.0, 3.0]), size=(100, 2))",
    "mx.np.random.choice(50, size=(40,), replace=False)",
    "mx.np.random.choice(50, size=(10,), replace=False)",
    "mx.np.random.choice(4, size=(100,), p=mx.np.array([0.1, 0.2, 0.3, 0.4]))",
    "mx.np.random.choice(4, size=(3,), replace=False, p=mx.np.array([0.1, 0.2, 0.3, 0.4]))",
    "mx.np.random.multinomial(20, mx.np.array([0.1, 0.2, 0.3, 0.4]), size=(30,))",
]

PROGRAM = """
import mxnet as mx

def filled(init):
    weight = mx.nd.zeros((20, 10))
    init(mx.init.InitDesc("x_weight"), weight)
    return weight

def drawn(text):
    is_np = "mx.np" in text
    with mx.util.np_shape(is_np), mx.util.np_array(is_np):
        mx.random.seed(7)
        return [eval(text).asnumpy().astype("float64").tolist() for _ in range(2)]
"""


@pytest.fixture(scope="module")
def of_mxnet(mxnet_peer):
    """The numbers of MXNet by their expressions."""
    return mxnet_peer(f"{PROGRAM}\nimport json\nprint(json.dumps({{t: drawn(t) for t in {DRAWS!r}}}))")


@pytest.mark.parametrize("text", DRAWS)
def test_numbers_are_those_of_mxnet(text, of_mxnet):
    scope = {"mx": mx}
    exec(PROGRAM.replace("import mxnet as mx\n", ""), scope)
    found = json.loads(json.dumps(scope["drawn"](text)))
    numpy.testing.assert_allclose(found, of_mxnet[text], rtol=2e-6, atol=1e-6)


# The first of those, where there is no MXNet to run beside.
RECORDED = {
    "mx.nd.random.exponential(2.0, shape=(4,))": [
        0.7118724584579468,
        1.9204628467559814,
        1.4252262115478516,
        1.6258186101913452,
    ],
    "mx.nd.random.gamma(2.3, 1.5, shape=(4,))": [
        5.226771354675293,
        3.6476988792419434,
        3.2117629051208496,
        1.5748023986816406,
    ],
    "mx.nd.random.multinomial(mx.nd.array([0.1, 0.2, 0.3, 0.4]), shape=6)": [1.0, 3.0, 2.0, 2.0, 2.0, 0.0],
    "mx.nd.random.negative_binomial(4, 0.3, shape=(4,))": [10.0, 10.0, 10.0, 12.0],
    "mx.nd.random.poisson(40.5, shape=(4,))": [35.0, 44.0, 38.0, 44.0],
    "mx.np.random.choice(50, size=(4,), replace=False)": [45.0, 33.0, 19.0, 13.0],
    "mx.np.random.gamma(0.4, 2, size=(4,))": [
        1.3525631427764893,
        1.9870434999465942,
        0.003084082854911685,
        0.00594582874327898,
    ],
    "mx.np.random.gumbel(1.0, 2.0, size=(4,))": [
        0.6258816719055176,
        2.4572625160217285,
        1.788893222808838,
        2.068167209625244,
    ],
    "mx.np.random.power(3.0, size=(4,))": [
        0.8881226778030396,
        0.7260929942131042,
        0.7885671257972717,
        0.7626395225524902,
    ],
}


@pytest.mark.parametrize("text", RECORDED)
def test_numbers_are_those_that_mxnet_gave(text):
    mx.random.seed(11)
    found = eval(text).asnumpy()
    numpy.testing.assert_allclose(found, RECORDED[text], rtol=2e-6)
