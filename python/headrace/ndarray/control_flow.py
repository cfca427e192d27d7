"""Loops and branches over arrays, run by Python step by step; gradients flow as through any other code."""

from .. import _core
from .._structure import flatten, regroup
from .ndarray import NDArray

__all__ = ["cond", "foreach", "while_loop"]


def _is_array(value):
    return isinstance(value, NDArray)


def _flat(value, what):
    """(list of arrays, format); TypeError: something else is in it."""
    flat, item_format = flatten(value, lambda one: not isinstance(one, (list, tuple)))
    for one in flat:
        if not _is_array(one):
            raise TypeError(f"{what} should be NDArrays or a nested list of them, got {type(one).__name__}")
    return flat, item_format


_stack_of = {np: _core.function("stack", np) for np in (False, True)}


def _stack(rows):
    return _stack_of[rows[0]._is_np](*rows)


def _truth(value, what):
    """A condition as a bool. ValueError: it is no single value."""
    if _is_array(value):
        if value.size != 1:
            raise ValueError(f"{what} must give one value, got an array of shape {value.shape}")
        return bool(value.asnumpy().reshape(-1)[0])
    try:
        return bool(value)
    except Exception as error:
        raise ValueError(f"{what} must give one value, got {type(value).__name__}") from error


def foreach(body, data, init_states):
    """Calls `body(entry, states) -> (out, states)` for every entry of `data` along axis 0.

    `data`, `init_states` and `out` are arrays or nested lists of them. Gives the outs, stacked along a new
    first axis, and the states of the last step. TypeError: something is no array. ValueError: the data have
    no entry, or differ in length; AssertionError: the states change their structure.

    Examples
    --------
    >>> def step(entry, total):
    ...     total = total + entry
    ...     return total, total
    >>> sums, last = nd.contrib.foreach(step, nd.array([1, 2, 3]), nd.array([0]))
    >>> sums.reshape((-1,)), last
    (
    [1. 3. 6.]
    <NDArray 3 @cpu(0)>,
    [6.]
    <NDArray 1 @cpu(0)>)
    """
    flat_data, data_format = _flat(data, "foreach: data")
    states = init_states
    _, state_format = _flat(init_states, "foreach: init_states")
    lengths = {one.shape[0] if one.shape else 0 for one in flat_data}
    if len(lengths) != 1 or 0 in lengths:
        raise ValueError(
            f"foreach: data of one length, at least 1, are needed along axis 0; got shapes "
            f"{[one.shape for one in flat_data]}"
        )
    rows, out_format = [], None
    for i in range(lengths.pop()):
        out, states = body(regroup(iter([one[i] for one in flat_data]), data_format), states)
        flat_out, out_format = _flat(out, "foreach: the out of body")
        _, new_format = _flat(states, "foreach: the states of body")
        assert new_format == state_format, (
            f"The input and output loop_vars have different formats: {state_format} and {new_format}"
        )
        rows.append(flat_out)
    return regroup(iter([_stack(column) for column in zip(*rows)]), out_format), states


def while_loop(cond, func, loop_vars, max_iterations=None):
    """Calls `func(*loop_vars) -> (out, loop_vars)` while `cond(*loop_vars)` is true.

    At most `max_iterations` times. Gives the outs, stacked along a new first axis and filled up with zeros
    to `max_iterations` rows, and the last loop variables. Without a single step, the outs are [].
    ValueError: `max_iterations` or the variables are missing, or change in number.

    Examples
    --------
    >>> double = lambda x: (x, [x * 2])
    >>> outs, [last] = nd.contrib.while_loop(lambda x: x < 10, double, [nd.array([3])], max_iterations=4)
    >>> outs.reshape((-1,)), last
    (
    [3. 6. 0. 0.]
    <NDArray 4 @cpu(0)>,
    [12.]
    <NDArray 1 @cpu(0)>)
    """
    if max_iterations is None:
        raise ValueError("max_iterations should be specified")
    max_iterations = int(max_iterations)
    is_single = not isinstance(loop_vars, (list, tuple))
    variables = [loop_vars] if is_single else list(loop_vars)
    if not variables:
        raise ValueError("loop_vars should contain at least one element")
    _flat(variables, "while_loop: loop_vars")
    rows, out_format = [], None
    while len(rows) < max_iterations and _truth(cond(*variables), "while_loop: cond"):
        out, new = func(*variables)
        flat_out, new_format = _flat([] if out is None else out, "while_loop: the out of func")
        if rows and new_format != out_format:
            raise ValueError("while_loop: the structure of the out should be consistent during the loop")
        out_format = new_format
        new = [new] if not isinstance(new, (list, tuple)) else list(new)
        if len(new) != len(variables):
            raise ValueError("The length of loop_vars should be consistent during the loop")
        variables = new
        rows.append(flat_out)
    if not rows:
        return [], loop_vars if is_single else variables
    stacked = [
        _stack([*column, *[column[0].zeros_like()] * (max_iterations - len(rows))]) for column in zip(*rows)
    ]
    return regroup(iter(stacked), out_format), variables[0] if is_single else variables


def cond(pred, then_func, else_func):
    """`then_func()` if the one value of `pred` is true, else `else_func()`. ValueError: no single value.

    Examples
    --------
    >>> x = nd.array([3])
    >>> nd.contrib.cond(x > 2, lambda: x * 10, lambda: x - 1)
    [30.]
    <NDArray 1 @cpu(0)>
    """
    return then_func() if _truth(pred, "cond: pred") else else_func()
