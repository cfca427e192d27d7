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
