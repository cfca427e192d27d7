"""Examples that are no part of docstrings: of what is written in C++, whose docstrings are compiled, and of
functions that are those of other modules: those of the array API and of symbols.
"""

import ast
import contextlib
import doctest
import functools
import io
import re
from collections.abc import Sequence
from typing import Any

import headrace
from headrace import autograd, gluon, init, metric, nd, np, npx, sym
from headrace._catalogue import operator_descriptions
from headrace.numpy.host import FROM_NUMPY

from .examples import example_of, own_paths

# What examples find there: modules.INTRODUCTION says so.
NAMES = {
    "mx": headrace,
    "autograd": autograd,
    "gluon": gluon,
    "init": init,
    "metric": metric,
    "nd": nd,
    "nn": gluon.nn,
    "np": np,
    "npx": npx,
    "sym": sym,
}

_SQUARES = ["x = nd.array([1, 2, 3])", "x.attach_grad()", "with autograd.record():", "    y = x * x"]

# Of packages with functions of symbols that are those of arrays: how these are called, and the former.
_OLDER_OF_SYMBOLS = {
    "sym.numpy": ("np", "sym.np"),
    "sym.random": ("nd.random", "sym.random"),
    "sym.contrib": ("nd.contrib", "sym.contrib"),
}


def _recorded(name: str, *lines: str) -> list[str]:
    """Lines that bring a name into the profiler's table."""
    domain = "domain = mx.profiler.Domain('training')"
    looked_up = ["mx.profiler.stop()", f"'{name}' in mx.profiler.dumps()"]
    return [domain, "mx.profiler.start()", *lines, *looked_up]


# Lines by member; what they show is computed.
OF_CORE = {
    "headrace.autograd.record": [*_SQUARES, "y.backward()", "x.grad"],
    "headrace.autograd.pause": [
        *_SQUARES,
        "    with autograd.pause():",
        "        largest = y.max()  # counts as a constant",
        "    loss = (y / largest).sum()",
        "loss.backward()",
        "x.grad",
    ],
    "headrace.autograd.is_recording": [
        "with autograd.record():",
        "    print(autograd.is_recording())",
        "autograd.is_recording()",
    ],
    "headrace.autograd.is_training": [
        "with autograd.record(train_mode=False):",
        "    print(autograd.is_training())",
    ],
    "headrace.autograd.set_recording": [
        "before = autograd.set_recording(True)",
        "autograd.is_recording(), autograd.set_recording(before)",
    ],
    "headrace.autograd.set_training": [
        "before = autograd.set_training(True)",
        "autograd.is_training(), autograd.set_training(before)",
    ],
    "headrace.autograd.train_mode": [
        "with autograd.train_mode():",
        "    dropped = nd.Dropout(nd.ones((100,)), p=0.5)",
        "sorted(set(dropped.asnumpy().tolist()))",
    ],
    "headrace.autograd.predict_mode": [
        "with autograd.record(), autograd.predict_mode():",
        "    kept = nd.Dropout(nd.ones((3,)), p=0.5)",
        "kept",
    ],
    "headrace.engine.memory_stats": ["sorted(mx.engine.memory_stats(type=1, id=0))  # of the host"],
    "headrace.engine.waitall": [
        "y = nd.dot(nd.ones((100, 100)), nd.ones((100, 100)))  # goes on behind the program",
        "mx.engine.waitall()",
        "y[0, 0].asscalar().item()",
    ],
    "headrace.engine.worker_count": ["mx.engine.worker_count() >= 1"],
    "headrace.hardware.book": ["from headrace import hardware", "hardware.book()[0]"],
    "headrace.hardware.descriptions": [
        "from headrace import hardware",
        "[one['name'] for one in hardware.descriptions() if one['subject'] == 'caches'][:3]",
    ],
    "headrace.hardware.table": [
        "from headrace import hardware",
        "measured = hardware.measure(['mutex'], quick=True)",
        "'mutex' in hardware.table(measured).lower()",
    ],
    "headrace.hardware.Measurement": [
        "from headrace import hardware",
        "[measured] = hardware.measure(['mutex'], quick=True)",
        "measured.name, measured.unit, measured.why_not",
    ],
    "headrace.plan.Plan": [
        "plan = mx.plan.make('pcie4', '160MB', 'ring')",
        "plan.strategy, plan.bytes, plan.devices",
    ],
    "headrace.plan.Simulation": [
        "plan = mx.plan.make('pcie4', '160MB', 'central')",
        "round(plan.simulate().seconds * 1e3, 1)  # milliseconds",
    ],
    "headrace.plan.load": ["mx.plan.load('pcie4').default_devices"],
    "headrace.plan.presets": ["sorted(mx.plan.presets())"],
    "headrace.plan.strategies": ["sorted(mx.plan.strategies())"],
    "headrace.plan.Topology": ["mx.plan.load('pcie4').default_devices"],
    "headrace.profiler.Counter": _recorded(
        "images",
        "images = mx.profiler.Counter(domain, 'images', value=0)",
        "images.increment(32)",
    ),
    "headrace.profiler.Domain": [
        "domain = mx.profiler.Domain('training')",
        "task = domain.new_task('loading')",
        "domain.name, task.name",
    ],
    "headrace.profiler.Event": _recorded(
        "reading", "event = mx.profiler.Event('reading')", "event.start()", "event.stop()"
    )[1:],
    "headrace.profiler.Frame": _recorded(
        "batch", "frame = mx.profiler.Frame(domain, 'batch')", "frame.start()", "frame.stop()"
    ),
    "headrace.profiler.Marker": [
        "import pathlib, tempfile",
        "folder = tempfile.TemporaryDirectory()",
        "path = pathlib.Path(folder.name, 'profile.json')",
        "mx.profiler.set_config(filename=str(path))",
        "mx.profiler.start()",
        "mx.profiler.Marker(mx.profiler.Domain('training'), 'saved').mark('process')",
        "mx.profiler.dump()",
        "'saved' in path.read_text()",
        "mx.profiler.set_config()",
    ],
    "headrace.profiler.Task": _recorded(
        "loading", "task = mx.profiler.Task(domain, 'loading')", "task.start()", "task.stop()"
    ),
}


def session(lines: Sequence[str]) -> str:
    """A session of Python: the lines, which run, with what they show.

    Raises what a line raises.
    """
    prompts = [f"{'...' if line.startswith(' ') else '>>>'} {line}" for line in lines]
    names, parts = dict(NAMES), []
    for example in doctest.DocTestParser().get_examples("\n".join(prompts) + "\n"):
        shown = io.StringIO()
        with contextlib.redirect_stdout(shown):
            exec(compile(example.source, "<example>", "single"), names)
        first, *more = example.source.splitlines()
        parts += [f">>> {first}", *(f"... {line}" for line in more)]
        parts += [line for line in shown.getvalue().splitlines() if line.strip()]
    return "\n".join(parts)


@functools.cache
def example(path: str, value: Any) -> str:
    """A session that is better for a member than its docstring; empty: there is nothing to derive it from."""
    if lines := OF_CORE.get(path):
        return session(lines)
    if path.startswith("headrace.array_api.") and ">>> " not in value.__doc__:
        return _of_array_api(value)
    package = path.removeprefix("headrace.").rpartition(".")[0]
    if package in _OLDER_OF_SYMBOLS and hasattr(value, "__wrapped__"):
        return _of_symbols(*_OLDER_OF_SYMBOLS[package], value)
    return ""


def _of_array_api(function: Any) -> str:
    """The example of the np function that the docstring names, or that has the same name, with this one.

    Empty where the two are called in different ways.
    """
    name = function.__name__
    named = re.match(r"`np\.(\w+)`", function.__doc__)
    older = getattr(np, named[1] if named else name, None)
    called, lines = _np_example(older)
    call = re.compile(rf"\bn[dp]\.{called}\(")
    if not any(map(call.search, lines)):
        return ""
    lines = [re.sub(r"\bnd\.", "np.", call.sub(f"xp.{name}(", line)) for line in lines]
    try:
        return session(["from headrace import array_api as xp", *lines])
    except TypeError:
        return ""


def _np_example(function: Any) -> tuple[str, list[str]]:
    """The name that a function has in its example, and the example's lines."""
    if hasattr(function, "op_name"):
        op = operator_descriptions()[function.op_name]
        return own_paths(op)[0].rpartition(".")[2], example_of(op).lines
    text = (getattr(function, "__doc__", None) or "").partition(FROM_NUMPY)[0]
    examples = doctest.DocTestParser().get_examples(text)
    lines = [line for one in examples for line in one.source.splitlines()]
    return getattr(function, "__name__", ""), lines


def _of_symbols(older: str, newer: str, function: Any) -> str:
    """The example of a function of arrays in the package `older`, as one of symbols in the package `newer`.

    Empty where it shows something else then.
    """
    name, lines = function.__name__, []
    calls = _Calls(f"{older}.{name}", f"{newer}.{name}", dict(NAMES))
    examples = doctest.DocTestParser().get_examples(function.__doc__)
    try:
        for one in examples:
            changed, declared = calls.changed(one.source)
            lines += [*(line for line in declared if line not in lines), *changed]
            with contextlib.redirect_stdout(io.StringIO()):
                exec(compile(one.source, "<example>", "single"), calls.scope)
        made = session(lines)
    except (TypeError, AttributeError, ValueError, headrace.MXNetError):
        return ""
    wanted = [line for one in examples for line in one.want.splitlines()]
    shown = [line for line in made.splitlines() if not line.startswith((">>> ", "... "))]
    return made if shown == wanted else ""


class _Calls(ast.NodeTransformer):
    """Calls of a function of arrays become calls of one of symbols, with the arrays where it is evaluated."""

    def __init__(self, older: str, newer: str, scope: dict[str, Any]) -> None:
        self._older, self._newer, self.scope = older, newer, scope
        self._inputs: list[str] = []

    def changed(self, source: str) -> tuple[list[str], list[str]]:
        """The lines with other calls, and those that declare the variables in them."""
        self._inputs = []
        tree = self.visit(ast.parse(source))
        if self._newer not in ast.unparse(tree):
            return source.splitlines(), []
        [statement] = tree.body
        is_tuple = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Tuple)
        text = ", ".join(map(ast.unparse, statement.value.elts)) if is_tuple else ast.unparse(statement)
        return text.splitlines(), [f"{name} = sym.var('{name}').as_np_ndarray()" for name in self._inputs]

    def visit_Call(self, node: ast.Call) -> ast.AST:
        if ast.unparse(node.func) != self._older:
            return self.generic_visit(node)
        given: dict[str, ast.expr] = {}
        arguments = [self._symbol(one, given) for one in node.args]
        arguments += [f"{one.arg}={self._symbol(one.value, given)}" for one in node.keywords]
        values = ", ".join(f"{name}={ast.unparse(array)}" for name, array in given.items())
        call = f"{self._newer}({', '.join(arguments)}).eval({values})[0]"
        return ast.parse(call, mode="eval").body

    def _symbol(self, argument: ast.expr, given: dict[str, ast.expr]) -> str:
        """The text of an argument; of an array that of a variable, which is `given` the array."""
        if not isinstance(eval(ast.unparse(argument), self.scope), np.ndarray):
            return ast.unparse(argument)
        name = f"{argument.id}_" if isinstance(argument, ast.Name) else "abcd"[len(given)]
        self._inputs += [name] if name not in self._inputs else []
        given[name] = argument
        return name
