"""Gradients compared with finite differences."""

import numpy as np

from ... import ndarray as nd
from ... import symbol as sym_module
from ...context import current_context
from .comparing import _host
from .symbols import check_dtype, check_gradient, empty_sparse, named_arguments, named_states
from .tolerances import default_dtype, default_numeric_eps, get_tolerance

__all__ = ["check_numeric_gradient", "numeric_grad"]

_PROJECTION = "__random_proj"


def write(array, value):
    """Writes a NumPy array, or a number, into an nd or np array of any shape."""
    array[() if array.ndim == 0 else slice(None)] = value


def numeric_grad(
    executor,
    location,
    aux_states=None,
    eps=1e-4,
    use_forward_train=True,
    dtype=default_dtype(),  # noqa: B008
):
    """Central differences, of step `eps`, of the sum of an executor's first output: NumPy arrays by argument.

    location : arrays by argument; the executor's arguments have these values again afterwards
    aux_states : NumPy arrays, written before every run, or None: states stay as runs leave them
    Arguments that are no floating numbers have zeros.

    Examples
    --------
    >>> from headrace.mxnet import test_utils
    >>> import numpy
    >>> executor = (sym.var("x") * sym.var("x")).simple_bind(mx.cpu(), x=(2,))
    >>> test_utils.numeric_grad(executor, {"x": numpy.array([1.0, 3.0])}, eps=0.01)["x"].round(2)
    array([2., 6.], dtype=float32)
    """
    check_dtype(dtype)
    location = {name: _host(value) for name, value in location.items()}
    for name, value in location.items():
        write(executor.arg_dict[name], value)

    def run(name, value):
        write(executor.arg_dict[name], value)
        for state, start in (aux_states or {}).items():
            write(executor.aux_dict[state], start)
        return executor.forward(is_train=use_forward_train)[0].asnumpy()

    gradients = {}
    for name, value in location.items():
        gradients[name] = gradient = np.zeros(value.shape, dtype=dtype)
        if value.dtype.kind != "f":
            continue
        changed = np.array(value)
        for place in np.ndindex(value.shape):
            changed[place] = value[place] + eps / 2.0
            above = run(name, changed)
            changed[place] -= eps
            gradient[place] = (above - run(name, changed)).sum() / eps
            changed[place] = value[place]
        write(executor.arg_dict[name], value)
    return gradients


def check_numeric_gradient(
    sym,
    location,
    aux_states=None,
    numeric_eps=None,
    rtol=None,
    atol=None,
    grad_nodes=None,
    use_forward_train=True,
    ctx=None,
    grad_stype_dict=None,
    dtype=default_dtype(),  # noqa: B008
):
    """Raises AssertionError unless a symbol's gradients agree with finite differences.

    What is differentiated is the sum of the first output times random numbers from 0.1 to 1.1.

    location, aux_states : values of the arguments and states, as a list in their order or a dictionary
    numeric_eps : the step, a number, a dictionary by dtype, or None: by the output's dtype
    grad_nodes : which arguments, by default all: a list, or a dictionary to 'write', 'add' or 'null'
    use_forward_train : whether finite differences are taken in training mode
    grad_stype_dict : how gradients are stored, by argument; sparse ones begin empty

    Examples
    --------
    >>> import numpy
    >>> from headrace.mxnet import test_utils
    >>> x = sym.var("x")
    >>> test_utils.check_numeric_gradient(x * x * x, [numpy.array([1.0, 2.0])])
    """
    check_dtype(dtype)
    ctx = ctx or current_context()
    arguments = named_arguments(sym, location, ctx, dtype)
    values = {name: x.asnumpy() for name, x in arguments.items()}
    states = named_states(sym, aux_states, ctx, dtype)
    state_values = None if states is None else {name: x.asnumpy() for name, x in states.items()}
    if not isinstance(grad_nodes, dict):
        grad_nodes = dict.fromkeys(sym.list_arguments() if grad_nodes is None else grad_nodes, "write")

    out_shape = sym.infer_shape(**{name: x.shape for name, x in arguments.items()})[1][0]
    projection = np.asarray(np.random.rand(*out_shape) + 0.1)  # small ones would lose precision
    arguments[_PROJECTION] = nd.array(projection, ctx=ctx, dtype=dtype)
    before = {name: np.random.normal(0, 0.01, size=arguments[name].shape) for name in grad_nodes}
    np.random.normal(size=out_shape)  # MXNet draws these too: what a seeded program draws next stays the same
    gradients = {name: nd.array(x, ctx=ctx, dtype=dtype) for name, x in before.items()}
    empty_sparse(gradients, before, grad_stype_dict)
    executor = _projected(sym).bind(
        ctx, grad_req=dict(grad_nodes), args=arguments, args_grad=gradients, aux_states=states
    )
    executor.forward(is_train=True)
    step = get_tolerance(executor.outputs[0], numeric_eps, default_numeric_eps())
    assert dtype == np.float64 or step >= 1e-5, f"numeric_eps={step} is lost in the rounding of {dtype}"
    executor.backward()
    found = {name: gradients[name].asnumpy() for name in grad_nodes}

    numeric = numeric_grad(executor, values, state_values, step, use_forward_train, dtype)
    for name, request in grad_nodes.items():
        labels = (f"NUMERICAL_{name}", f"BACKWARD_{name}")
        check_gradient(numeric[name], found[name], before[name], request, rtol, atol, labels)


def _projected(sym):
    """The loss of a symbol's output times the argument `_PROJECTION`."""
    projection = sym_module.Variable(_PROJECTION)
    if sym._is_np:
        return sym_module.make_loss((sym * projection.as_np_ndarray()).as_nd_ndarray())
    return sym_module.make_loss(sym * projection)
