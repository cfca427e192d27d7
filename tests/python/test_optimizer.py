"""Update rules against NumPy, learning rates, states and their files."""

import math
import os
import pickle

import numpy
import pytest

import headrace as hr
from headrace import lr_scheduler, nd, npx, optimizer
from headrace.optimizer import Updater

RNG = numpy.random.default_rng(7)


@pytest.fixture(params=["nd", "np"])
def array(request):
    """The function that makes arrays of the mode under test."""
    if request.param == "np":
        npx.set_np()
    yield hr.np.array if request.param == "np" else nd.array
    npx.reset_np()


def clipped(grad, opt):
    grad = grad * opt.rescale_grad
    return grad if opt.clip_gradient is None else numpy.clip(grad, -opt.clip_gradient, opt.clip_gradient)


def sgd(opt, t, w, g, state):
    step = opt.lr * (clipped(g, opt) + opt.wd * w)
    state["m"] = opt.momentum * state.get("m", 0) - step
    return w + state["m"]


def nag(opt, t, w, g, state):
    if opt.momentum == 0:
        return w - opt.lr * (clipped(g, opt) + opt.wd * w)
    c, m, k = clipped(g, opt), state.get("m", 0), opt.momentum
    new = w - k * m + (1 + k) * (k * m - opt.lr * (c + opt.wd * w))
    state["m"] = k * m - opt.lr * (c + opt.wd * new)
    return new


def adam(opt, t, w, g, state):
    g = decayed(opt, w, g)
    state["m"] = opt.beta1 * state.get("m", 0) + (1 - opt.beta1) * g
    state["v"] = opt.beta2 * state.get("v", 0) + (1 - opt.beta2) * g * g
    rate = opt.lr * math.sqrt(1 - opt.beta2**t) / (1 - opt.beta1**t)
    return w - rate * state["m"] / (numpy.sqrt(state["v"]) + opt.epsilon)


def decayed(opt, w, g):
    g = opt.rescale_grad * g + opt.wd * w
    return g if opt.clip_gradient is None else numpy.clip(g, -opt.clip_gradient, opt.clip_gradient)


def mean(state, key, rate, value):
    state[key] = rate * state.get(key, 0) + (1 - rate) * value
    return state[key]


def adagrad(opt, t, w, g, state):
    g = clipped(g, opt)
    state["h"] = state.get("h", 0) + g * g
    return w - opt.lr * (g / numpy.sqrt(state["h"] + 1e-7) + opt.wd * w)


def rmsprop(opt, t, w, g, state):
    g = decayed(opt, w, g)
    n = mean(state, "n", opt.gamma1, g * g)
    if not opt.centered:
        return w - opt.lr * g / numpy.sqrt(n + opt.epsilon)
    centre = mean(state, "g", opt.gamma1, g)
    state["d"] = opt.gamma2 * state.get("d", 0) - opt.lr * g / numpy.sqrt(n - centre**2 + opt.epsilon)
    new = w + state["d"]
    return new if opt.clip_weights is None else numpy.clip(new, -opt.clip_weights, opt.clip_weights)


def adadelta(opt, t, w, g, state):
    g = clipped(g, opt)
    eg = mean(state, "g", opt.rho, g * g)
    step = numpy.sqrt(state.get("d", 0) + opt.epsilon) / numpy.sqrt(eg + opt.epsilon) * g
    mean(state, "d", opt.rho, step * step)
    return w - step - opt.wd * w


def ftrl(opt, t, w, g, state):
    g, n, z = clipped(g, opt), state.get("n", 0), state.get("z", 0)
    z = z + g - (numpy.sqrt(n + g * g) - numpy.sqrt(n)) * w / opt.lr
    n = n + g * g
    state.update(n=n, z=z)
    new = (numpy.sign(z) * opt.lamda1 - z) / ((opt.beta + numpy.sqrt(n)) / opt.lr + opt.wd)
    return numpy.where(abs(z) > opt.lamda1, new, 0)


def ftml(opt, t, w, g, state):
    g = decayed(opt, w, g)
    v = mean(state, "v", opt.beta2, g * g)
    d = (1 - opt.beta1**t) / opt.lr * (numpy.sqrt(v / (1 - opt.beta2**t)) + opt.epsilon)
    before = state.get("d", 0)
    state["z"] = opt.beta1 * state.get("z", 0) + (1 - opt.beta1) * g - (d - opt.beta1 * before) * w
    state["d"] = d
    return -state["z"] / d


def signum(opt, t, w, g, state):
    if opt.momentum == 0:
        return (1 - opt.lr * opt.wd) * w - opt.lr * numpy.sign(g)
    m = mean(state, "m", opt.momentum, -(opt.wd * w + clipped(g, opt)))
    return (1 - opt.lr * opt.wd_lh) * w + opt.lr * numpy.sign(m)


def adamax(opt, t, w, g, state):
    g = decayed(opt, w, g)
    state["u"] = numpy.maximum(opt.beta2 * state.get("u", 0), abs(g))
    return w - opt.lr / (1 - opt.beta1**t) * mean(state, "m", opt.beta1, g) / state["u"]


def lamb(opt, t, w, g, state):
    g = clipped(g, opt)
    m = mean(state, "m", opt.beta1, g) / (1 - opt.beta1**t)
    v = mean(state, "v", opt.beta2, g * g) / (1 - opt.beta2**t)
    step = m / (numpy.sqrt(v) + opt.epsilon) + opt.wd * w
    norm = max(numpy.linalg.norm(w), opt.lower_bound or 0)
    return w - opt.lr * norm / numpy.linalg.norm(step) * step


def dcasgd(opt, t, w, g, state):
    g = clipped(g, opt)
    step = -opt.lr * (g + opt.wd * w + opt.lamda * g * g * (w - state.get("w", w)))
    state["m"] = opt.momentum * state.get("m", 0) + step
    state["w"] = w
    return w + state["m"]


def lars(opt, t, w, g, state):
    norm, grad_norm = numpy.linalg.norm(w), numpy.linalg.norm(g * opt.rescale_grad)
    rate = opt.lr * opt.eta * norm / (grad_norm + opt.wd * norm + opt.eps)
    state["m"] = opt.momentum * state.get("m", 0) - rate * (clipped(g, opt) + opt.wd * w)
    return w + state["m"]


RULES = [
    ("sgd", {}, sgd),
    ("sgd", {"momentum": 0.9}, sgd),
    ("nag", {}, nag),
    ("nag", {"momentum": 0.9}, nag),
    ("adam", {}, adam),
    ("adam", {"beta1": 0.8, "beta2": 0.99, "epsilon": 1e-3}, adam),
]
ARRAY_RULES = [
    ("adagrad", {}, adagrad),
    ("rmsprop", {}, rmsprop),
    ("rmsprop", {"centered": True, "gamma2": 0.8, "clip_weights": 0.9}, rmsprop),
    ("adadelta", {}, adadelta),
    ("ftrl", {}, ftrl),
    ("ftml", {}, ftml),
    ("signum", {"wd_lh": 0.1}, signum),
    ("signum", {"momentum": 0.0}, signum),
    ("adamax", {}, adamax),
    ("lamb", {}, lamb),
    ("lamb", {"lower_bound": 1.0}, lamb),
    ("lars", {"eta": 0.1}, lars),
    ("lars", {"momentum": 0.9, "eta": 0.1, "eps": 0.1}, lars),
    ("dcasgd", {}, dcasgd),
    ("dcasgd", {"momentum": 0.5}, dcasgd),
]
COMMON = [{}, {"learning_rate": 0.3, "wd": 0.1, "rescale_grad": 0.5, "clip_gradient": 0.4}]


@pytest.mark.parametrize(("name", "arguments", "rule"), RULES + ARRAY_RULES)
@pytest.mark.parametrize("common", COMMON)
def test_rules(array, name, arguments, rule, common):
    opt = optimizer.create(name, **arguments, **common)
    updater = optimizer.get_updater(opt)
    shapes = [(3,), (2, 4), (1,)]
    expected = [RNG.standard_normal(shape) for shape in shapes]
    weights = [array(w.astype("float32")) for w in expected]
    states = [{} for _ in shapes]
    for t in range(1, 6):
        grads = [RNG.standard_normal(shape) for shape in shapes]
        updater([0, 1, 2], [array(g.astype("float32")) for g in grads], weights)
        expected = [rule(opt, t, w, g, state) for w, g, state in zip(expected, grads, states)]
        for weight, value in zip(weights, expected):
            numpy.testing.assert_allclose(weight.asnumpy(), value, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", ["sgd", "nag", "adam"])
def test_one_array_and_a_list_give_the_same(name):
    together, alone = [
        optimizer.get_updater(optimizer.create(name, learning_rate=0.1, wd=0.1, **extra))
        for extra in [{} if name == "adam" else {"momentum": 0.5}] * 2
    ]
    first, second = [[nd.array([1, 2]), nd.array([[3]])] for _ in range(2)]
    grads = [nd.array([0.1, -0.2]), nd.array([[0.3]])]
    for _ in range(3):
        together([0, 1], grads, first)
        for i in range(2):
            alone(i, grads[i], second[i])
    for a, b in zip(first, second):
        numpy.testing.assert_allclose(a.asnumpy(), b.asnumpy(), rtol=1e-6)


@pytest.mark.parametrize(("name", "arguments", "rule"), RULES)
def test_multi_precision(name, arguments, rule):
    opt = optimizer.create(name, learning_rate=0.1, multi_precision=True, **arguments)
    updater = optimizer.get_updater(opt)
    start = RNG.standard_normal(4).astype("float16")
    expected, state = start.astype("float32"), {}
    half, full = nd.array(start, dtype="float16"), nd.array([1, 2])
    for t in range(1, 11):
        grad = (RNG.standard_normal(4) * 1e-2).astype("float16")
        updater([0, 1], [nd.array(grad, dtype="float16"), nd.zeros((2,))], [half, full])
        expected = rule(opt, t, expected, grad.astype("float32"), state)
    assert half.dtype == numpy.float16
    numpy.testing.assert_allclose(half.asnumpy(), expected, rtol=2e-3, atol=1e-5)
    assert full.asnumpy().tolist() == [1, 2]
    master = updater.states[0][0 if name == "adam" else 1]
    assert master.dtype == numpy.float32
    numpy.testing.assert_allclose(master.asnumpy(), expected, rtol=1e-4, atol=1e-5)


def test_nadam():
    opt = optimizer.create("nadam", learning_rate=0.1, wd=0.1)
    updater = optimizer.get_updater(opt)
    weight, expected, m, v, schedule = nd.array([1, -2]), numpy.array([1.0, -2.0]), 0, 0, 1.0
    for t in range(1, 6):
        grad = RNG.standard_normal(2)
        updater(0, nd.array(grad), weight)
        g = grad + 0.1 * expected
        now, following = (0.9 * (1 - 0.5 * 0.96 ** (k * 0.004)) for k in (t, t + 1))
        schedule *= now
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
        step = (1 - now) * g / (1 - schedule) + following * m / (1 - schedule * following)
        expected = expected - 0.1 * step / (numpy.sqrt(v / (1 - 0.999**t)) + 1e-8)
    numpy.testing.assert_allclose(weight.asnumpy(), expected, rtol=1e-4)


@pytest.mark.parametrize(
    "name",
    [
        *("sgd", "nag", "adam", "rmsprop", "ftrl", "lamb", "lars", "signum", "ftml", "adagrad", "adadelta"),
        *("nadam", "adamax", "sgld", "dcasgd", "lbsgd", "groupadagrad"),
    ],
)
def test_a_bound_that_is_not_positive_clips_nothing(name):
    def stepped(bound):
        hr.random.seed(3)
        opt = optimizer.create(name, learning_rate=0.1, clip_gradient=bound)
        updater, weight = optimizer.get_updater(opt), nd.array([[1], [2]])
        for _ in range(2):
            updater(0, nd.array([[3], [-5]]), weight)
        return weight.asnumpy().tolist()

    assert stepped(0) == stepped(-1.0) == stepped(None)


def test_lars_keeps_the_rate_of_biases():
    opt = optimizer.create("lars", learning_rate=0.5, param_idx2name={0: "a_bias"}, eta=1e-9)
    assert Stepper(opt)() == [0.5]


def test_lars_does_not_decay_gammas():
    names = {0: "a_weight", 1: "a_gamma", 2: "a_bias"}
    assert optimizer.LARS(param_idx2name=names).wd_mult == {"a_gamma": 0.0, "a_bias": 0.0}
    assert optimizer.SGD(param_idx2name=names).wd_mult == {"a_bias": 0.0}


def test_ftrl_leaves_the_rate_of_its_scheduler():
    schedule = lr_scheduler.FactorScheduler(step=1, factor=0.5, base_lr=0.4)
    assert optimizer.Ftrl(learning_rate=0.1, lr_scheduler=schedule).learning_rate == 0.4
    assert optimizer.Ftrl().learning_rate == 0.1


def test_ftml_at_rate_zero_changes_nothing():
    opt = optimizer.FTML(learning_rate=0.1)
    opt.set_lr_mult({0: 0.0})
    weight = nd.array([1, -2])
    optimizer.get_updater(opt)(0, nd.ones(2), weight)
    assert weight.asnumpy().tolist() == [1, -2]


def test_sgld_noise():
    weight = nd.zeros((4000,))
    optimizer.get_updater(optimizer.create("sgld", learning_rate=0.04))(0, nd.ones((4000,)), weight)
    assert weight.asnumpy().std() == pytest.approx(0.2, rel=0.05)
    assert weight.asnumpy().mean() == pytest.approx(-0.02, abs=0.02)


def test_float16_without_multi_precision_warns():
    with pytest.warns(UserWarning, match="multi_precision=True"):
        optimizer.SGD().create_state_multi_precision(0, nd.zeros((2,), dtype="float16"))


class Stepper:
    """Runs an optimizer on one weight with gradient 1."""

    def __init__(self, opt, names=1):
        self.updater = optimizer.get_updater(opt)
        self.weights = [nd.zeros((1,)) for _ in range(names)]
        self.opt = opt

    def __call__(self):
        before = [w.asscalar() for w in self.weights]
        grads = [nd.ones((1,)) for _ in self.weights]
        self.updater(list(range(len(grads))), grads, self.weights)
        return [float(numpy.float32(b - w.asscalar())) for b, w in zip(before, self.weights)]


class TestRates:
    def test_default(self):
        assert optimizer.SGD().lr == 0.01
        assert optimizer.Adam().lr == 0.001

    def test_set_learning_rate(self):
        opt = optimizer.SGD(learning_rate=0.5)
        step = Stepper(opt)
        assert step() == [0.5]
        opt.set_learning_rate(0.25)
        assert opt.learning_rate == 0.25 and step() == [0.25]

    def test_any_callable_is_a_schedule(self):
        opt = optimizer.SGD(lr_scheduler=lambda updates: 0.5 / (1 + updates))
        assert opt.learning_rate == 0.5

    def test_scheduler(self):
        schedule = lr_scheduler.FactorScheduler(step=1, factor=0.5, base_lr=1.0)
        opt = optimizer.SGD(lr_scheduler=schedule)
        step = Stepper(opt)
        assert [step()[0] for _ in range(4)] == pytest.approx([1, 0.5, 0.25, 0.125])
        assert opt.learning_rate == 0.125 and opt.num_update == 4
        with pytest.raises(UserWarning, match="LRScheduler of the optimizer has already been defined"):
            opt.set_learning_rate(1)

    def test_learning_rate_beside_a_scheduler(self, capsys):
        schedule = lr_scheduler.FactorScheduler(step=1, base_lr=1.0)
        assert optimizer.SGD(learning_rate=3, lr_scheduler=schedule).learning_rate == 3
        assert "has been overwritten" in capsys.readouterr().out
        assert schedule.base_lr == 3

    def test_the_same_learning_rate_beside_a_scheduler(self, capsys):
        schedule = lr_scheduler.FactorScheduler(step=1, base_lr=0.001)
        optimizer.SGD(learning_rate=0.001, lr_scheduler=schedule)
        optimizer.Adam(lr_scheduler=schedule)
        assert capsys.readouterr().out == ""

    def test_begin_num_update(self):
        schedule = lr_scheduler.FactorScheduler(step=10, factor=0.5, base_lr=1.0)
        assert Stepper(optimizer.SGD(lr_scheduler=schedule, begin_num_update=10))() == [0.5]

    def test_multipliers_of_parameters(self):
        params = {i: hr.gluon.Parameter(f"p{i}", shape=(1,), lr_mult=i + 1) for i in range(2)}
        opt = optimizer.SGD(learning_rate=1, param_dict=params)
        assert Stepper(opt, 2)() == [1, 2]
        params[0].lr_mult = 5
        assert Stepper(opt, 2)() == [5, 2]

    def test_multipliers_by_index_and_name(self):
        opt = optimizer.SGD(learning_rate=1, param_idx2name={0: "a_weight", 1: "b_bias"}, wd=0.5)
        assert opt.wd_mult == {"b_bias": 0.0}
        assert opt._get_wds([0, 1]) == [0.5, 0.0]
        opt.set_lr_mult({"a_weight": 3, 1: 4})
        assert Stepper(opt, 2)() == [3, 4]
        opt.set_wd_mult({"a_weight": 2})
        assert opt._get_wds([0, 1, 2]) == [1.0, 0.0, 0.5]


class TestCustom:
    def test_registered_class(self):
        @optimizer.register
        class HalfStep(optimizer.Optimizer):
            def create_state(self, index, weight):
                return nd.zeros(weight.shape)

            def update(self, index, weight, grad, state):
                self._update_count(index)
                state += grad
                weight[:] = weight - self._get_lr(index) / 2 * grad

        opt = optimizer.create("halfstep", learning_rate=1)
        step = Stepper(opt, 2)
        assert step() == [0.5, 0.5] and step() == [0.5, 0.5]
        assert step.updater.states[1].asnumpy().tolist() == [2]
        assert opt.num_update == 2

    def test_subclass_that_replaces_update(self):
        class Reverse(optimizer.SGD):
            def update(self, index, weight, grad, state):
                super().update(index, weight, -grad, state)

        assert Stepper(Reverse(learning_rate=1), 2)() == [-1, -1]

    def test_names_are_numbers_of_lists(self):
        class Masked(optimizer.SGD):
            masks = (0, 1)

            def update(self, index, weight, grad, state):
                assert index in ("a", "b")
                super().update(index, weight, grad * self.masks[index], state)

        opt = Masked(learning_rate=1, momentum=0.5, param_idx2name={0: "a", 1: "b"})
        weights, updater = [nd.ones(2), nd.ones(2)], optimizer.get_updater(opt)
        updater(["b", b"a"], [nd.ones(2), nd.ones(2)], weights)
        assert [weight.asnumpy().tolist() for weight in weights] == [[0, 0], [1, 1]]
        assert all(type(name) is str for name in pickle.loads(pickle.dumps(opt._index_update_count)))
        again = optimizer.get_updater(optimizer.SGD())
        again.set_states(updater.get_states(dump_optimizer=False))
        assert sorted(again.states) == ["a", "b"]

    def test_overriding_a_name_warns(self):
        with pytest.warns(UserWarning, match="overriding existing optimizer"):
            optimizer.register(type("SGD", (optimizer.SGD,), {}))


def test_create():
    assert isinstance(optimizer.create("SGD"), optimizer.SGD)
    assert isinstance(optimizer.create("ccsgd"), optimizer.SGD)
    with pytest.raises(ValueError, match="Cannot find optimizer nope"):
        optimizer.create("nope")
    with pytest.raises(TypeError, match="colour"):
        optimizer.create("sgd", colour=1)
    with pytest.raises(NotImplementedError, match="must define update"):
        optimizer.Optimizer().update(0, nd.zeros((1,)), nd.zeros((1,)), None)


class Evil:
    """Pickles as a call of os.system."""

    def __reduce__(self):
        return os.system, ("exit 1",)


class TestStates:
    @pytest.mark.parametrize(("name", "arguments", "rule"), RULES + ARRAY_RULES)
    def test_round_trip(self, array, name, arguments, rule):
        weights = [array([1.0, 2.0]), array([[3.0]])]
        grads = [array([0.5, -1.0]), array([[2.0]])]
        index = [0, 1]
        first = Updater(optimizer.create(name, learning_rate=0.1, **arguments))
        first(index, grads, weights)
        second = Updater(optimizer.create(name, learning_rate=0.7, **arguments))
        second.set_states(first.get_states(dump_optimizer=True))
        assert second.optimizer.lr == 0.1 and second.optimizer.num_update == 1
        copies = [array(w.asnumpy()) for w in weights]
        first(index, grads, weights)
        second(index, grads, copies)
        for a, b in zip(weights, copies):
            assert (a.asnumpy() == b.asnumpy()).all()

    def test_without_optimizer(self):
        first = Updater(optimizer.SGD(momentum=0.5))
        first(0, nd.ones((2,)), nd.ones((2,)))
        second = Updater(optimizer.SGD(momentum=0.5, learning_rate=0.3))
        second.set_states(first.get_states())
        assert second.optimizer.lr == 0.3
        assert (second.states[0].asnumpy() == first.states[0].asnumpy()).all()

    def test_scheduler_travels_along(self):
        schedule = lr_scheduler.CosineScheduler(max_update=10, base_lr=0.4)
        second = Updater(optimizer.SGD())
        second.set_states(Updater(optimizer.SGD(lr_scheduler=schedule)).get_states(dump_optimizer=True))
        assert isinstance(second.optimizer.lr_scheduler, lr_scheduler.CosineScheduler)
        assert second.optimizer.lr_scheduler.max_update == 10

    def test_numpy_values(self):
        updater = Updater(optimizer.SGD())
        content = {0: numpy.arange(3.0), 1: (numpy.float32(2), None), "name": [1, "x", b"y", True]}
        updater.set_states(pickle.dumps(content))
        assert updater.states[0].tolist() == [0, 1, 2]
        assert updater.states[1] == (2, None) and updater.states["name"] == [1, "x", b"y", True]

    @pytest.mark.parametrize(
        "data",
        [
            pickle.dumps({0: Evil()}),
            pickle.dumps(os.system),
            pickle.dumps({0: eval}),
            pickle.dumps({0: numpy.load}),
            pickle.dumps({0: numpy.testing.assert_equal}),
            b"cheadrace.optimizer.state_io\npickle\n.",
            b"cheadrace.base\nos\n.",
            b"cbuiltins\ngetattr\n.",
            b"cmxnet.ndarray.ndarray\nsave\n.",
            b"cmxnet\nnd\n.",
            pickle.dumps({0: slice(1)}),
            b"cbuiltins\nint\n.",
            b"cnumpy\nvoid\n.",
            b"cnumpy.core.multiarray\nzeros\n.",
        ],
    )
    def test_refuses_other_classes(self, data):
        with pytest.raises(ValueError, match="refused to make"):
            Updater(optimizer.SGD()).set_states(data)

    @pytest.mark.parametrize(
        "data",
        [
            b"",
            b"hello",
            pickle.dumps([1, 2]),
            pickle.dumps(({}, 3)),
            pickle.dumps((1, 2, 3)),
            pickle.dumps({0: 1})[:-3],
            b"cbuiltins\nbytearray\n(I9999999999\ntR.",
            b"cnumpy\nndarray\n(I9999999999\ntR.",
            b"cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\n(I9999999999\ntI0\ntR.",
            b"c_codecs\nencode\n(Vx\nVrot13\ntR.",
            b"Nr\xff\xff\xff\xff.",
        ],
    )
    def test_broken_bytes(self, data):
        updater = Updater(optimizer.SGD())
        with pytest.raises(ValueError, match="optimizer states"):
            updater.set_states(data)
        assert updater.states == {}

    @pytest.mark.parametrize("protocol", [2, 3, 4, 5])
    def test_protocols(self, protocol):
        state = {
            0: (nd.array([1, 2]), None),
            "x": numpy.arange(2),
            2: [{3}, 1j, bytearray(b"\xff"), numpy.int8(4)],
        }
        updater = Updater(optimizer.SGD())
        updater.set_states(pickle.dumps((state, optimizer.Adam(beta1=0.5)), protocol=protocol))
        assert updater.optimizer.beta1 == 0.5
        assert updater.states[0][0].asnumpy().tolist() == [1, 2] and updater.states["x"].tolist() == [0, 1]
        assert updater.states[2] == [{3}, 1j, bytearray(b"\xff"), 4]

    def test_random_damage(self):
        updater = Updater(optimizer.Adam())
        updater([0], [nd.ones((2,))], [nd.ones((2,))])
        data = updater.get_states(dump_optimizer=True)
        random = numpy.random.default_rng(11)
        refused = 0
        for _ in range(2000):
            damaged = bytearray(data)
            for place in random.integers(0, len(data), random.integers(1, 4)):
                damaged[place] = random.integers(0, 256)
            try:
                Updater(optimizer.SGD()).set_states(bytes(damaged))
            except ValueError:
                refused += 1
        assert refused > 500

    def test_truncated_at_every_byte(self):
        updater = Updater(optimizer.Adam())
        updater([0], [nd.ones((2,))], [nd.ones((2,))])
        data = updater.get_states(dump_optimizer=True)
        for end in range(len(data)):
            with pytest.raises(ValueError):
                Updater(optimizer.SGD()).set_states(data[:end])


def test_module_path_of_mxnet():
    from headrace.optimizer import optimizer as module

    assert module.SGD is optimizer.SGD and module.Updater is Updater


def test_names_come_as_text_or_bytes(array):
    weight, updater = array([1.0]), optimizer.get_updater(optimizer.SGD(learning_rate=1, momentum=0.5))
    updater.optimizer.set_lr_mult({"w": 0.5})
    updater([b"w"], [array([1.0])], [weight])
    updater("w", array([1.0]), weight)
    assert list(updater.states) == ["w"] and updater.optimizer._index_update_count == {"w": 2}
    assert weight.asnumpy().tolist() == [1 - 0.5 - 0.75]


def test_an_unknown_option_is_told_with_those_there_are():
    with pytest.raises(TypeError, match="sgd has no option lr; it has momentum.*learning_rate"):
        optimizer.create("sgd", lr=3)
    with pytest.raises(TypeError, match="adam has no option betas"):
        optimizer.create("adam", learning_rate=1, betas=(1, 2))


@pytest.mark.parametrize("name", ["lamb", "sgd", "nadam"])
def test_lists_are_updated_one_by_one(name):
    def updated(update):
        made = optimizer.create(name, learning_rate=0.1, multi_precision=True)
        weights = [nd.full((3,), i + 1, dtype="float16") for i in range(3)]
        states = [made.create_state_multi_precision(i, weight) for i, weight in enumerate(weights)]
        update(made, [0, 1, 2], weights, [nd.full((3,), 0.5, dtype="float16")] * 3, states)
        return [weight.asnumpy().tolist() for weight in weights]

    def one_by_one(made, *lists):
        for each in zip(*lists):
            made.update_multi_precision(*each)

    assert updated(lambda made, *lists: made.update_multi_precision(*lists)) == updated(one_by_one)


@pytest.mark.parametrize("name", ["sgd", "nag"])
def test_a_state_without_momentum_is_passed_over(name):
    weight, state = nd.ones((2,)), nd.zeros((2,))
    optimizer.create(name, learning_rate=0.5).update(0, weight, nd.ones((2,)), state)
    assert weight.asnumpy().tolist() == [0.5, 0.5] and state.asnumpy().tolist() == [0, 0]
