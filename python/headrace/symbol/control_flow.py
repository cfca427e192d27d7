"""Loops and branches of symbols.

Bodies are composed once, on variables that stand for what they get, and cut out as graphs of their own;
what they use from outside becomes an input of the node.
"""

import threading

from .. import _core
from .._structure import flatten, regroup
from ..attribute import AttrScope
from ..name import NameManager
from .calls import apply, is_symbol, to_text, wrap
from .symbol import Group, var

__all__ = ["cond", "foreach", "while_loop"]

_SCOPE = "__subgraph_name__"
_lock = threading.Lock()  # of AttrScope._subgraph_names


def _unique(name):
    """A name for a body; inside another body it says which."""
    outer = AttrScope.current.get(None).get(_SCOPE)
    name = f"{outer}${name}" if outer else name
    with _lock:
        number = AttrScope._subgraph_names[name]
        AttrScope._subgraph_names[name] = number + 1
    return f"{name}{number}"


def _flat(value, what):
    flat, item_format = flatten(value, lambda one: not isinstance(one, (list, tuple)))
    for one in flat:
        if not is_symbol(one) or len(one) != 1:
            raise TypeError(f"{what} should be Symbols or a nested list of them, got {type(one).__name__}")
    return flat, item_format


def _distinct(symbols):
    """The same values as one symbol each: variables of a loop start alike and go on by themselves."""
    found, seen = [], set()
    for one in symbols:
        is_new = _entry_name(one) not in seen
        found.append(one if is_new else apply("_copy", "identity", [one], {}, one._is_np))
        seen.add(_entry_name(one))
    return found


def _entry_name(symbol):
    return f"{symbol.name}-{symbol._handle.output_index}"


class _Body:
    """A graph composed by `build(variables) -> list of symbols`, with one variable for each of `sources`."""

    def __init__(self, name, sources, source_format, build):
        self.variables = [_entry_name(one) for one in sources]
        with AttrScope(**{_SCOPE: name}):
            results = build(regroup(iter([var(one) for one in self.variables]), source_format))
            inputs = set(Group(results).list_inputs())
            seen = set()
            for i, one in enumerate(results):
                inside = one.list_attr().get(_SCOPE) == name
                if not inside or one.name in inputs or one.list_outputs()[0] in seen:
                    results[i] = apply("_copy", "identity", [one], {}, one._is_np)
                seen.add(one.list_outputs()[0])
        self.graph, taken = Group(results)._handle.cut_body(name)
        self.inputs = self.graph.list_inputs()
        np = results[0]._is_np
        whole = self.graph.internals()
        outside = {one: wrap(whole.output(i), np) for i, one in enumerate(whole.list_outputs())}
        outside |= {one: wrap(handle, np) for one, handle in taken.items()}
        outside |= dict(zip(self.variables, sources))
        self.sources = [outside[one] for one in self.inputs]  # what each input of the graph is outside

    def locations(self, names, what):
        """Where variables stand among the inputs. AssertionError: the body does not use one."""
        for name in names:
            assert name in self.inputs, f"the {what} have to be used in the body, but {name} is not"
        return [self.inputs.index(name) for name in names]


def _node(op, hint, inputs, attributes, bodies, np):
    name = NameManager.current.get(None, hint)
    attributes = {**attributes, "num_args": len(inputs) + len(bodies)}
    texts = {key: to_text(value) for key, value in attributes.items()}
    handle = _core.SymbolHandle.control_flow(
        op,
        name,
        [one._handle for one in inputs],
        texts,
        AttrScope.current.get(None),
        [b.graph for b in bodies],
    )
    return [wrap(handle.output(i), np) for i in range(len(handle))]


def foreach(body, data, init_states, name="foreach"):
    """Calls `body(entry, states) -> (out, states)` for every entry of `data` along axis 0.

    The arguments are symbols or nested lists of them. Gives the outs, stacked along a new first axis, and
    the states of the last step. AssertionError: the states change their structure, or the body does not use
    a datum or state.

    Examples
    --------
    >>> step = lambda entry, total: (entry + total, entry + total)
    >>> sums, last = sym.contrib.foreach(step, sym.var("x"), sym.var("start"))
    >>> sums.eval(x=nd.array([[1], [2], [3]]), start=nd.array([0]))[0]
    [[1.]
     [3.]
     [6.]]
    <NDArray 3x1 @cpu(0)>
    """
    flat_data, data_format = _flat(data, "foreach: data")
    flat_states, state_format = _flat(init_states, "foreach: init_states")
    starts = _distinct(flat_data + flat_states)
    flat_data, flat_states = starts[: len(flat_data)], starts[len(flat_data) :]
    formats, counts = [], []

    def build(arguments):
        out, states = body(*arguments)
        flat_out, out_format = _flat(out, "foreach: the out of body")
        new_states, new_format = _flat(states, "foreach: the states of body")
        assert new_format == state_format, (
            f"The input and output loop_vars have different formats: {state_format} and {new_format}"
        )
        formats.append(out_format)
        counts.append(len(flat_out))
        return flat_out + new_states

    made = _Body(_unique(name), flat_data + flat_states, [data_format, state_format], build)
    data_names, state_names = made.variables[: len(flat_data)], made.variables[len(flat_data) :]
    remaining = [one for one in made.inputs if one not in made.variables]
    attributes = {
        "num_outputs": counts[0] + len(flat_states),
        "num_out_data": counts[0],
        "in_state_locs": made.locations(state_names, "states"),
        "in_data_locs": made.locations(data_names, "data"),
        "remain_locs": made.locations(remaining, "inputs"),
    }
    inputs = flat_data + flat_states + [made.sources[i] for i in attributes["remain_locs"]]
    results = _node("_foreach", "_foreach", inputs, attributes, [made], flat_data[0]._is_np)
    return (
        regroup(iter(results[: counts[0]]), formats[0]),
        regroup(iter(results[counts[0] :]), state_format),
    )


def _union(bodies):
    """(inputs of all bodies without repetition, for each body where its inputs stand among them).

    What stands for a loop variable, which changes, is not the same input as its first value.
    """
    inputs, places, locations = [], {}, []
    for body in bodies:
        own = []
        for name, source in zip(body.inputs, body.sources):
            key = (name in body.variables, source.list_outputs()[0])
            if key not in places:
                places[key] = len(inputs)
                inputs.append(source)
            own.append(places[key])
        locations.append(own)
    return inputs, locations


def while_loop(cond, func, loop_vars, max_iterations=None, name="while_loop"):
    """Calls `func(*loop_vars) -> (out, loop_vars)` while `cond(*loop_vars)` is true.

    At most `max_iterations` times. Gives the outs, stacked along a new first axis of `max_iterations` rows,
    and the last loop variables, nested as the first. ValueError: `max_iterations` or the variables are
    missing, change in number, or do not matter to func.

    Examples
    --------
    >>> double = lambda x: (x, [x * 2])
    >>> outs, [last] = sym.contrib.while_loop(lambda x: x < 10, double, [sym.var("x")], max_iterations=4)
    >>> last.eval(x=nd.array([3]))[0]
    [12.]
    <NDArray 1 @cpu(0)>
    """
    if max_iterations is None:
        raise ValueError("max_iterations should be specified")
    is_single = is_symbol(loop_vars)
    variables, layout = _flat([loop_vars] if is_single else list(loop_vars), "while_loop: loop_vars")
    if not variables:
        raise ValueError("loop_vars should contain at least one element")
    variables = _distinct(variables)
    formats, counts = [], []

    def build(arguments):
        out, new = func(*arguments)
        flat_out, out_format = _flat([] if out is None else out, "while_loop: the out of func")
        flat_new, _ = _flat([new] if is_symbol(new) else list(new), "while_loop: the loop_vars of func")
        if len(flat_new) != len(variables):
            raise ValueError("The number of loop_vars should be consistent during the loop")
        formats.append(out_format)
        counts.append(len(flat_out))
        return flat_out + flat_new

    condition = _Body(_unique(name + "_cond"), variables, layout, lambda arguments: [cond(*arguments)])
    step = _Body(_unique(name + "_func"), variables, layout, build)
    for i, one in enumerate(step.variables):
        if one not in step.inputs:
            raise ValueError(f"loop_vars[{i}] is not used by func: every loop variable has to be")
    inputs, (cond_locations, func_locations) = _union([condition, step])
    attributes = {
        "max_iterations": int(max_iterations),
        "cond_input_locs": cond_locations,
        "func_input_locs": func_locations,
        "func_var_locs": step.locations(step.variables, "loop_vars"),
        "num_out_data": counts[0],
        "num_outputs": counts[0] + len(variables),
    }
    results = _node("_while_loop", "_while_loop", inputs, attributes, [condition, step], variables[0]._is_np)
    last = regroup(iter(results[counts[0] :]), layout)
    return regroup(iter(results[: counts[0]]), formats[0]), last[0] if is_single else last


def cond(pred, then_func, else_func, name="cond"):
    """`then_func()` where the one value of `pred` is true, else `else_func()`.

    ValueError: the two differ in how many symbols they give.

    Examples
    --------
    >>> x = sym.var("x")
    >>> net = sym.contrib.cond(x > 2, lambda: x * 10, lambda: x - 1)
    >>> net.eval(x=nd.array([3]))[0], net.eval(x=nd.array([1]))[0]
    (
    [30.]
    <NDArray 1 @cpu(0)>,
    [0.]
    <NDArray 1 @cpu(0)>)
    """
    formats = []

    def branch(function):
        def build(_):
            flat, item_format = _flat(function(), "cond: the result of a branch")
            formats.append(item_format)
            return flat

        return build

    bodies = [
        _Body(_unique(name + "_pred"), [], [], lambda _: [pred]),
        _Body(_unique(name + "_then"), [], [], branch(then_func)),
        _Body(_unique(name + "_else"), [], [], branch(else_func)),
    ]
    if formats[0] != formats[1]:
        raise ValueError(
            f"cond: the branches give results of different structure: {formats[0]} and {formats[1]}"
        )
    inputs, locations = _union(bodies)
    keys = ("cond_input_locs", "then_input_locs", "else_input_locs")
    attributes = {**dict(zip(keys, locations)), "num_outputs": len(bodies[1].graph)}
    return regroup(iter(_node("_cond", "_cond", inputs, attributes, bodies, pred._is_np)), formats[0])
