"""Symbols run on given values, and their results compared with expected ones."""

import json

import numpy as np

from ... import ndarray as nd
from ...context import current_context
from ...ndarray import NDArray
from .comparing import assert_almost_equal
from .tolerances import default_dtype

__all__ = [
    "check_symbolic_backward",
    "check_symbolic_forward",
    "same_symbol_structure",
    "simple_forward",
]


def check_dtype(dtype, or_own=False):
    """AssertionError: `dtype` is no floating dtype, nor (with `or_own`) 'asnumpy', that of each array."""
    known = (np.float16, np.float32, np.float64)
    assert (or_own and dtype == "asnumpy") or dtype in known, f"dtype: expected one of {known}, got {dtype}"


def to_array(value, ctx, dtype):
    """A NumPy array as an nd array on `ctx`; 'asnumpy' keeps its dtype. Other values stay as they are."""
    if not isinstance(value, np.ndarray):
        return value
    return nd.array(value, ctx=ctx, dtype=value.dtype if dtype == "asnumpy" else dtype)


def named_arguments(sym, location, ctx, dtype=None):
    """`location` (a list in the order of the arguments, or a dictionary) by argument, sorted by name.

    ValueError: a dictionary's keys are not the arguments.
    """
    assert isinstance(location, (dict, list, tuple))
    names = sym.list_arguments()
    if not isinstance(location, dict):
        location = dict(zip(names, location))
    elif set(location) != set(names):
        raise ValueError(
            f"Symbol arguments and keys of the given location do not match. symbol args:{set(names)}, "
            f"location.keys():{set(location)}"
        )
    return {name: to_array(location[name], ctx, dtype or default_dtype()) for name in sorted(location)}


def named_states(sym, aux_states, ctx, dtype=None):
    """`aux_states` (as `location` above, or None) by auxiliary state. ValueError: other keys."""
    if aux_states is None:
        return None
    names = sym.list_auxiliary_states()
    if not isinstance(aux_states, dict):
        aux_states = dict(zip(names, aux_states))
    elif set(aux_states) != set(names):
        raise ValueError(
            f"Symbol aux_states names and given aux_states do not match. symbol aux_names:{set(names)}, "
            f"aux_states.keys:{set(aux_states)}"
        )
    dtype = dtype or default_dtype()
    return {
        name: nd.array(value, ctx=ctx, dtype=value.dtype if dtype == "asnumpy" else dtype)
        for name, value in aux_states.items()
    }


def simple_forward(sym, ctx=None, is_train=False, **inputs):
    """The outputs of a symbol as NumPy arrays, for NumPy arrays by name; one output comes without a list.

    Examples
    --------
    >>> from headrace.mxnet import test_utils
    >>> import numpy
    >>> test_utils.simple_forward(sym.var("x") * 2, x=numpy.array([1, 3]))
    array([2., 6.], dtype=float32)
    """
    executor = sym.bind(ctx or current_context(), args={name: nd.array(x) for name, x in inputs.items()})
    outputs = [output.asnumpy() for output in executor.forward(is_train=is_train)]
    return outputs[0] if len(outputs) == 1 else outputs


def check_symbolic_forward(
    sym,
    location,
    expected,
    rtol=None,
    atol=None,
    aux_states=None,
    ctx=None,
    equal_nan=False,
    dtype=default_dtype(),  # noqa: B008
):
    """Raises AssertionError unless a symbol's outputs in prediction are the expected ones; returns them.

    location, aux_states : values of the arguments and states, as a list in their order or a dictionary
    expected : arrays, as a list or by output name
    dtype : what values are converted to; 'asnumpy' leaves them as they are

    Examples
    --------
    >>> from headrace.mxnet import test_utils
    >>> import numpy
    >>> x, ones = sym.var("x"), numpy.ones(2, dtype="float32")
    >>> test_utils.check_symbolic_forward(x * x, [3 * ones], [9 * ones])[0]
    [9. 9.]
    <NDArray 2 @cpu(0)>
    """
    check_dtype(dtype, or_own=True)
    ctx = ctx or current_context()
    arguments = named_arguments(sym, location, ctx, dtype)
    if isinstance(expected, dict):
        expected = [expected[name] for name in sym.list_outputs()]
    gradients = {name: nd.zeros(x.shape, ctx=ctx, dtype=x.dtype) for name, x in arguments.items()}
    states = named_states(sym, aux_states, ctx, dtype)
    executor = sym.bind(ctx=ctx, args=arguments, args_grad=gradients, aux_states=states)
    executor.forward(is_train=False)
    for name, wanted, output in zip(sym.list_outputs(), expected, executor.outputs):
        names = (f"EXPECTED_{name}", f"FORWARD_{name}")
        assert_almost_equal(wanted, output, rtol, atol, names, equal_nan=equal_nan)
    return executor.outputs


def check_symbolic_backward(
    sym,
    location,
    out_grads,
    expected,
    rtol=None,
    atol=None,
    aux_states=None,
    grad_req="write",
    ctx=None,
    grad_stypes=None,
    equal_nan=False,
    dtype=default_dtype(),  # noqa: B008
):
    """Raises AssertionError unless a symbol's gradients are the expected ones; returns them by argument.

    location, aux_states, dtype : as in check_symbolic_forward
    out_grads : gradients with respect to the outputs, as a list or by output name; None for losses
    expected : gradients, as a list in the order of the arguments or by argument
    grad_req : 'write', 'add' or 'null' for all, or a list or dictionary of these
    grad_stypes : how gradients are stored, by argument; sparse ones begin empty

    Examples
    --------
    >>> from headrace.mxnet import test_utils
    >>> import numpy
    >>> x, ones = sym.var("x"), numpy.ones(2, dtype="float32")
    >>> gradients = test_utils.check_symbolic_backward(x * x, [3 * ones], [ones], [6 * ones])
    >>> gradients["x"]
    [6. 6.]
    <NDArray 2 @cpu(0)>
    """
    check_dtype(dtype, or_own=True)
    ctx = ctx or current_context()
    names = sym.list_arguments()
    if not isinstance(expected, dict):
        expected = dict(zip(names, expected))
    if isinstance(grad_req, str):
        grad_req = dict.fromkeys(names, grad_req)
    elif not isinstance(grad_req, dict):
        grad_req = dict(zip(names, grad_req))
    # What lies in the gradients before must not matter, or be added to.
    before = {name: np.random.normal(size=expected[name].shape) for name in sorted(expected)}
    dtypes = {name: x.dtype if dtype == "asnumpy" else dtype for name, x in expected.items()}
    gradients = {name: nd.array(x, ctx=ctx, dtype=dtypes[name]) for name, x in before.items()}
    empty_sparse(gradients, before, grad_stypes)
    executor = sym.bind(
        ctx=ctx,
        args=named_arguments(sym, location, ctx, dtype),
        args_grad=gradients,
        aux_states=named_states(sym, aux_states, ctx, dtype),
        grad_req=grad_req,
    )
    executor.forward(is_train=True)
    executor.backward(_head_gradients(sym, out_grads, ctx, dtype))
    for name, wanted in expected.items():
        labels = (f"EXPECTED_{name}", f"BACKWARD_{name}")
        check_gradient(wanted, gradients[name], before[name], grad_req[name], rtol, atol, labels, equal_nan)
    return gradients


def _head_gradients(sym, out_grads, ctx, dtype):
    assert out_grads is None or isinstance(out_grads, (list, tuple, dict))
    if out_grads is None:
        return None
    if isinstance(out_grads, dict):
        out_grads = [out_grads[name] for name in sym.list_outputs()]
    return [to_array(x, ctx, dtype) for x in out_grads]


def empty_sparse(gradients, before, stypes):
    """Puts empty arrays in the place of gradients that are to be sparse, and of what was there `before`."""
    for name, stype in (stypes or {}).items():
        if name in gradients and stype not in (None, "default"):
            old = gradients[name]
            gradients[name] = nd.zeros(old.shape, old.ctx, old.dtype, stype=stype)
            before[name] = np.zeros(old.shape)


def check_gradient(wanted, found, before, request, rtol, atol, names, equal_nan=False):
    """Compares a gradient with the expected one, as `request` says: added to what was there `before`,
    written over it, or not written at all. ValueError: another request.
    """
    if request == "add":
        found = (found.asnumpy() if isinstance(found, NDArray) else found) - before
    elif request == "null":
        wanted = before
    elif request != "write":
        raise ValueError(f"Invalid grad_req {request} for {names[1]}; use 'write', 'add' or 'null'")
    assert_almost_equal(wanted, found, rtol, atol, names, equal_nan=equal_nan)


def same_symbol_structure(sym1, sym2):
    """Whether the nodes of two symbols have the same operators, one by one, as far as both have nodes.

    Examples
    --------
    >>> from headrace.mxnet import test_utils
    >>> x = sym.var("x")
    >>> test_utils.same_symbol_structure(x + 1, x + 2), test_utils.same_symbol_structure(x + 1, x * 2)
    (True, False)
    """
    nodes1, nodes2 = (json.loads(sym.tojson())["nodes"] for sym in (sym1, sym2))
    return all(one["op"] == other["op"] for one, other in zip(nodes1, nodes2))
