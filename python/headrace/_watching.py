"""What hooks and monitors see of a graph: what its operators read and write, by MXNet's names."""

import json

from . import _core
from ._catalogue import operator_descriptions
from ._semantics import is_np_array

__all__ = ["Watch"]

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
    if len(description["inputs"]) == 1 and operator not in _NAMED:
        return "input0"
    return description["inputs"][i]
