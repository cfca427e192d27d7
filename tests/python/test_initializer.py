"""Initializers: values, distributions, names, dispatch and text forms."""

import math

import numpy
import pytest

import headrace as hr
from headrace import init, nd, npx
from headrace.initializer import InitDesc


@pytest.fixture(params=["nd", "np"])
def zeros(request):
    """The function that makes the array to fill, in the mode under test."""
    if request.param == "np":
        npx.set_np()
    yield hr.np.zeros if request.param == "np" else nd.zeros
    npx.reset_np()


def filled(initializer, zeros, shape):
    array = zeros(shape)
    initializer(InitDesc("x_weight"), array)
    return array.asnumpy()


def test_constants(zeros):
    assert filled(init.Zero(), zeros, (2, 2)).tolist() == [[0, 0], [0, 0]]
    assert filled(init.One(), zeros, (2,)).tolist() == [1, 1]
    assert filled(init.Constant(3), zeros, (2,)).tolist() == [3, 3]
    assert filled(init.Constant([1, 2]), zeros, (2,)).tolist() == [1, 2]
    assert filled(init.Constant(nd.array([1, 2])), zeros, (2,)).tolist() == [1, 2]


@pytest.mark.parametrize(
    ("initializer", "bound"),
    [
        (init.Uniform(), 0.07),
        (init.Uniform(2), 2),
        (init.Xavier(), math.sqrt(3 / 75)),
        (init.Xavier(factor_type="in", magnitude=2), math.sqrt(2 / 100)),
        (init.Xavier(factor_type="out"), math.sqrt(3 / 50)),
    ],
)
def test_uniform(zeros, initializer, bound):
    values = filled(initializer, zeros, (50, 100))
    assert abs(values).max() <= bound
    assert abs(values).max() > 0.98 * bound
    assert values.std() == pytest.approx(bound / math.sqrt(3), rel=0.05)
    assert abs(values.mean()) < 0.05 * bound


@pytest.mark.parametrize(
    ("initializer", "deviation"),
    [
        (init.Normal(), 0.01),
        (init.Normal(2), 2),
        (init.Xavier(rnd_type="gaussian"), math.sqrt(3 / 75)),
        (init.MSRAPrelu(), math.sqrt(2 / (1 + 0.25**2) / 75)),
        (init.MSRAPrelu(factor_type="in", slope=0), math.sqrt(2 / 100)),
    ],
)
def test_normal(zeros, initializer, deviation):
    values = filled(initializer, zeros, (50, 100))
    assert values.std() == pytest.approx(deviation, rel=0.05)
    assert abs(values.mean()) < 0.05 * deviation


def test_xavier_counts_the_window(zeros):
    values = filled(init.Xavier(factor_type="in"), zeros, (8, 4, 3, 5))
    assert abs(values).max() <= math.sqrt(3 / 60)
    assert abs(values).max() > 0.95 * math.sqrt(3 / 60)


@pytest.mark.parametrize("shape", [(4, 7), (7, 4), (3, 2, 2)])
@pytest.mark.parametrize("rand_type", ["uniform", "normal"])
def test_orthogonal(zeros, shape, rand_type):
    matrix = filled(init.Orthogonal(scale=2, rand_type=rand_type), zeros, shape).reshape(shape[0], -1)
    product = matrix @ matrix.T if matrix.shape[0] <= matrix.shape[1] else matrix.T @ matrix
    numpy.testing.assert_allclose(product, 4 * numpy.eye(len(product)), atol=1e-5)


def test_bilinear(zeros):
    values = filled(init.Bilinear(), zeros, (2, 1, 4, 4))
    row = numpy.array([0.25, 0.75, 0.75, 0.25])
    assert values.tolist() == [[numpy.outer(row, row).tolist()]] * 2
    row = numpy.array([0.25, 0.75, 0.75])
    assert filled(init.Bilinear(), zeros, (1, 1, 3, 3)).tolist() == [[numpy.outer(row, row).tolist()]]


def test_lstm_bias(zeros):
    assert filled(init.LSTMBias(2.0), zeros, (8,)).tolist() == [0, 0, 2, 2, 0, 0, 0, 0]
    bias = nd.ones((8,))
    init.Mixed([".*"], [init.LSTMBias(2.0)])("lstm_i2h_bias", bias)
    assert not bias.asnumpy().any()


def test_names_end_in_small_letters():
    with pytest.raises(ValueError, match="Unknown initialization pattern for FC_WEIGHT"):
        init.One()(InitDesc("FC_WEIGHT"), nd.zeros((2,)))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("a_weight", 9),
        ("a_bias", 0),
        ("a_gamma", 1),
        ("a_beta", 0),
        ("a_min", 0),
        ("a_max", 1),
    ],
)
def test_dispatch_by_suffix(name, expected):
    for kind in (InitDesc, str):
        array = nd.ones((2,)) * 5
        init.Constant(9)(kind(name), array)
        assert array.asnumpy().tolist() == [expected, expected]


def test_plain_names_that_begin_as_enlarging_and_transforming_layers_do():
    kernel, bias = nd.zeros((1, 2, 4, 4)), nd.ones((6,))
    init.Zero()("upsampling_weight", kernel)
    expected = nd.zeros((1, 2, 4, 4))
    init.Bilinear()("any_weight", expected)
    assert (kernel.asnumpy() == expected.asnumpy()).all() and kernel.asnumpy().max() == 0.5625
    init.One()("stn_loc_bias", bias)
    assert bias.asnumpy().tolist() == [1, 0, 0, 0, 1, 0]
    init.One()("stn_loc_weight", bias)
    assert not bias.asnumpy().any()
    with pytest.raises(ValueError, match="6 numbers"):
        init.One()("stn_loc_bias", nd.ones((4,)))
    init.Initializer()._init_bilinear("upsampling_weight", kernel)
    init.Zero()(InitDesc("upsampling_weight"), kernel)
    assert not kernel.asnumpy().any()


def test_moving_statistics_have_rules_for_plain_names_only():
    array = nd.ones((2,)) * 5
    init.Constant(9)("bn_moving_var", array)
    assert array.asnumpy().tolist() == [1, 1]
    init.Constant(9)("bn_moving_mean", array)
    assert array.asnumpy().tolist() == [0, 0]
    with pytest.raises(ValueError, match="Unknown initialization pattern"):
        init.Constant(9)(InitDesc("bn_moving_mean"), array)


@pytest.mark.parametrize("own", [init.One(), "ones", '["constant", {"value": 1}]'])
def test_own_initializer_comes_first(own):
    array = nd.zeros((2,))
    init.Constant(9)(InitDesc("a_bias", {"__init__": own}), array)
    assert array.asnumpy().tolist() == [1, 1]


def test_mixed_and_load(tmp_path):
    mixed = init.Mixed(["bias", ".*"], [init.Zero(), init.One()])
    array = nd.ones((2,)) * 5
    mixed("bias", array)
    assert array.asnumpy().tolist() == [0, 0]
    mixed("x_weight", array)
    assert array.asnumpy().tolist() == [1, 1]
    with pytest.raises(ValueError, match="did not match any pattern"):
        init.Mixed(["bias"], [init.Zero()])("weight", array)
    with pytest.raises(AssertionError):
        init.Mixed(["bias"], [])

    file = str(tmp_path / "some.params")
    nd.save(file, {"arg:w": nd.array([4, 5])})
    load = init.Load(file, default_init=init.One())
    load("w", array)
    assert array.asnumpy().tolist() == [4, 5]
    load("other_weight", array)
    assert array.asnumpy().tolist() == [1, 1]
    with pytest.raises(AssertionError, match="Shape mismatch"):
        load("w", nd.zeros((3,)))
    with pytest.raises(AssertionError, match="no default initializer"):
        init.Load(file)("other_weight", array)


@pytest.mark.parametrize(
    ("initializer", "text"),
    [
        (init.Xavier(), '["xavier", {"rnd_type": "uniform", "factor_type": "avg", "magnitude": 3}]'),
        (init.MSRAPrelu(), '["msraprelu", {"factor_type": "avg", "slope": 0.25}]'),
        (init.Constant(3), '["constant", {"value": 3}]'),
        (init.Uniform(), '["uniform", {"scale": 0.07}]'),
        (init.Zero(), '["zero", {}]'),
        (init.LSTMBias(), '["lstmbias", {"forget_bias": 1.0}]'),
        (init.Constant(nd.array([[1, 2]])), '["constant", {"value": [[1.0, 2.0]]}]'),
        (init.Constant(numpy.array([3, 4])), '["constant", {"value": [3, 4]}]'),
        (init.Orthogonal(), '["orthogonal", {"scale": 1.414, "rand_type": "uniform"}]'),
    ],
)
def test_text_form(initializer, text):
    assert initializer.dumps() == text
    assert init.create(text) == initializer


def test_names_and_equality():
    assert isinstance(init.create("zeros"), init.Zero)
    assert isinstance(init.create("Ones"), init.One)
    assert isinstance(init.create("xavier"), init.Xavier)
    assert init.create("uniform", scale=2) == init.Uniform(2)
    assert init.Xavier() == init.Xavier() != init.Xavier(magnitude=2)
    assert len({init.Uniform(1), init.Uniform(1), init.Uniform(2)}) == 2
    existing = init.Normal(3)
    assert init.create(existing) is existing


def test_registering():
    @init.register
    class Seven(init.Initializer):
        def _init_weight(self, name, arr):
            arr[:] = 7

    param = hr.gluon.Parameter("w", shape=(2,), init="seven")
    param.initialize()
    assert param.data().asnumpy().tolist() == [7, 7]


def test_an_initializer_that_is_verbose_without_a_function_tells_nothing(caplog):
    class Loud(init.Initializer):
        def __init__(self):
            super().__init__()
            self._verbose = True

        def _init_weight(self, name, arr):
            arr[:] = 5

    net = hr.gluon.nn.Dense(1, in_units=2)
    with caplog.at_level("INFO"):
        net.initialize(Loud())
    assert net.weight.data().asnumpy().tolist() == [[5, 5]] and not caplog.records


def test_verbose(caplog):
    with caplog.at_level("INFO"):
        init.Load({"a": nd.array([3, 4])}, init.Constant([0, 4]).set_verbosity(True), True)(
            "a", nd.zeros((2,))
        )
        init.Constant(nd.array([0, 4])).set_verbosity(True)(InitDesc("a_weight"), nd.zeros((2,)))
        init.One().set_verbosity(True)(InitDesc("a_weight", {"__init__": "zeros"}), nd.ones((2,)))
        init.One().set_verbosity(True, lambda array: array.shape)(InitDesc("a_gamma"), nd.zeros((2,)))
        hr.gluon.nn.Dense(1, in_units=2, prefix="fc_").initialize(init.One(), verbose=True)
    assert caplog.messages == [
        "Initialized a by loading",
        "Initialized a_weight as weight: 2.828427",
        "Initialized a_weight as zeros: 0.0",
        "Initialized a_gamma as gamma: (2,)",
        "Initialized fc_weight as One(): 1.0",
        "Initialized fc_bias as zeros: 0.0",
    ]


ERRORS = [
    (lambda: init.create("nope"), AssertionError, "nope is not registered"),
    (lambda: init.create(3), AssertionError, "must be of string type"),
    (lambda: filled(init.Xavier(), nd.zeros, (3,)), ValueError, "at least 2D"),
    (lambda: filled(init.Xavier(factor_type="x"), nd.zeros, (3, 3)), ValueError, "Incorrect factor type"),
    (lambda: filled(init.Xavier(rnd_type="x"), nd.zeros, (3, 3)), ValueError, "Unknown random type"),
    (lambda: filled(init.Orthogonal(rand_type="x"), nd.zeros, (3, 3)), ValueError, "rand_type must be"),
    (lambda: filled(init.Initializer(), nd.zeros, (3, 3)), NotImplementedError, "must define _init_weight"),
    (
        lambda: init.Zero()(InitDesc("foo"), nd.zeros((2,))),
        ValueError,
        "Unknown initialization pattern for foo",
    ),
    (lambda: init.Load(3), AssertionError, "expected a dictionary"),
]


@pytest.mark.parametrize("case", range(len(ERRORS)))
def test_errors(case):
    act, error, text = ERRORS[case]
    with pytest.raises(error, match=text):
        act()
