"""Parameter, Constant, ParameterDict: values, deferred initialization and every error."""

import numpy
import pytest

import headrace as hr
from headrace import autograd, gluon, init, nd
from headrace.base import MXNetError
from headrace.gluon import Constant, DeferredInitializationError, Parameter, ParameterDict


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
    (lambda: made(stype="row_sparse"), MXNetError, "expected stype 'default'"),
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


def test_cast_converts_data_and_gradient():
    param = made((2,), init="ones")
    param.cast("float16")
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


def test_several_contexts_hold_the_same_values():
    param = Parameter("w", shape=(4, 3))
    param.initialize(ctx=[hr.cpu(0), hr.cpu(1)])
    first, second = param.list_data()
    assert (first.asnumpy() == second.asnumpy()).all()
    assert param.list_ctx() == [hr.cpu(0), hr.cpu(1)]
    assert param.data(hr.cpu(1)).context == hr.cpu(1)
    assert param.data().context == hr.cpu(0)
    param.data(hr.cpu(1))[:] = first + 2
    expected = first.asnumpy() + 1
    param.reset_ctx(hr.cpu(1))
    assert param.list_ctx() == [hr.cpu(1)]
    numpy.testing.assert_allclose(param.data().asnumpy(), expected, rtol=1e-6)


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
