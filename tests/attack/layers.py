"""Layers and losses of Gluon with hostile sizes, on hostile arrays, eager and hybridized, with gradients."""

import inspect
import re

from arguments import Parameter, array, parameters_of_function, value
from child import Attack, execute, namespace
from oracles import check_canary, drain, poison

HOMES = ("gluon.nn", "gluon.rnn", "gluon.loss", "gluon.contrib.nn", "gluon.contrib.rnn")
SMALL = ("1", "2", "3", "4", "(1, 1)", "(2, 2)", "(3,)")
INPUTS = ("(2, 3)", "(2, 3, 4)", "(2, 4, 6, 6)", "(1, 2, 4, 4, 4)", "(3, 2, 5)", "(2,)", "()")


class Layers(Attack):
    """Layers and losses with hostile sizes and inputs."""

    programs = 2500
    memory = 2 << 30

    def start(self):
        from headrace import gluon

        self._classes = [
            (f"{home}.{name}", parameters_of_function(member.__init__), len(_inputs_of(member)))
            for home in HOMES
            for module in [_module(gluon, home)]
            for name in sorted(getattr(module, "__all__", ()))
            for member in [getattr(module, name)]
            if isinstance(member, type) and issubclass(member, gluon.Block)
        ]
        execute("dense(6)(nd.ones((2, 6))).asnumpy()", namespace())

    def program(self, random, number):
        path, parameters, inputs = random.choice(self._classes)
        hostile = random.random() < 0.6
        given = [
            f"{one.name}={_size(random, one, hostile)}"
            for one in parameters
            if one.kind not in ("self", "ctx") and (one.required or random.random() < 0.2)
        ]
        lines = [f"block = {path}({', '.join(given)})", "block.initialize()"]
        if random.random() < 0.4:
            lines.append("block.hybridize()")
        for place in range(inputs if random.random() < 0.8 else random.choice((1, 2, 3))):
            dtype = "float32" if random.random() < 0.7 else None
            shape = random.choice(INPUTS) if random.random() < 0.8 else None
            lines.append(f"a{place} = {array(random, 'nd', dtype, shape)}")
        call = f"block({', '.join(line.partition(' ')[0] for line in lines if re.match('a[0-9]', line))})"
        if random.random() < 0.3:
            lines.append(f"with autograd.record(): result = {call}")
            lines.append("autograd.backward(result)")
        else:
            lines.append(f"result = {call}")
        return "\n".join(lines)

    def subject(self, text):
        found = re.search(r"block = ([\w.]+)", text)
        return found[1] if found else super().subject(text)

    def run(self, text):
        names = namespace()
        poison(names["nd"])
        taken = execute(text, names)
        check_canary(names.get("result"))
        drain(names["mx"])
        return taken


def _module(gluon, home):
    found = gluon
    for name in home.split(".")[1:]:
        found = getattr(found, name, None)
    return found


def _inputs_of(layer):
    """The arrays that a layer is called with."""
    forward = layer.hybrid_forward if "hybrid_forward" in dir(layer) else layer.forward
    return [
        one
        for one in inspect.signature(forward).parameters.values()
        if one.default is one.empty
        and one.kind == one.POSITIONAL_OR_KEYWORD
        and one.name
        not in ("self", "F", "args", "weight", "bias", "gamma", "beta", "running_mean", "running_var")
    ]


def _size(random, parameter, hostile):
    """A value for a parameter of a layer; mostly a small size unless it is to be hostile."""
    if parameter.kind == "any" or (parameter.kind == "array" and parameter.required):
        parameter = Parameter(parameter.name, random.choice(("int", "int", "shape", "float", "bool", "str")))
        if not hostile or random.random() < 0.5:
            return random.choice(SMALL)
    return value(random, parameter, "nd")


ATTACK = Layers()
