"""A pass over a graph that puts casts before the operators that need another dtype."""

import json
from typing import NamedTuple

from .... import _core
from ....base import MXNetError
from .lists.names import canonical

__all__ = ["Lists", "reduce_precision"]

WIDE = "float32"


class Lists(NamedTuple):
    """What to do with which operators, by their canonical names, and with which nodes, by their own."""

    low: frozenset[str]
    wide: frozenset[str]
    widest: frozenset[str]
    conditional: dict[str, list[tuple[str, list[str]]]]  # operator to (argument, values that want float32)
    excluded: frozenset[str]

    def wants_wide(self, op, attributes):
        """Whether an operator with these arguments is to compute in float32."""
        return any(attributes.get(name) in values for name, values in self.conditional.get(op, ()))


def reduce_precision(symbol, target, lists, data_names, cast_parameters):
    """The symbol with amp_cast and amp_multicast in it, which computes partly in the dtype `target`.

    Inputs and outputs stay float32; with `cast_parameters` inputs that are no data may come in `target` where
    all that reads them wants that.
    """
    made = _Pass(symbol, target, lists, set(data_names), cast_parameters).run()
    return type(symbol)(_core.SymbolHandle.from_json(json.dumps(made)))


class _Pass:
    """One run. An entry is (number of a node, number of its output), of the old graph or of the new one."""

    def __init__(self, symbol, target, lists, data_names, cast_parameters):
        self._graph = json.loads(symbol.tojson(remove_amp_cast=False))
        self._old = self._graph["nodes"]
        self._target, self._lists = target, lists
        self._data_names, self._cast_parameters = data_names, cast_parameters
        self._auxiliary = set(symbol.list_auxiliary_states())
        self._new = []
        self._moved = {}  # old entry to new entry
        self._known = {WIDE: {}, target: {}}  # dtype to old entry to a new entry that has it
        self._outputs = self._count_outputs()
        self._types = {}  # of nodes: see _infer
        self._names = self._output_names(symbol)

    def _count_outputs(self):
        """How many outputs of each node somebody reads."""
        counts = [1] * len(self._old)
        read = [one for node in self._old for one in node["inputs"]]
        for number, index, *_ in (*read, *self._graph["heads"]):
            counts[number] = max(counts[number], index + 1)
        return counts

    def _output_names(self, symbol):
        internals = symbol.get_internals()
        by_node = {}
        for one, name in zip(internals, internals.list_outputs()):
            by_node.setdefault(one.name, []).append(name)
        return by_node

    def run(self):
        """The new graph, as MXNet's JSON says it."""
        for number, node in enumerate(self._old):
            inputs = [tuple(one[:2]) for one in node["inputs"]]
            copied = {**node, "inputs": self._inputs_of(number, node, inputs)}
            place = self._add(copied)
            for index in range(self._outputs[number]):
                self._moved[number, index] = place, index
            for dtype, index in self._dtypes_of_outputs(number, node, inputs):
                self._known[dtype][number, index] = place, index
        heads = [self._cast(tuple(head[:2]), WIDE) for head in self._graph["heads"]]
        return {
            "nodes": self._new,
            "arg_nodes": [i for i, node in enumerate(self._new) if node["op"] == "null"],
            "heads": [[*head, 0] for head in heads],
            "attrs": self._graph.get("attrs", {}),
        }

    def _kind(self, node):
        op = canonical(node["op"])
        lists = self._lists
        if node["name"] in lists.excluded or op in lists.wide:
            return "wide"
        if op in lists.low:
            return "low"
        if op in lists.widest:
            return "widest"
        return "conditional" if lists.wants_wide(op, node.get("attrs", {})) else "other"

    # --- inputs ---

    def _inputs_of(self, number, node, inputs):
        """The inputs of the new node, as JSON has them; adds the casts before it."""
        kind = self._kind(node)
        if kind == "low":
            found = self._low_inputs(number, inputs)
        elif kind == "wide":
            found = [
                self._moved[one]
                if self._is_variable(one) and one not in self._known[WIDE]
                else self._cast(one, WIDE)
                for one in inputs
            ]
        elif kind == "conditional":
            found = [self._moved[one] if self._is_auxiliary(one) else self._cast(one, WIDE) for one in inputs]
        elif kind == "widest" and self._common(inputs) is not None:
            found = [self._cast(one, self._common(inputs)) for one in inputs]
        elif kind == "widest":
            found = self._multicast(inputs)
        else:
            found = [self._moved[one] for one in inputs]
        return [[*place, old[2] if len(old) > 2 else 0] for place, old in zip(found, node["inputs"])]

    def _low_inputs(self, number, inputs):
        wanted, _ = self._infer(number, self._target)
        found = []
        for one, dtype in zip(inputs, wanted):
            known = self._known[self._target].get(one)
            is_parameter = self._cast_parameters and self._is_variable(one)
            is_parameter = is_parameter and self._old[one[0]]["name"] not in self._data_names
            if known is not None:
                found.append(known)
            elif is_parameter or self._is_auxiliary(one) or dtype not in (self._target, None):
                found.append(self._moved[one])
                if is_parameter and dtype in (self._target, None):
                    self._known[self._target][one] = self._moved[one]
            else:
                found.append(self._cast(one, self._target))
        return found

    def _common(self, inputs):
        """The widest dtype of entries; None when one is not known."""
        low, wide = self._known[self._target], self._known[WIDE]
        if not all(one in low or one in wide for one in inputs):
            return None
        return WIDE if any(one in wide for one in inputs) else self._target

    def _cast(self, entry, dtype):
        """The new entry with a dtype, made once for each old entry."""
        known = self._known[dtype]
        if entry not in known:
            node = {
                "op": "amp_cast",
                "name": f"{self._name(entry)}_amp_cast_{dtype}",
                "attrs": {"dtype": dtype},
                "inputs": [[*self._moved[entry], 0]],
            }
            known[entry] = self._add(node), 0
        return known[entry]

    def _multicast(self, inputs):
        node = {
            "op": "amp_multicast",
            "name": f"{self._name(inputs[0])}_amp_multicast",
            "attrs": {"num_outputs": str(len(inputs))},
            "inputs": [[*self._moved[one], 0] for one in inputs],
        }
        place = self._add(node)
        return [(place, index) for index in range(len(inputs))]

    # --- dtypes ---

    def _dtypes_of_outputs(self, number, node, inputs):
        """Pairs (dtype, output) as far as they are known."""
        indices = range(self._outputs[number])
        kind = self._kind(node)
        if kind in ("wide", "conditional"):
            return [(WIDE, index) for index in indices]
        if kind == "widest":
            common = self._common(inputs)
            return [] if common is None else [(common, index) for index in indices]
        if kind == "low":
            _, outputs = self._infer(number, self._target)
        else:
            outputs = self._outputs_of_other(number, inputs)
        return [(dtype, index) for index, dtype in zip(indices, outputs) if dtype in self._known]

    def _outputs_of_other(self, number, inputs):
        for dtype in (self._target, WIDE):
            if inputs and inputs[0] in self._known[dtype]:
                try:
                    return self._infer(number, dtype)[1]
                except MXNetError:
                    return ()
        return ()

    def _infer(self, number, dtype):
        """(dtypes of the inputs, dtypes of the outputs) of a node whose first input has `dtype`, or None."""
        node, outputs = self._old[number], self._outputs[number]
        key = json.dumps([node["op"], node.get("attrs"), len(node["inputs"]), dtype, outputs])
        if "subgraphs" not in node and key in self._types:
            return self._types[key]
        count = len(node["inputs"])
        variables = [{"op": "null", "name": f"input{i}", "inputs": []} for i in range(count)]
        auxiliary = [one[2] if len(one) > 2 else 0 for one in node["inputs"]]
        alone = {**node, "inputs": [[i, 0, version] for i, version in enumerate(auxiliary)]}
        graph = {
            "nodes": [*variables, alone],
            "arg_nodes": list(range(count)),
            "heads": [[count, index, 0] for index in range(outputs)],
            "attrs": self._graph.get("attrs", {}),
        }
        handle = _core.SymbolHandle.from_json(json.dumps(graph))
        of_inputs, of_outputs = handle.infer({}, {"input0": dtype} if count else {})
        by_name = dict(zip(handle.list_inputs(), (found for _, found in of_inputs)))
        result = [by_name.get(f"input{i}") for i in range(count)], [found for _, found in of_outputs]
        self._types[key] = result
        return result

    # --- nodes ---

    def _add(self, node):
        self._new.append(node)
        return len(self._new) - 1

    def _is_variable(self, entry):
        return self._old[entry[0]]["op"] == "null"

    def _is_auxiliary(self, entry):
        return self._is_variable(entry) and self._old[entry[0]]["name"] in self._auxiliary

    def _name(self, entry):
        """The name of an output, of a variable its own."""
        name = self._old[entry[0]]["name"]
        outputs = self._names.get(name, ())
        return outputs[entry[1]] if entry[1] < len(outputs) else f"{name}_{entry[1]}"
