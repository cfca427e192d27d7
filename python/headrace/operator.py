"""Operators written in Python; the operators there are, and their arguments, as text."""

import contextlib
import functools
import itertools
import warnings
from typing import NamedTuple

import numpy

from . import _core, _custom
from . import numpy as mnp
from .symbol import calls

__all__ = [
    "CustomOp",
    "CustomOpProp",
    "NDArrayOp",
    "NumpyOp",
    "OperatorArguments",
    "PythonOp",
    "get_all_registered_operators",
    "get_operator_arguments",
    "register",
]

_KINDS = {
    "bool": "boolean",
    "int": "int",
    "float": "float",
    "str": "string",
    "dtype": "string",
    "shape": "Shape(tuple)",
    "slice": "string",
    "floats": "tuple of <float>",
}


class OperatorArguments(NamedTuple):
    """The arguments of an operator, inputs first: how many, their names, and what they take.

    Examples
    --------
    >>> mx.operator.get_operator_arguments("Activation").names
    ['data', 'act_type']
    """

    narg: int
    names: list[str]
    types: list[str]


def get_all_registered_operators():
    """The names of all operators, other names of the same ones among them.

    Examples
    --------
    >>> "FullyConnected" in mx.operator.get_all_registered_operators()
    True
    """
    return [name for op in _core.catalogue() for name in (op["name"], *op["aliases"])]


@functools.cache
def _operators():
    """What the catalogue says of each operator, by all its names."""
    return {name: op for op in _core.catalogue() for name in (op["name"], *op["aliases"])}


def get_operator_arguments(op_name):
    """The OperatorArguments of the operator with a name. ValueError: there is none.

    Examples
    --------
    >>> mx.operator.get_operator_arguments("Flatten")
    OperatorArguments(narg=1, names=['data'], types=['NDArray-or-Symbol'])
    """
    if op_name not in _operators():  # a library may have brought it since
        _operators.cache_clear()
    op = _operators().get(op_name)
    if op is None:
        raise ValueError(f"get_operator_arguments: there is no operator {op_name!r}")
    input_type = "NDArray-or-Symbol[]" if op["variadic"] else "NDArray-or-Symbol"
    fields = [field for field in op["fields"] if not field["of_files"]]
    names = [*op["inputs"], *(field["name"] for field in fields)]
    types = [*(input_type for _ in op["inputs"]), *map(_describe, fields)]
    return OperatorArguments(len(names), names, types)


def _describe(field):
    kind = _KINDS[field["kind"]]
    if field["choices"]:
        choices = sorted(f"'{choice}'" for choice in field["choices"].split("|"))
        kind = "{" + ", ".join(["None"] * field["nullable"] + choices) + "}"
    elif field["nullable"]:
        kind += " or None"
    if field["required"]:
        return f"{kind}, required"
    default = field["default"]
    if default is None:
        return f"{kind}, optional, default=None"
    if field["kind"] == "bool":
        return f"{kind}, optional, default={int(default)}"
    return f"{kind}, optional, default={repr(default) if isinstance(default, tuple) else repr(str(default))}"


class CustomOp:
    """The computation of an operator written in Python; see `CustomOpProp`.

    `req` says for each array to write what to do with it: 'null' nothing, 'write' put the result into it,
    'add' add it. `assign` does so. Errors that are raised come out of the call of the operator, or of
    backward. Gradients that `backward` does not write are zero.

    Examples
    --------
    >>> class Double(mx.operator.CustomOp):
    ...     def forward(self, is_train, req, in_data, out_data, aux):
    ...         self.assign(out_data[0], req[0], in_data[0] * 2)
    ...     def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
    ...         self.assign(in_grad[0], req[0], out_grad[0] * 2)
    >>> @mx.operator.register("doc_double")
    ... class DoubleProp(mx.operator.CustomOpProp):
    ...     def create_operator(self, ctx, shapes, dtypes):
    ...         return Double()
    >>> nd.Custom(nd.array([1, 2]), op_type="doc_double")
    [2. 4.]
    <NDArray 2 @cpu(0)>
    """

    def forward(self, is_train, req, in_data, out_data, aux):
        """Computes `out_data` from `in_data`; may change the auxiliary states `aux`. `is_train` is 0 or 1."""

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        """Computes the gradients `in_grad` of the inputs from those of the outputs, `out_grad`."""

    def assign(self, dst, req, src):
        """Does with `src` what `req` says to the array `dst`."""
        everything = () if isinstance(dst, mnp.ndarray) else slice(None)
        if req in ("write", "inplace"):
            dst[everything] = src
        elif req == "add":
            dst[everything] += src


class CustomOpProp:
    """What there is to know about an operator written in Python before it computes.

    Subclasses are made known with `register`; `nd.Custom(..., op_type=name)` and `sym.Custom` make an object
    of the class for each call or node, with all other keyword arguments, as text.

    Examples
    --------
    >>> prop = mx.operator.CustomOpProp()
    >>> prop.list_arguments(), prop.infer_shape([(2, 3)])
    (['data'], ([(2, 3)], [(2, 3)], []))
    """

    def __init__(self, need_top_grad=True):
        self.need_top_grad_ = need_top_grad

    def infer_shape(self, in_shape):
        """Lists of the shapes of inputs, outputs and auxiliary states; the last may be left out.

        Of `in_shape` those that are not known yet are empty.
        """
        return in_shape, [in_shape[0]] * len(self.list_outputs()), []

    def infer_type(self, in_type):
        """Lists of the dtypes of inputs, outputs and auxiliary states; the last may be left out."""
        outputs, states = self.list_outputs(), self.list_auxiliary_states()
        return in_type, [in_type[0]] * len(outputs), [in_type[0]] * len(states)

    def infer_storage_type(self, in_stype):
        """Lists of how inputs, outputs and auxiliary states are stored; AssertionError for sparse inputs."""
        _check_dense(in_stype, "infer_storage_type")
        outputs, states = self.list_outputs(), self.list_auxiliary_states()
        return in_stype, ["default"] * len(outputs), ["default"] * len(states)

    def infer_storage_type_backward(self, ograd_stype, in_stype, out_stype, igrad_stype, aux_stype):
        """Lists of how all arrays of `backward` are stored; AssertionError for sparse gradients."""
        _check_dense(ograd_stype, "infer_storage_type_backward")
        lists = ograd_stype, in_stype, out_stype, igrad_stype, aux_stype
        return tuple(["default"] * len(one) for one in lists)

    def list_outputs(self):
        """The names of the outputs."""
        return ["output"]

    def list_arguments(self):
        """The names of the inputs."""
        return ["data"]

    def list_auxiliary_states(self):
        """The names of the auxiliary states: arrays after the inputs that `forward` may change."""
        return []

    def declare_backward_dependency(self, out_grad, in_data, out_data):
        """Which arrays `backward` reads, given the numbers of all; those left out are empty there."""
        return [*(out_grad if self.need_top_grad_ else []), *in_data, *out_data]

    def create_operator(self, ctx, in_shapes, in_dtypes):
        """The CustomOp of a call whose arrays, states among them, are on `ctx`.

        `in_dtypes` are MXNet's numbers of dtypes, 0 for float32.
        """
        return CustomOp()


def _check_dense(stypes, method):
    for i, stype in enumerate(stypes):
        assert stype in ("default", "undefined"), (
            f"{method}: array {i} is stored as '{stype}'; an operator that takes sparse arrays says in "
            "infer_storage_type and infer_storage_type_backward how its arrays are stored"
        )


def register(reg_name):
    """Class decorator that makes a CustomOpProp known under a name.

    Its operators get np arrays if np arrays are on at that moment, nd arrays otherwise.

    Examples
    --------
    >>> class Negative(mx.operator.CustomOp):
    ...     def forward(self, is_train, req, in_data, out_data, aux):
    ...         self.assign(out_data[0], req[0], -in_data[0])
    >>> @mx.operator.register("doc_negative")
    ... class NegativeProp(mx.operator.CustomOpProp):
    ...     def create_operator(self, ctx, shapes, dtypes):
    ...         return Negative()
    >>> nd.Custom(nd.array([1, 2]), op_type="doc_negative")
    [-1. -2.]
    <NDArray 2 @cpu(0)>
    """

    def decorate(prop_cls):
        _custom.register(reg_name, prop_cls)
        return prop_cls

    return decorate


register("custom_op")(CustomOpProp)


class PythonOp:
    """Base of the operators that came before CustomOp: an object is a function of symbols.

    Examples
    --------
    >>> class Double(mx.operator.NumpyOp):
    ...     def forward(self, in_data, out_data):
    ...         out_data[0][:] = in_data[0] * 2
    >>> double = Double(need_top_grad=False)
    >>> isinstance(double, mx.operator.PythonOp), double.list_arguments()
    (True, ['data'])
    """

    def __init__(self, need_top_grad=True):
        self.info_ = None
        self.need_top_grad_ = need_top_grad
        warnings.warn(
            f"{type(self).__name__}: PythonOp has been deprecated. Please use CustomOp", stacklevel=2
        )

    def __call__(self, *args, **kwargs):
        return self.get_symbol(*args, **kwargs)

    def get_symbol(self, *args, **kwargs):
        """The symbol of this operator on symbols."""
        raise NotImplementedError(f"{type(self).__name__} must derive from NumpyOp or NDArrayOp")

    def forward(self, in_data, out_data):
        """Computes `out_data` from `in_data`."""
        out_data[0][:] = in_data[0]

    def backward(self, out_grad, in_data, out_data, in_grad):
        """Computes the gradients `in_grad` of the inputs from those of the outputs."""
        in_grad[0][:] = 1.0

    def infer_shape(self, in_shape):
        """Lists of the shapes of inputs and outputs."""
        return in_shape, [in_shape[0]]

    def list_outputs(self):
        """The names of the outputs."""
        return ["output"]

    def list_arguments(self):
        """The names of the inputs."""
        return ["data"]

    def need_top_grad(self):
        """Whether `backward` reads the gradients of the outputs, which that of a loss does not."""
        return self.need_top_grad_

    def _symbol_of(self, hint, args, kwargs, make_operator):
        """A node that computes with this object."""
        op_type = f"{hint}{next(_numbers)}"
        register(op_type)(lambda: _AsProperty(self, make_operator))
        return calls.function("Custom")(*args, op_type=op_type, **kwargs)


_numbers = itertools.count()


class NDArrayOp(PythonOp):
    """An operator on NDArrays.

    Examples
    --------
    >>> class Double(mx.operator.NDArrayOp):
    ...     def forward(self, in_data, out_data):
    ...         out_data[0][:] = in_data[0] * 2
    >>> net = Double()(sym.var("x"), name="double")
    >>> net.list_outputs()
    ['double_output']
    """

    def get_symbol(self, *args, **kwargs):
        """The symbol of this operator on symbols."""
        return self._symbol_of("_ndarray", args, kwargs, _OnNDArrays)

    def declare_backward_dependency(self, out_grad, in_data, out_data):
        """Which arrays `backward` reads, given the numbers of all."""
        return [*(out_grad if self.need_top_grad() else []), *in_data, *out_data]


class NumpyOp(PythonOp):
    """An operator on NumPy arrays.

    Examples
    --------
    >>> class Double(mx.operator.NumpyOp):
    ...     def forward(self, in_data, out_data):
    ...         out_data[0][:] = in_data[0] * 2
    >>> net = Double()(sym.var("x"), name="double")
    >>> net.list_arguments()
    ['x']
    """

    def get_symbol(self, *args, **kwargs):
        """The symbol of this operator on symbols."""
        return self._symbol_of("_native", args, kwargs, _OnNumpyArrays)


class _AsProperty(CustomOpProp):
    """A PythonOp as a custom operator."""

    def __init__(self, op, make_operator):
        super().__init__(op.need_top_grad())
        self._make = make_operator
        self._op = op
        for method in ("infer_shape", "list_outputs", "list_arguments"):
            setattr(self, method, getattr(op, method))

    def declare_backward_dependency(self, *numbers):
        declare = getattr(self._op, "declare_backward_dependency", super().declare_backward_dependency)
        return declare(*numbers)

    def create_operator(self, ctx, in_shapes, in_dtypes):
        return self._make(self._op)


class _OnNDArrays(CustomOp):
    def __init__(self, op):
        self._op = op

    def forward(self, is_train, req, in_data, out_data, aux):
        self._op.forward(in_data=in_data, out_data=out_data)

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        self._op.backward(out_grad=out_grad, in_data=in_data, out_data=out_data, in_grad=in_grad)


class _OnNumpyArrays(_OnNDArrays):
    def forward(self, is_train, req, in_data, out_data, aux):
        with _as_numpy(out_data) as outputs:
            self._op.forward(in_data=_copies(in_data), out_data=outputs)

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        with _as_numpy(in_grad) as gradients:
            self._op.backward(
                out_grad=_copies(out_grad),
                in_data=_copies(in_data),
                out_data=_copies(out_data),
                in_grad=gradients,
            )


def _copies(given):
    return [array.asnumpy() for array in given]


@contextlib.contextmanager
def _as_numpy(written):
    """NumPy arrays, which are written to the arrays in the end."""
    copies = [numpy.zeros(array.shape, array.dtype) for array in written]
    yield copies
    for array, copy in zip(written, copies):
        array[:] = copy
