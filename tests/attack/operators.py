"""Hostile arguments for every function of nd, np and npx, for methods of arrays and for expressions."""

import ast
import re

from arguments import array, value
from child import Attack, Finding, execute, namespace
from functions import functions
from oracles import bits, check_canary, check_growth, check_size, drain, poison

BEYOND = re.compile(r"(empty|zeros)\(+1 <<")  # an array larger than any memory
OUTS = ("a0", "a0", "a0[::-1]", "a0.T", "a0[:1]", "None", "3", "[]", "[a0, a0]")
KEYS = (
    *(
        "0",
        "-1",
        "2**31",
        "2**62",
        "-2**63",
        "2**64",
        "nan",
        "None",
        "...",
        "'a'",
        "True",
        "(0, 0)",
        "(..., -1)",
    ),
    *("slice(None, None, -1)", "slice(None, None, 0)", "slice(2**62, None)", "slice(None, None, 2**63 - 1)"),
    *("slice(-2**63, 2**63 - 1, -2**63)", "[0, 0]", "[2**62]", "[[0], [1]]", "numpy.array([True, False])"),
    *("(0,) * 40", "(None,) * 40", "(slice(None), [0, -1])", "[]", "()", "numpy.zeros((0,), dtype='int64')"),
)
SHAPES_ONLY = {"shape_array", "size_array", "shape", "zeros_like", "ones_like", "full_like", "empty_like"}


class Operators(Attack):
    """Every function with hostile arguments."""

    programs = 6000

    def start(self):
        from headrace import sim

        sim.configure(gpus=2, clock="virtual")
        self._functions = functions()
        kinds = ("self", "array", "arrays", "operand")
        self._makers = [one for one in self._functions if all(p.kind not in kinds for p in one.parameters)]
        self._by_path = {function.path: function for function in self._functions}
        execute("nd.dot(nd.ones((64, 64)), nd.ones((64, 64))).asnumpy()", namespace())

    # --- making programs ---

    def program(self, random, number):
        function = random.choice(self._makers if random.random() < 0.2 else self._functions)
        given = _from_sample(random, function) or _from_kinds(random, function)
        lines, arrays, call = [], 0, []
        for parameter, text in given:
            if parameter.kind in ("self", "array", "operand"):
                lines.append(f"a{arrays} = {text}")
                text = f"a{arrays}"
                arrays += 1
            call.append(
                text if parameter.required and parameter.kind != "arrays" else f"{parameter.name}={text}"
            )
        if arrays and random.random() < 0.1:
            lines.append(
                "out = " + (random.choice(OUTS) if random.random() < 0.6 else array(random, function.front))
            )
            call.append("out=out")
        positional = [text for text in call if "=" not in text.split("(")[0]]
        named = [text for text in call if "=" in text.split("(")[0]]
        target = function.path
        if function.is_method:
            target = positional.pop(0) + target if positional else "a0" + target
        return "\n".join([*lines, f"result = {target}({', '.join(positional + named)})"])

    # --- running them ---

    def run(self, text):
        names = namespace()
        names["untouchable"].clear()
        *before, last = ast.parse(text).body
        if not execute("\n".join(map(ast.unparse, before)), names):
            return False
        arrays = {name: names[name] for name in names if name[0] == "a" and name[1:].isdigit()}
        values = {name: bits(one) for name, one in arrays.items()}
        for name, line in zip(arrays, before):
            if values[name] and BEYOND.search(ast.unparse(line)):
                raise Finding("foreign memory", f"{name} has values")
        poison(names["nd"])
        last = ast.unparse(last)
        taken = execute(last, names)
        subject = self.subject(last)
        result = [names.get("result")]
        if "out" in names and taken:
            result.append(names["out"])
        if "empty" not in subject and "where=" not in last:  # both leave elements unwritten
            check_canary(result)
        if subject.rpartition(".")[2] not in SHAPES_ONLY:
            check_size(arrays.values(), result)
        for one, copy in names["untouchable"]:
            if one.tobytes() != copy.tobytes():
                raise Finding("argument changed", "a NumPy array that is read-only")
        if "out" not in names and "copy=" not in last and not self._may_write(subject):
            for name, one in arrays.items():
                if bits(one) != values[name]:
                    raise Finding("argument changed", f"{subject} wrote to {name}")
        if sum(text.encode()) % 20 == 0:
            check_growth(last, names)
        drain(names["mx"])
        return taken

    def _may_write(self, subject):
        function = self._by_path.get(subject) or self._by_path.get("." + subject.partition(".")[2])
        return function is not None and function.mutates


def _from_sample(random, function):
    """Arguments of a sample in the catalogue, of which up to two are replaced."""
    if not function.description or not function.description["samples"] or random.random() < 0.4:
        return None
    sample = random.choice(function.description["samples"])
    given = []
    inputs = [_sample_array(one, function.front) for one in sample["inputs"]]
    for parameter in function.parameters:
        if parameter.kind == "arrays":
            given.append((parameter, "[" + ", ".join(inputs) + "]"))
        elif parameter.kind in ("self", "array"):
            if inputs:
                given.append((parameter, inputs.pop(0)))
        elif (
            parameter.required or sample["attrs"].get(parameter.name, parameter.default) != parameter.default
        ):
            given.append((parameter, repr(sample["attrs"].get(parameter.name))))
        elif random.random() < 0.1:
            given.append((parameter, value(random, parameter, function.front)))
    for _ in range(random.choice((0, 1, 1, 2))):
        if given:
            place = random.randrange(len(given))
            given[place] = (given[place][0], value(random, given[place][0], function.front))
    return given


def _sample_array(one, front):
    size = 1
    for extent in one["shape"]:
        size *= extent
    elements = one["values"] or f"numpy.linspace({one['low']}, {one['high']}, {size})"
    elements = str(elements).replace("1.7976931348623157e+308", "inf")
    return f"{front}.array(numpy.reshape({elements}, {tuple(one['shape'])}), dtype='{one['dtype']}')"


def _from_kinds(random, function):
    """Arguments that fit the kinds of the parameters; optional ones now and then."""
    likely = 0.3 if any(parameter.required for parameter in function.parameters) else 0.6
    return [
        (parameter, _argument(random, parameter, function.front))
        for parameter in function.parameters
        if parameter.required or random.random() < likely
    ]


def _argument(random, parameter, front):
    if parameter.kind == "operand":
        other = random.choice(
            ("numpy.ones((2, 3))", "numpy.float64(2)", "numpy.ones(3, dtype='uint64')", "2", "nan")
        )
        return other if random.random() < 0.25 else array(random, front)
    if parameter.name in ("key", "index", "indices") and random.random() < 0.8:
        return random.choice(KEYS)
    return value(random, parameter, front)


ATTACK = Operators()
