"""Operators written in Python, as the operator Custom runs them.

The Python code runs in the thread that makes the call, when it is made. What it issues on its arrays is
asynchronous and ordered as always, so it may wait for them; nothing else waits for Python. What it raises
comes out of the call (for `backward`: out of the call of backward) with its own type where that is a
ValueError, TypeError, IndexError and the like, which then is an MXNetError too, and as an MXNetError
otherwise; the error itself is its cause. Errors of operations that the code issued stay on the arrays that
those were to write.

A call makes its operator anew; `backward` of a call gets the operator object that ran its `forward`.
"""

import contextlib
import logging
import threading

import numpy

from . import _arrays as arrays
from . import _core, autograd
from . import ndarray as nd
from . import numpy as mnp
from ._semantics import is_np_array
from .base import MXNetError, error_types
from .context import current_context

__all__ = ["register"]

_lock = threading.Lock()
_registered: dict = {}  # name to the class of properties, and whether its operators get np arrays


def register(name, property_class):
    """Makes `property_class` known under `name`; its operators get arrays of the mode that is on now."""
    with _lock:
        if name in _registered:
            logging.getLogger(__name__).warning(
                "New registration is overriding existing custom operator %s", name
            )
        _registered[name] = property_class, is_np_array()


@contextlib.contextmanager
def _errors_of(what):
    try:
        yield
    except Exception as error:
        kind = next((made for made in error_types[1:] if isinstance(error, made.__bases__[1])), MXNetError)
        raise kind(f"Error in {what}: {type(error).__name__}: {error}") from error


def _parts(returned, counts, what):
    """The lists that a rule returned, in one: of inputs, outputs and states, as many as `counts` says."""
    returned = [list(part) for part in returned]
    if len(returned) == 2:
        returned.append([])
    if len(returned) != 3:
        raise AssertionError(f"{what} must return 2 or 3 lists, got {len(returned)}")
    for kind, part, count in zip(("inputs", "outputs", "auxiliary states"), returned, counts):
        if len(part) != count:
            raise AssertionError(
                f"{what} must return one entry for each of the {count} {kind}, got {len(part)}"
            )
    return returned


class _Property:
    """A CustomOpProp made for one call or node, as python/src/bind_custom.cc asks it."""

    def __init__(self, name, prop, np):
        self.name, self._prop, self.np = name, prop, np
        self.inputs = self._ask("list_arguments")
        self.outputs = self._ask("list_outputs")
        self.states = self._ask("list_auxiliary_states")
        self._counts = len(self.inputs), len(self.outputs), len(self.states)
        numbers = iter(range(2 * len(self.outputs) + len(self.inputs)))
        places = [[next(numbers) for _ in names] for names in (self.outputs, self.inputs, self.outputs)]
        needed = set(self._ask("declare_backward_dependency", *places))
        # What backward reads: gradients of the outputs, inputs, outputs.
        self.needed = [[place in needed for place in part] for part in places]

    def _ask(self, method, *args):
        with _errors_of(f"{self.name}.{method}"):
            return list(getattr(self._prop, method)(*args))

    def _ask_parts(self, method, entries, convert):
        with _errors_of(f"{self.name}.{method}"):
            parts = _parts(getattr(self._prop, method)(entries), self._counts, method)
            return [convert(entry) for part in parts for entry in part]

    def shapes(self, known):
        """The shapes of inputs, outputs and states, one after the other."""
        return self._ask_parts("infer_shape", list(map(list, known)), tuple)

    def dtypes(self, known):
        """The dtypes of inputs, outputs and states, one after the other."""
        return self._ask_parts("infer_type", [numpy.dtype(dtype).type for dtype in known], arrays.dtype_name)

    def storage_types(self, in_data):
        """How the outputs are stored."""
        if self.np:
            return ["default"] * len(self.outputs)
        kinds = self._ask_parts("infer_storage_type", [array.stype for array in in_data], str)
        return kinds[len(self.inputs) : len(self.inputs) + len(self.outputs)]

    def gradient_storage_types(self, out_grad, in_data, out_data, aux):
        """How the gradients of the inputs are stored. Arrays that backward does not read are None."""
        if self.np:
            return ["default"] * len(self.inputs)
        given = [
            [array.stype for array in part if array is not None]
            for part in (out_grad, in_data, out_data, [], aux)
        ]
        given[3] = ["default"] * len(self.inputs)
        kinds = self._ask("infer_storage_type_backward", *given)
        if len(kinds) != 5 or len(kinds[3]) != len(self.inputs):
            raise MXNetError(
                f"Error in {self.name}.infer_storage_type_backward: five lists are needed, the fourth "
                f"with an entry for each of the {len(self.inputs)} inputs, got {kinds}"
            )
        return kinds[3]

    def new_array(self, shape, dtype, ctx, stype="default"):
        """An array for the operator to write, which it need not do."""
        if self.np:
            return mnp.zeros(shape, dtype=dtype, ctx=ctx)
        return nd.zeros(shape, ctx=ctx, dtype=dtype, stype=stype)

    def run(self, given, output_types):
        """The outputs for `given`, inputs and states; `output_types`: their shapes and dtypes."""
        count, training = len(self.inputs), _core.is_training()
        plain = [array.detach() for array in given]
        in_data, aux = plain[:count], plain[count:]
        ctx = given[0].ctx if given else current_context()
        with autograd.pause(train_mode=training), ctx:
            out_data = [
                self.new_array(shape, dtype, ctx, kind)
                for (shape, dtype), kind in zip(output_types, self.storage_types(in_data))
            ]
            operator = self._new_operator(ctx, plain)
            with _core.CustomCode(self.name), _errors_of(f"{self.name}.forward"):
                operator.forward(
                    is_train=int(training),
                    req=["write"] * len(out_data),
                    in_data=list(in_data),
                    out_data=[array.detach() for array in out_data],
                    aux=list(aux),
                )
        if autograd.is_recording():
            call = _Call(self, operator, ctx, in_data, out_data, aux)
            _core.record_custom(given, out_data, call, self.np, is_operator=True)
        return out_data

    def _new_operator(self, ctx, given):
        shapes = [list(array.shape) for array in given]
        dtypes = [_core.dtype_flag(array._dtype_name) for array in given]
        with _errors_of(f"{self.name}.create_operator"):
            return self._prop.create_operator(ctx, shapes, dtypes)


class _Call:
    """One call of an operator, as the tape goes back through it."""

    def __init__(self, prop, operator, ctx, in_data, out_data, aux):
        self._prop, self._operator, self._ctx = prop, operator, ctx
        self._types = [(array.shape, array.dtype) for array in in_data]
        _, needs_input, needs_output = prop.needed
        self._in_data = [array if needed else None for array, needed in zip(in_data, needs_input)]
        self._out_data = [array.detach() if needed else None for array, needed in zip(out_data, needs_output)]
        self._aux = aux

    def __call__(self, heads, wanted):
        prop, ctx = self._prop, self._ctx
        out_grad = [head.detach() if needed else None for head, needed in zip(heads, prop.needed[0])]
        kinds = prop.gradient_storage_types(out_grad, self._in_data, self._out_data, self._aux)
        in_grad = [prop.new_array(*type_, ctx, kind) for type_, kind in zip(self._types, kinds)]
        absent = prop.new_array((0,), "float32", ctx)
        code = _core.CustomCode(f"_backward_{prop.name}")
        with autograd.pause(train_mode=_core.is_training()), ctx, code, _errors_of(f"{prop.name}.backward"):
            self._operator.backward(
                req=["write" if one else "null" for one in wanted[: len(in_grad)]],
                out_grad=_or(out_grad, absent),
                in_data=_or(self._in_data, absent),
                out_data=_or(self._out_data, absent),
                in_grad=list(in_grad),
                aux=list(self._aux),
            )
        return [*(grad if one else None for grad, one in zip(in_grad, wanted)), *(None for _ in self._aux)]


def _or(given, absent):
    return [absent if array is None else array for array in given]


def _make(op_type, texts):
    if op_type not in _registered:
        raise MXNetError(
            f"Cannot find custom operator {op_type}; make a CustomOpProp known with "
            f"mx.operator.register({op_type!r})"
        )
    property_class, np = _registered[op_type]
    with _errors_of(f"{op_type}.__init__"):
        prop = property_class(**texts)
    return _Property(op_type, prop, np)


_core.set_custom_factory(_make)
