"""Symbols of every operator, with attributes and shapes that contradict, bound, run and differentiated."""

import re

from arguments import SHAPES, array, parameters_of_operator, value
from child import Attack, execute, namespace
from functions import operators
from oracles import check_canary, drain, poison


class Symbols(Attack):
    """Symbols with shapes and attributes that contradict, made by functions and by files."""

    programs = 5000

    def start(self):
        from headrace import sim

        sim.configure(gpus=2, clock="virtual")
        self._operators = list(operators().values())
        execute(
            "train(sym.dot(sym.var('a'), sym.var('b')), {'a': nd.ones((64, 64)), 'b': nd.ones((64, 64))})",
            namespace(),
        )

    def program(self, random, number):
        description = random.choice(self._operators)
        parameters = parameters_of_operator(description, False)
        sample = random.choice(description["samples"] or [{"inputs": [], "attrs": {}}])
        shapes = [str(tuple(one["shape"])) for one in sample["inputs"]]
        count = (
            len([one for one in parameters if one.kind == "array"]) if random.random() < 0.2 else len(shapes)
        )
        shapes = [
            shapes[i] if i < len(shapes) and random.random() < 0.6 else random.choice(SHAPES)
            for i in range(count)
        ]
        attributes = {}
        for one in parameters:
            if one.kind not in ("array", "arrays"):
                given = sample["attrs"].get(one.name, one.default)
                if random.random() < 0.15:
                    attributes[one.name] = value(random, one, "numpy")
                elif one.required or given != one.default:
                    attributes[one.name] = repr(given)
        lines = [_made(random, description, attributes, shapes)]
        values = [_value(random, shape, sample["inputs"][i] if i < len(sample["inputs"]) else None)
                  for i, shape in enumerate(shapes)]  # fmt: skip
        lines.append("values = {" + ", ".join(f"'x{i}': {one}" for i, one in enumerate(values)) + "}")
        if random.random() < 0.3:
            lines.append("s.infer_shape_partial(**{name: one.shape for name, one in values.items()})")
        if random.random() < 0.1:
            lines.append("s = sym.fromjson(s.tojson())")
        lines.append(random.choice(("result = s.eval(**values)", "result = train(s, values)")))
        if random.random() < 0.05:
            lines[-1] = "result = train(s, values, mx.gpu(0))"
        return "\n".join(lines)

    def subject(self, text):
        found = re.search(r"(_internal\.|graph\(')(\w+)", text)
        return found[2] if found else super().subject(text)

    def run(self, text):
        names = namespace()
        poison(names["nd"])
        taken = execute(text, names)
        if taken and "empty" not in text:
            check_canary(names.get("result"))
        drain(names["mx"])
        return taken


def _made(random, description, attributes, shapes):
    """The text that makes the symbol s of inputs x0, x1 ..., with or without their shapes."""
    known = [shape if random.random() < 0.5 else "None" for shape in shapes]
    if random.random() < 0.5:
        texts = {name: one.strip("'\"") for name, one in attributes.items()}
        return f"s = graph({description['name']!r}, {texts}, [{', '.join(known)}])"
    inputs = [
        f"sym.var('x{i}'" + (")" if shape == "None" else f", shape={shape})") for i, shape in enumerate(known)
    ]
    inputs += [f"{name}={one}" for name, one in attributes.items()]
    return f"s = sym._internal.{description['name']}({', '.join(inputs)})"


def _value(random, shape, sample):
    """An array for an input: mostly of the shape that the symbol was told."""
    if random.random() < 0.15:
        return array(random, "nd")
    dtype = sample["dtype"] if sample and random.random() < 0.9 else None
    if random.random() < 0.7 or dtype is None:
        return array(random, "nd", dtype, shape)
    values = f"numpy.linspace({sample['low']}, {sample['high']}, 7)"
    return f"nd.array(numpy.resize({values}, {shape}), dtype='{dtype}')"


ATTACK = Symbols()
