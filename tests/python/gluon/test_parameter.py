"""Parameter, Constant, ParameterDict: values, deferred initialization and every error."""

import copy
import pickle

import numpy
import pytest

import headrace as hr
from headrace import autograd, gluon, init, nd
from headrace.base import MXNetError
from headrace.gluon import Constant, DeferredInitializationError, Parameter, ParameterDict, nn


def made(shape=(3, 2), **kwargs):
    param = Parameter("w", shape=shape, **kwargs)
    param.initialize()
    return param


def deferred(**kwargs):
    param = Parameter("w", shape=(3, 0), allow_deferred_init=True, **kwargs)
    param.initialize(ctx=hr.cpu(0))
    return param


def broken_shape():
    Parameter("w", shape=(3, 0)).initialize()


ERRORS = [
    # what, error type, piece of its text
    (lambda: Parameter("w", shape=(3,)).data(), RuntimeError, "Parameter 'w' has not been initialized."),
    (lambda: Parameter("w", shape=(3,)).grad(), RuntimeError, "Parameter 'w' has not been initialized."),
    (lambda: Parameter("w", shape=(3,)).list_data(), RuntimeError, "has not been initialized"),
    (lambda: Parameter("w", shape=(3,)).list_grad(), RuntimeError, "has not been initialized"),
    (lambda: Parameter("w", shape=(3,)).list_ctx(), RuntimeError, "has not been initialized"),
    (lambda: Parameter("w", shape=(3,)).set_data(nd.ones((3,))), AssertionError, "has not been initialized"),
    (lambda: Parameter("w", shape=(3,)).reset_ctx(hr.cpu()), ValueError, "Cannot reset context"),
    (broken_shape, ValueError, r"invalid shape: \(3, 0\)"),
    (lambda: Parameter("w").initialize(), ValueError, "invalid shape: None"),
    (lambda: deferred().data(), DeferredInitializationError, "initialization was deferred"),
    (lambda: deferred().grad(), DeferredInitializationError, "initialization was deferred"),
    (lambda: deferred().list_data(), DeferredInitializationError, "initialization was deferred"),
    (lambda: deferred().set_data(nd.ones((4, 7))), AssertionError, "incompatible with given shape"),
    (
        lambda: made().data(hr.cpu(1)),
        RuntimeError,
        r"not initialized on context cpu\(1\).*only initialized on",
    ),
    (lambda: made().set_data(nd.ones((4, 2))), AssertionError, "incompatible with given shape"),
    (lambda: setattr(made(), "shape", (3, 5)), AssertionError, r"\(3, 5\) is incompatible .* \(3, 2\)"),
    (lambda: setattr(made(), "shape", (3, 2, 1)), AssertionError, "incompatible with given shape"),
    (lambda: made(grad_req="null").grad(), RuntimeError, "because grad_req='null'"),
    (lambda: made(grad_req="null").list_grad(), RuntimeError, "because grad_req='null'"),
    (lambda: made(grad_req="sometimes"), AssertionError, "grad_req must be one of"),
    (lambda: setattr(made(), "grad_req", "sometimes"), AssertionError, "grad_req must be one of"),
    (lambda: made(stype="thick"), AssertionError, "stype for Parameter 'w' must be one of"),
    (lambda: made(stype="row_sparse").data(), RuntimeError, "Please use row_sparse_data"),
    (lambda: made(stype="row_sparse").row_sparse_data(nd.array([1])), RuntimeError, "when no Trainer"),
    (lambda: made().row_sparse_data(nd.array([1])), RuntimeError, "storage type is default"),
    (lambda: made((3,), init=init.Xavier()), ValueError, "at least 2D"),
    (lambda: made(init="nope"), AssertionError, "nope is not registered"),
    (lambda: made(init=init.Mixed([".*"], [init.Zero()])), AssertionError, "must be of string type"),
    (lambda: Parameter("w", colour="red"), TypeError, "colour"),
]


@pytest.mark.parametrize("case", range(len(ERRORS)))
def test_errors(case):
    act, error, text = ERRORS[case]
    with pytest.raises(error, match=text):
        act()


def test_deferred_error_is_an_mxnet_error():
    assert issubclass(DeferredInitializationError, MXNetError)


def test_data_and_zero_gradient():
    param = made(init="ones")
    assert param.data().asnumpy().tolist() == [[1, 1]] * 3
    assert param.grad().asnumpy().tolist() == [[0, 0]] * 3
    assert param.list_ctx() == [hr.cpu(0)]
    assert len(param.list_data()) == len(param.list_grad()) == 1
    assert param.data(hr.cpu(0)) is param.data()


def test_initialize_twice_warns_and_keeps_values():
    param = made(init="ones")
    with pytest.warns(UserWarning, match="already initialized"):
        param.initialize(init="zeros")
    assert param.data().asnumpy().sum() == 6
    param.initialize(init="zeros", force_reinit=True)
    assert param.data().asnumpy().sum() == 0


def test_initializer_precedence():
    own = Parameter("w", shape=(2,), init="ones")
    own.initialize(default_init=init.Constant(7))
    assert own.data().asnumpy().tolist() == [1, 1]
    none = Parameter("w", shape=(2,))
    none.initialize(default_init=init.Constant(7))
    assert none.data().asnumpy().tolist() == [7, 7]
    own.initialize(init=init.Constant(3), default_init=init.Constant(7), force_reinit=True)
    assert own.data().asnumpy().tolist() == [3, 3]


def test_weight_rule_applies_whatever_the_name():
    param = Parameter("x_bias", shape=(2,))
    param.initialize(init=init.Constant(5))
    assert param.data().asnumpy().tolist() == [5, 5]


def test_gradient_requests():
    for req, expected in (("write", 2.0), ("add", 4.0)):
        param = made((2,), grad_req=req)
        for _ in range(2):
            with autograd.record():
                loss = (param.data() * 2).sum()
            loss.backward()
        assert param.grad().asnumpy().tolist() == [expected, expected]
        param.zero_grad()
        assert param.grad().asnumpy().tolist() == [0, 0]


def test_change_of_grad_req():
    param = made((2,))
    param.grad_req = "null"
    with pytest.raises(RuntimeError, match="grad_req='null'"):
        param.grad()
    param.grad_req = "add"
    assert param.grad().asnumpy().tolist() == [0, 0]
    assert made((2,), differentiable=False).grad_req == "null"


def test_shape_completion():
    param = deferred(init="ones")
    param.shape = (3, 5)
    assert param.shape == (3, 5)
    assert Parameter("w", shape=4).shape == (4,)


def test_set_data_before_the_shape_is_known():
    param = deferred()
    values = numpy.arange(21, dtype="float32").reshape(3, 7)
    param.set_data(nd.array(values))
    assert param.shape == (3, 7)
    param._finish_deferred_init()
    assert (param.data().asnumpy() == values).all()


def test_set_data_keeps_the_array():
    param = made((2, 2))
    array = param.data()
    param.set_data(nd.array([[1, 2], [3, 4]]))
    assert array.asnumpy().tolist() == [[1, 2], [3, 4]]
    param.set_data(numpy.ones((2, 2), "float32"))
    assert array.asnumpy().tolist() == [[1, 1], [1, 1]]


@pytest.mark.parametrize("hybridized", [False, True])
def test_an_array_in_the_place_of_a_replica_is_what_layers_use(hybridized):
    net = gluon.nn.Dense(1, in_units=2, use_bias=False)
    net.initialize("ones")
    net.hybridize(hybridized)
    assert net(nd.ones((1, 2))).asscalar() == 2
    sample = nd.array([[5.0, 7.0]])
    sample.attach_grad()
    with autograd.record():
        net.weight._data[0] = sample * 1
        y = net(nd.ones((1, 2)))
    y.backward()
    assert y.asscalar() == 12 and net.weight.data().asnumpy().tolist() == [[5, 7]]
    assert sample.grad.asnumpy().tolist() == [[1, 1]]
    again = pickle.loads(pickle.dumps(net.weight))
    again._data[0] = nd.zeros((1, 2))
    assert again.data().asnumpy().tolist() == [[0, 0]]


@pytest.mark.parametrize("hybridized", [False, True])
def test_arrays_in_the_place_of_all_replicas_are_what_layers_use(hybridized):
    net = gluon.nn.Dense(1, in_units=2, use_bias=False)
    net.initialize("ones")
    net.hybridize(hybridized)
    assert net(nd.ones((1, 2))).asscalar() == 2
    net.weight._data = [nd.array([[5.0, 7.0]])]
    assert net(nd.ones((1, 2))).asscalar() == 12
    net.weight._data = None
    with pytest.raises(RuntimeError, match="has not been initialized"):
        net.weight.data()


@pytest.mark.parametrize("cast", [Parameter.cast, lambda param, dtype: setattr(param, "dtype", dtype)])
def test_cast_converts_data_and_gradient(cast):
    param = made((2,), init="ones")
    cast(param, "float16")
    assert param.data().dtype == numpy.float16
    assert param.grad().dtype == numpy.float16
    assert repr(param) == "Parameter w (shape=(2,), dtype=float16)"


def test_bfloat16():
    param = made((2,), init="ones", dtype="bfloat16")
    with autograd.record():
        loss = (param.data() * 2).sum()
    loss.backward()
    assert param.grad().astype("float32").asnumpy().tolist() == [2, 2]
    param.cast("float32")
    assert param.data().asnumpy().tolist() == [1, 1]


TWO = [hr.cpu(0), hr.cpu(1)]


class TestSeveralContexts:
    def made(self, ctx=TWO, **kwargs):
        param = Parameter("w", shape=(4, 3), **kwargs)
        param.initialize(ctx=ctx)
        return param

    def test_replicas_have_equal_values_and_memory_of_their_own(self, array):
        param = self.made()
        first, second = param.list_data()
        assert (first.asnumpy() == second.asnumpy()).all()
        assert [data.context for data in (first, second)] == param.list_ctx() == TWO
        assert [grad.context for grad in param.list_grad()] == TWO
        assert param.data(hr.cpu(1)) is second and param.data() is first
        with hr.cpu(1):
            assert param.data() is second
        second[:] = 5
        assert (first.asnumpy() != 5).all()

    def test_one_seed_gives_one_parameter_wherever_it_is(self):
        drawn = []
        for ctx in (hr.cpu(0), hr.cpu(3), TWO, [hr.cpu(2), hr.cpu(1)]):
            hr.random.seed(4)
            drawn.append(self.made(ctx, init=init.Normal()).list_data()[-1].asnumpy())
        assert all((values == drawn[0]).all() for values in drawn)

    def test_gradients(self):
        param = self.made()
        for factor, data in enumerate(param.list_data(), 1):
            with autograd.record():
                loss = (data * factor).sum()
            loss.backward()
        assert [grad.asnumpy()[0, 0] for grad in param.list_grad()] == [1, 2]
        assert param.grad(hr.cpu(1)) is param.list_grad()[1]
        param.zero_grad()
        assert [grad.asnumpy()[0, 0] for grad in param.list_grad()] == [0, 0]

    def test_what_reaches_all_replicas(self):
        param = self.made()
        param.set_data(nd.full((4, 3), 7))
        param.cast("float64")
        param.grad_req = "add"
        for data, grad in zip(param.list_data(), param.list_grad()):
            assert data.dtype == grad.dtype == numpy.float64
            assert (data.asnumpy() == 7).all()
            for _ in range(2):
                with autograd.record():
                    loss = data.sum()
                loss.backward()
            assert (grad.asnumpy() == 2).all()
        param.grad_req = "null"
        with pytest.raises(RuntimeError, match="grad_req='null'"):
            param.list_grad()

    def test_reset_takes_the_mean(self):
        param = self.made()
        first = param.data(hr.cpu(0))
        param.data(hr.cpu(1))[:] = first + 2
        expected = first.asnumpy() + 1
        param.reset_ctx(hr.cpu(1))
        assert param.list_ctx() == [hr.cpu(1)]
        numpy.testing.assert_allclose(param.data().asnumpy(), expected, rtol=1e-6)
        param.reset_ctx([hr.cpu(3), hr.cpu(2)])
        assert [data.context for data in param.list_data()] == [hr.cpu(3), hr.cpu(2)]

    def test_files_have_the_mean(self, tmp_path):
        file = str(tmp_path / "w")
        params = ParameterDict()
        param = params.get("w", shape=(2,), init="ones")
        params.get("n", shape=(2,), dtype="int32", grad_req="null", init="ones")
        params.initialize(ctx=TWO)
        param.data(hr.cpu(1))[:] = 3
        params.save(file)
        loaded = nd.load(file)
        assert loaded["w"].asnumpy().tolist() == [2, 2] and loaded["n"].dtype == numpy.int32
        params.load(file, ctx=[hr.cpu(1), hr.cpu(0)])
        assert [data.asnumpy().tolist() for data in param.list_data()] == [[2, 2]] * 2
        with pytest.raises(AssertionError, match=r"on \[cpu\(2\)\] because it was previous initialized on"):
            params.load(file, ctx=hr.cpu(2))
        other = ParameterDict()
        other.get("w", shape=(2,))
        other.load(file, ctx=TWO, ignore_extra=True)
        assert other["w"].list_ctx() == TWO and other["w"].grad(hr.cpu(1)).context == hr.cpu(1)

    def test_deferred(self):
        param = Parameter("w", shape=(2, 0), allow_deferred_init=True)
        param.initialize(ctx=TWO)
        assert param.list_ctx() == TWO
        param.reset_ctx([hr.cpu(2), hr.cpu(1)])
        with pytest.raises(hr.gluon.DeferredInitializationError):
            param.data(hr.cpu(1))
        param.set_data(nd.ones((2, 3)))
        param._finish_deferred_init()
        assert [data.context for data in param.list_data()] == [hr.cpu(2), hr.cpu(1)]

    def test_constant(self):
        constant = Constant("c", [1, 2])
        constant.initialize(ctx=TWO)
        assert [data.asnumpy().tolist() for data in constant.list_data()] == [[1, 2]] * 2

    def test_copies_and_pickles(self):
        param = self.made()
        for other in (copy.deepcopy(param), pickle.loads(pickle.dumps(param))):
            assert other.list_ctx() == TWO
            with autograd.record():
                loss = other.data(hr.cpu(1)).sum()
            loss.backward()
            assert (other.grad(hr.cpu(1)).asnumpy() == 1).all()
            assert (param.grad(hr.cpu(1)).asnumpy() == 0).all()

    @pytest.mark.parametrize(
        ("ctx", "error", "text"),
        [
            ([], ValueError, "at least one context, got an empty list"),
            ("cpu", TypeError, "ctx must be a context or a list of contexts, got 'cpu'"),
            ([hr.cpu(0), "cpu"], TypeError, "a list of contexts"),
        ],
    )
    def test_contexts_that_are_none(self, ctx, error, text):
        with pytest.raises(error, match=text):
            Parameter("w", shape=(2,)).initialize(ctx=ctx)

    def test_a_context_that_is_named_twice_has_one_replica(self):
        param = Parameter("w", shape=(2,))
        param.initialize(ctx=[hr.cpu(0), hr.cpu(1), hr.cpu(0), hr.cpu_pinned(1)])
        assert param.list_ctx() == [hr.cpu(0), hr.cpu(1)]
        param.reset_ctx([hr.cpu(2), hr.cpu(2)])
        assert param.list_ctx() == [hr.cpu(2)]

    def test_two_batches_on_one_context_train_one_replica(self):
        net, twice = hr.gluon.nn.Dense(1, in_units=2, use_bias=False), [hr.cpu(0)] * 2
        net.initialize("ones", ctx=twice)
        trainer = hr.gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 1})
        parts = hr.gluon.utils.split_and_load(nd.array([[1, 0], [0, 4]]), twice)
        with autograd.record():
            losses = [net(part) for part in parts]
        autograd.backward(losses)
        trainer.step(2)
        assert net.weight.data().asnumpy().tolist() == [[0.5, -1]]

    def test_contexts_without_a_replica(self):
        param = self.made()
        text = (
            r"'w' was not initialized on context cpu\(2\). It was only initialized on \[cpu\(0\), cpu\(1\)\]"
        )
        for get in (param.data, param.grad):
            with pytest.raises(RuntimeError, match=text):
                get(hr.cpu(2))


def test_repr():
    assert repr(Parameter("w", shape=(3, 0), dtype="float32")) == "Parameter w (shape=(3, 0), dtype=float32)"
    assert repr(Parameter("w")) == "Parameter w (shape=None, dtype=<class 'numpy.float32'>)"


def test_unknown_dimension_reads_minus_one_in_np_mode(np_mode):
    assert Parameter("w", shape=(3, 0)).shape == (3, -1)
    assert Parameter("w", shape=(3, -1)).shape == (3, -1)


def test_np_mode_makes_np_arrays(np_mode):
    param = made((2, 3), init="ones")
    assert isinstance(param.data(), hr.np.ndarray)
    assert isinstance(param.grad(), hr.np.ndarray)


def test_constant():
    constant = Constant("c", nd.array([1, 2]))
    constant.initialize()
    assert constant.data().asnumpy().tolist() == [1, 2]
    with pytest.warns(UserWarning, match='grad_req other than "null"'):
        constant.grad_req = "write"
    assert constant.grad_req == "null"
    assert repr(Constant("c", [[1, 2]])) == "Constant c (shape=(1, 2), dtype=<class 'numpy.float32'>)"


class TestDict:
    def test_get_makes_once_and_merges_shapes(self):
        params = ParameterDict("net_")
        weight = params.get("w", shape=(0, 3))
        assert weight.name == "net_w"
        assert params.get("w", shape=(2, 0)) is weight
        assert weight.shape == (2, 3)

    @pytest.mark.parametrize(
        "attributes", [{"shape": (2, 4)}, {"shape": (2,)}, {"dtype": "float16"}, {"lr_mult": 2}]
    )
    def test_get_refuses_other_attributes(self, attributes):
        params = ParameterDict("net_")
        params.get("w", shape=(2, 3))
        with pytest.raises(AssertionError, match="Cannot retrieve Parameter 'net_w'"):
            params.get("w", **attributes)

    def test_shared(self):
        first = ParameterDict("a_")
        weight = first.get("w", shape=(2,))
        assert ParameterDict("a_", shared=first).get("w") is weight
        assert ParameterDict("b_", shared=first).get("w") is not weight

    def test_constants(self):
        params = ParameterDict("net_")
        constant = params.get_constant("k", nd.ones((2,)))
        assert params.get_constant("k") is constant
        assert params.get_constant("k", [1, 1]) is constant
        with pytest.raises(AssertionError, match="doesn't match"):
            params.get_constant("k", nd.zeros((2,)))
        with pytest.raises(KeyError, match="No constant named 'net_z'"):
            params.get_constant("z")
        params.get("w")
        with pytest.raises(AssertionError, match="not a constant"):
            params.get_constant("w", 1)

    def test_update_refuses_another_parameter_of_the_same_name(self):
        params, other = ParameterDict("net_"), ParameterDict("net_")
        params.get("w")
        other.get("v")
        params.update(other)
        assert list(params.keys()) == ["net_w", "net_v"]
        clash = ParameterDict("net_")
        clash.get("w")
        with pytest.raises(AssertionError, match="'net_w'"):
            params.update(clash)

    def test_repr(self):
        params = ParameterDict("net_")
        params.get("w", shape=(2,), dtype="float32")
        assert repr(params) == "net_ (\n  Parameter net_w (shape=(2,), dtype=float32)\n)"
        assert repr(ParameterDict()) == "(\n\n)"
        assert ParameterDict()  # without parameters, too: `params or other` keeps it

    def test_group_operations(self):
        params = ParameterDict("net_")
        weight, bias = params.get("w", shape=(2, 2)), params.get("b", shape=(2,), init="ones")
        params.initialize(init.Constant(4))
        assert weight.data().asnumpy().tolist() == [[4, 4], [4, 4]]
        assert bias.data().asnumpy().tolist() == [1, 1]
        params.setattr("lr_mult", 3)
        assert weight.lr_mult == bias.lr_mult == 3
        bias.grad()[:] = 5
        params.zero_grad()
        assert bias.grad().asnumpy().tolist() == [0, 0]
        assert params.list_ctx() == [hr.cpu(0)]
        assert "net_w" in params and len(params) == 2 and list(params) == ["net_w", "net_b"]

    def test_save_and_load(self, tmp_path):
        file = str(tmp_path / "dict.params")
        params = ParameterDict("net_")
        params.get("w", shape=(2,), init=init.Constant(3))
        params.initialize()
        params.save(file, strip_prefix="net_")
        assert list(nd.load(file)) == ["w"]
        other = ParameterDict("other_")
        other.get("w", shape=(0,), allow_deferred_init=True)
        other.load(file, restore_prefix="other_")
        assert other["other_w"].data().asnumpy().tolist() == [3, 3]
        with pytest.raises(AssertionError, match="missing in file"):
            other.load(file)
        with pytest.raises(ValueError, match="'zz_' is to be striped"):
            params.save(file, strip_prefix="zz_")
        other.get("v", shape=(1,))
        with pytest.raises(AssertionError, match="'v' is missing"):
            other.load(file, restore_prefix="other_")
        other.load(file, restore_prefix="other_", allow_missing=True)
        with pytest.raises(AssertionError, match="does not start with 'zz_'"):
            other.load(file, restore_prefix="zz_")

    def test_extra_arrays(self, tmp_path):
        file = str(tmp_path / "dict.params")
        nd.save(file, {"arg:w": nd.ones((2,)), "aux:v": nd.ones((2,))})
        params = ParameterDict()
        params.get("w", shape=(2,))
        with pytest.raises(AssertionError, match="'v' loaded from"):
            params.load(file)
        params.load(file, ignore_extra=True)
        assert params["w"].data().asnumpy().tolist() == [1, 1]


def test_module_paths():
    assert gluon.parameter.ParameterDict is ParameterDict
    assert gluon.parameter.Parameter is Parameter


def test_arrays_of_a_dictionary_are_copied():
    parameters = gluon.ParameterDict()
    first, second = parameters.get("first", shape=(2,)), parameters.get("second", shape=(2,))
    values = nd.ones((2,))
    parameters.load_dict({"first": values, "second": values})
    first.data()[:] = 7
    assert second.data().asnumpy().tolist() == values.asnumpy().tolist() == [1, 1]


def test_values_before_the_shape_is_known_are_cast():
    layer = nn.Dense(2)
    layer.initialize()
    layer.weight.set_data(nd.ones((2, 3), dtype="float64"))
    assert layer(nd.ones((1, 3))).asnumpy().tolist() == [[3, 3]]
    assert layer.weight.data().dtype == numpy.float32


def test_files_of_a_block_whose_names_are_not_its_parameters(tmp_path):
    class Scaled(gluon.Block):
        def __init__(self):
            super().__init__()
            self.scale = self.params.get("weight", shape=(2,), init="ones")

        def forward(self, x):
            return x * self.scale.data()

    block, other = Scaled(), Scaled()
    block.initialize()
    block.scale.set_data(nd.array([2, 3]))
    block.save_parameters(str(tmp_path / "a.params"))
    other.load_parameters(str(tmp_path / "a.params"))
    assert other(nd.ones((2,))).asnumpy().tolist() == [2, 3]
