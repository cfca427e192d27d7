"""Custom operators whose properties and code give nonsense: errors of ours, and the program goes on."""

import numpy
import pytest

import headrace as mx
from headrace import autograd, nd, operator, sym

NONSENSE = {
    "none": None,
    "number": -1,
    "nan": float("nan"),
    "text": "data",
    "bytes": b"data",
    "no lists": [],
    "a list of none": [None],
    "two empty lists": [[], []],
    "too many": ([(2,)], [(2,)], [(3,)]),
    "a negative extent": ([(2,)], [(-7,)], []),
    "more than memory": ([(2,)], [(2**62, 2**62)], []),
    "a fraction": ([(2,)], [(1.5,)], []),
    "texts as shapes": ([(2,)], ["ab"], []),
    "dictionaries": ({}, {}),
    "an array": numpy.zeros((2, 2)),
    "an unknown dtype": ([numpy.float32], [object], []),
    "complex numbers": ([numpy.float32], ["complex64"], []),
    "the same name twice": ["data", "data"],
    "a name that is none": ["a", 1],
    "a function": len,
}
METHODS = [
    *("list_arguments", "list_outputs", "list_auxiliary_states", "infer_shape", "infer_type"),
    *("infer_storage_type", "create_operator", "declare_backward_dependency"),
]


class Copy(operator.CustomOp):
    def forward(self, is_train, req, in_data, out_data, aux):
        for out in out_data:
            self.assign(out, req[0], in_data[0] if out.shape == in_data[0].shape else nd.zeros(out.shape))

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        self.assign(in_grad[0], req[0], out_grad[0])


def registered(name, **methods):
    methods.setdefault("create_operator", lambda self, *_: Copy())
    operator.register(name)(type("Prop", (operator.CustomOpProp,), methods))
    return name


def call(name):
    x = nd.ones((2,))
    x.attach_grad()
    with autograd.record():
        results = nd.Custom(x, op_type=name)
    for one in results if isinstance(results, list) else [results]:
        one.backward(retain_graph=True)
        one.asnumpy()
    x.grad.asnumpy()


def bind(name):
    symbol = sym.Custom(sym.var("data"), op_type=name)
    executor = symbol.simple_bind(mx.cpu(), data=(2,))
    executor.forward(is_train=True)
    executor.backward([nd.ones(one.shape) for one in executor.outputs])
    executor.outputs[0].asnumpy()


@pytest.mark.parametrize("run", [call, bind])
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("answer", NONSENSE)
def test_nonsense_of_properties(method, answer, run):
    name = registered("test_nonsense", **{method: lambda self, *_: NONSENSE[answer]})
    try:
        run(name)
    except mx.MXNetError:
        pass
    except RuntimeError as error:  # says what simple_bind knew, and why that is not enough
        assert "simple_bind error" in str(error)
    assert (nd.ones((2,)) + 1).asnumpy().tolist() == [2, 2]


def assign_wrong_shape(self, is_train, req, in_data, out_data, aux):
    self.assign(out_data[0], req[0], nd.ones((5, 5)))


def assign_unknown_request(self, is_train, req, in_data, out_data, aux):
    self.assign(out_data[0], "nope", in_data[0])


def call_itself(self, is_train, req, in_data, out_data, aux):
    nd.Custom(in_data[0], op_type="test_code").wait_to_read()


def throw_arrays_away(self, is_train, req, in_data, out_data, aux):
    in_data.clear()
    out_data.clear()


CODE = {
    "a wrong shape": assign_wrong_shape,
    "no arguments": lambda self: None,
    "itself without end": call_itself,
}
HARMLESS = {
    "nothing": lambda self, *_, **__: None,
    "an unknown request": assign_unknown_request,
    "no arrays": throw_arrays_away,
    "a wait for all": lambda self, *_, **__: mx.waitall(),
}


@pytest.mark.parametrize("code", CODE)
def test_code_that_cannot_work_is_an_error(code):
    broken = type("Broken", (operator.CustomOp,), {"forward": CODE[code]})
    name = registered("test_code", create_operator=lambda self, *_: broken())
    with pytest.raises(mx.MXNetError, match=r"test_code\.forward"):
        nd.Custom(nd.ones((2,)), op_type=name).asnumpy()
    assert (nd.ones((2,)) + 1).asnumpy().tolist() == [2, 2]


@pytest.mark.parametrize("code", HARMLESS)
def test_code_that_writes_nothing_gives_an_array(code):
    idle = type("Idle", (operator.CustomOp,), {"forward": HARMLESS[code]})
    name = registered("test_code", create_operator=lambda self, *_: idle())
    assert nd.Custom(nd.ones((2,)), op_type=name).asnumpy().shape == (2,)
