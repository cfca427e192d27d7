"""What hooks and monitors see of a graph: what its operators read and write, and the gradients, by MXNet's
names.
"""

import ast
import json

import numpy as np

from . import _core
from ._catalogue import operator_descriptions
from ._semantics import is_np_array

__all__ = ["Watch", "WatchedRun"]

# Operators of one input that has a name in MXNet.
# fmt: off
_NAMED = frozenset([
    "Dropout", "L2Normalization", "LRN", "MakeLoss", "Pad", "Pooling", "Pooling_v1", "SliceChannel",
    "SwapAxis", "_contrib_fft", "_contrib_ifft", "_contrib_index_array",
    "_contrib_interleaved_matmul_selfatt_qk", "_contrib_quadratic", "_contrib_quantize_asym",
    "_contrib_quantize_v2", "_image_normalize", "_image_to_tensor", "_linalg_syrk", "_np_all",
    "_np_any", "_np_copy", "_np_cumsum", "_np_diag", "_np_diagflat", "_np_diagonal", "_np_max",
    "_np_min", "_np_moveaxis", "_np_prod", "_np_reshape", "_np_roll", "_np_squeeze", "_np_sum",
    "_np_trace", "_np_transpose", "_npi_around", "_npi_bernoulli", "_npi_bitwise_not",
    "_npi_broadcast_to", "_npi_diag_indices_from", "_npi_diff", "_npi_exponential", "_npi_flip",
    "_npi_full_like", "_npi_hsplit", "_npi_mean", "_npi_nan_to_num", "_npi_pad", "_npi_pareto",
    "_npi_powerd", "_npi_rayleigh", "_npi_rot90", "_npi_std", "_npi_tril", "_npi_unique", "_npi_var",
    "_npi_weibull", "_npi_where_scalar2", "_npx_constraint_check", "_npx_nonzero", "_npx_reshape",
    "_ravel_multi_index", "_split_v2", "_unravel_index", "all_finite", "depth_to_space", "diag",
    "moments", "one_hot", "repeat", "reverse", "space_to_depth", "squeeze", "tile",
])
# fmt: on


class Watch:
    """The operators of a symbol, each with a graph of its own, so that they run one after the other.

    An output has the name it has in the symbol ('fc1_output'), an input that of its node and of the
    operator's argument ('fc1_data'). The gradient of an input is 'fc1_backward_output0', by its number, or
    'act_backward_output' of a single one.
    """

    def __init__(self, symbol):
        self._symbol, self._graph = symbol, json.loads(symbol._json())
        self.nodes = self._graph["nodes"]
        self.heads = [tuple(head[:2]) for head in self._graph["heads"]]
        self._steps = [
            _Step(self._graph, place) for place, node in enumerate(self.nodes) if node["op"] != "null"
        ]

    def steps_for(self, shapes):
        """The operators for inputs of these shapes, in the order of the symbol's inputs. New arrays whose
        shape has open extents get that which their users need.
        """
        if not any(step.is_open for step in self._steps):
            return self._steps
        internals = self._symbol.get_internals()
        _, found = internals._infer(dict(zip(self._symbol.list_inputs(), shapes)), {})
        shape_of = {name: shape for name, (shape, _) in zip(internals.list_outputs(), found)}
        return [
            _Step(self._graph, step.place, shape_of[step.writes[0]]) if step.is_open else step
            for step in self._steps
        ]


def _is_open(node):
    """Whether it makes an array of which the symbol does not say all extents."""
    shape = node.get("attrs", {}).get("shape")
    if node["inputs"] or shape is None:
        return False
    unknown = {-1} if node["op"].startswith("_np") else {0, -1}
    extents = ast.literal_eval(shape)
    return not unknown.isdisjoint(extents if isinstance(extents, tuple) else (extents,))


class _Step:
    """One operator: its name, what it reads as (variable or None, name, place), the names of its outputs.
    `shape`: of the array that it makes, where its attribute leaves that open.
    """

    def __init__(self, graph, place, shape=None):
        nodes, node = graph["nodes"], graph["nodes"][place]
        self.is_open = shape is None and _is_open(node)
        if shape is not None:
            node = {**node, "attrs": {**node["attrs"], "shape": str(tuple(shape))}}
        self.place, self.operator, self.name = place, node["op"], node["name"]
        self.reads = []
        for i, (source, output, *_) in enumerate(node["inputs"]):
            variable = nodes[source]["name"] if nodes[source]["op"] == "null" else None
            self.reads.append((variable, f"{node['name']}_{_input_name(node['op'], i)}", (source, output)))
        count = len(self.reads)
        inputs = [{"op": "null", "name": f"input {i}", "inputs": []} for i in range(count)]
        alone = {**node, "inputs": [[i, 0, 0] for i in range(count)]}
        text = {**graph, "nodes": [*inputs, alone], "arg_nodes": list(range(count)), "heads": [[count, 0, 0]]}
        handle = _core.SymbolHandle.from_json(json.dumps(text)).node_outputs()
        self.run = _core.CachedOp(handle, False)
        self.writes = handle.list_outputs()
        states = set(handle.list_auxiliary_states())
        self.is_state = [one["name"] in states for one in inputs]

    def names_of_gradients(self):
        """For each input the name of its gradient, or None of an auxiliary state."""
        single = self.is_state.count(False) == 1
        numbers = iter([""] if single else range(len(self.is_state)))
        return [None if state else f"{self.name}_backward_output{next(numbers)}" for state in self.is_state]


class WatchedRun:
    """One run of the operators of a Watch on `values`, arrays in the order of the symbol's inputs.

    With `records`, results that depend on variables with gradients are on the tape, and the gradients of
    what operators read can be asked for once backward has run.
    """

    def __init__(self, watch, values, is_np=None, is_train=False, records=False):
        self._watch = watch
        self._is_np = is_np_array() if is_np is None else is_np
        self._is_train, self._records = is_train, records
        variables = (place for place, node in enumerate(watch.nodes) if node["op"] == "null")
        values = list(values)
        self._found = {(place, 0): value for place, value in zip(variables, values)}
        self._steps = watch.steps_for([value.shape for value in values])
        self._gradients = []  # (operator, for each input its gradient so far or None, its array)

    def __iter__(self):
        """Runs; gives for each operator its name, [(variable that it reads or None, name, array)] and
        [(name of output, array)].
        """
        for step in self._steps:
            read = [self._found[place] for _, _, place in step.reads]
            written = self._call(step, read)
            self._found.update(((step.place, i), array) for i, array in enumerate(written))
            yield (
                step.operator,
                [(variable, name, array) for (variable, name, _), array in zip(step.reads, read)],
                list(zip(step.writes, written)),
            )

    def _call(self, step, read):
        if self._records and any(array._on_tape for array in read):
            gradients = [None] * len(read)
            self._gradients.append((step, gradients, read))
            inputs = [
                array if is_state else self._noting(array, gradients, i)
                for i, (array, is_state) in enumerate(zip(read, step.is_state))
            ]
            with _core.record(self._is_train):
                return step.run(inputs, self._is_np)
        with _core.train_mode() if self._is_train else _core.predict_mode():
            return step.run(read, self._is_np)

    def _noting(self, array, gradients, i):
        """The same array, on the tape so that backward writes its gradient into `gradients[i]`."""
        alone = array.detach()
        if array._on_tape:

            def note(heads, _wanted):
                gradients[i] = heads[0]
                return heads

            with _core.record(self._is_train):
                _core.record_custom([array], [alone], note, self._is_np)
        elif array.stype == "default" and np.issubdtype(array.dtype, np.floating):
            gradients[i] = array.zeros_like()
            _core.mark_variable(alone, gradients[i], "write")
        return alone

    @property
    def outputs(self):
        """The outputs of the symbol, once all operators have run."""
        return [self._found[head] for head in self._watch.heads]

    def gradients(self):
        """[(name, array)] of the gradients that backward found for what operators read, in the order in
        which it runs; zeros where nothing came. Operators that it did not reach are left out.
        """
        found = []
        for step, gradients, read in reversed(self._gradients):
            on_tape = [g for g, array in zip(gradients, read) if array._on_tape]
            if all(gradient is None for gradient in on_tape):
                continue
            for name, gradient, array in zip(step.names_of_gradients(), gradients, read):
                if name is not None:
                    found.append((name, array.zeros_like() if gradient is None else gradient))
        return found


def _input_name(operator, i):
    description = operator_descriptions().get(operator)
    if description is None or description["variadic"] or i >= len(description["inputs"]):
        return f"arg{i}"
    if len(description["inputs"]) == 1 and operator not in _NAMED:
        return "input0"
    return description["inputs"][i]
