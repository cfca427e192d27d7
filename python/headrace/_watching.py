"""What hooks and monitors see of a graph: what its operators read and write, by MXNet's names."""

import json

from . import _core
from ._catalogue import operator_descriptions
from ._semantics import is_np_array

__all__ = ["Watch"]


class Watch:
    """The operators of a symbol, one after the other, with names for their inputs and outputs.

    An output has the name it has in the symbol ('fc1_output'), an input that of its node and of the
    operator's argument ('fc1_data').
    """

    def __init__(self, symbol):
        internals = symbol.get_internals()
        self._op = _core.CachedOp(internals._handle, False)
        self.inputs = internals.list_inputs()
        names = internals.list_outputs()
        places = _places_of_nodes(internals)
        nodes = json.loads(internals._json())["nodes"]
        self._operators = []  # (operator, [(variable or None, name, place)] of its inputs, [(name, place)])
        for node, own in zip(nodes, places):
            if node["op"] == "null":
                continue
            reads = []
            for i, (source, output, *_) in enumerate(node["inputs"]):
                variable = nodes[source]["name"] if nodes[source]["op"] == "null" else None
                name = f"{node['name']}_{_input_name(node['op'], i)}"
                reads.append((variable, name, places[source][output]))
            self._operators.append((node["op"], reads, [(names[place], place) for place in own]))

    def run(self, values, is_np=None):
        """Computes the graph for `values`, arrays in the order of `inputs`, and gives for each operator its
        name, [(variable that it reads or None, name, array)] and [(name of output, array)].
        """
        found = self._op(values, is_np_array() if is_np is None else is_np)
        for operator, reads, writes in self._operators:
            yield (
                operator,
                [(variable, name, found[place]) for variable, name, place in reads],
                [(name, found[place]) for name, place in writes],
            )


def _places_of_nodes(internals):
    """For each node the places of its outputs among all outputs of `internals`."""
    places = []
    for place in range(len(internals)):
        if internals._handle.output(place).output_index == 0:
            places.append([])
        places[-1].append(place)
    return places


def _input_name(operator, i):
    description = operator_descriptions().get(operator)
    if description is None or description["variadic"] or i >= len(description["inputs"]):
        return f"arg{i}"
    return description["inputs"][i]
