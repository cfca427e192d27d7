"""SymbolBlock: a block made of a symbol, for example of an exported network."""

import json
import os

from .. import _core
from .. import symbol as sym
from .._arrays import shape_is_known, statistics_dtype
from .._structure import flatten, regroup
from ..base import ArrayValueError
from ..context import cpu
from .graph import Graph, as_one_symbol, is_array
from .hybrid_block import HybridBlock
from .parameter_dict import ParameterDict

__all__ = ["SymbolBlock"]


def _declared(attributes):
    """dtype that a variable states for itself, or float32."""
    flag = attributes.get("__dtype__", "0")
    names = _core.dtype_names
    return names[int(flag)] if flag.isdigit() and int(flag) < len(names) else "float32"


def _parameters_of_batch_norms(symbol):
    """The names of the inputs of a symbol that are scales, shifts and statistics."""
    nodes = json.loads(symbol.tojson())["nodes"]
    norms = [node for node in nodes if "BatchNorm" in node["op"] or node["op"] == "_npx_batch_norm"]
    return {nodes[entry[0]]["name"] for node in norms for entry in node["inputs"][1:]}


class SymbolBlock(HybridBlock):
    """Runs `outputs` (a symbol or a list of them; a list of one means that one) as a function of `inputs`
    (variables).

    All other variables become parameters, auxiliary states last, shared with `params` where that has them.
    ValueError: an input is no variable.

    Examples
    --------
    >>> x = sym.var("data")
    >>> y = sym.FullyConnected(x, num_hidden=2, no_bias=True, name="fc")
    >>> net = gluon.SymbolBlock(y, x)
    >>> net.initialize(init.One())
    >>> net(nd.array([[1, 2, 3]]))
    [[6. 6.]]
    <NDArray 1x2 @cpu(0)>
    """

    _hides_children = False  # it has none

    def hybrid_forward(self, F, *args):
        """Not called: `forward` runs the graph."""
        raise NotImplementedError("SymbolBlock runs its graph")

    @staticmethod
    def imports(symbol_file, input_names, param_file=None, ctx=None, allow_missing=False, ignore_extra=False):
        """The network that HybridBlock.export or MXNet wrote.

        `input_names` is a name or a list of names; without `param_file` the parameters are not initialized.
        MXNetError: a file is missing or malformed. AssertionError: a parameter is missing in the file;
        ValueError or AssertionError: the file has others.
        """
        outputs = sym.load(symbol_file)
        names = [input_names] if isinstance(input_names, str) else list(input_names)
        block = SymbolBlock(outputs, [sym.var(name) for name in names])
        if param_file is not None:
            block.collect_params().load(
                param_file, ctx or cpu(), allow_missing, ignore_extra, cast_dtype=True, dtype_source="saved"
            )
        return block

    def __init__(self, outputs, inputs, params=None):
        super().__init__(prefix=None, params=None)
        self._prefix = ""
        self._params = ParameterDict("", params)
        is_one = isinstance(outputs, (list, tuple)) and len(outputs) == 1
        outputs, out_format = as_one_symbol(outputs[0] if is_one else outputs)
        inputs = [inputs] if isinstance(inputs, sym.Symbol) and len(inputs) == 1 else list(inputs)
        names = []
        for one in inputs:
            if len(one.get_internals()) != 1:
                raise ValueError(f"Input symbols must be variable, but {one} is an output of operators")
            names.append(one.name)
        self._input_names = names
        auxiliary = outputs.list_auxiliary_states()
        attributes = outputs.attr_dict()
        for name in [*outputs.list_arguments(), *auxiliary]:
            if name in names:
                continue
            assert attributes.get(name, {}).get("__storage_type__", "0") != "1", (
                f"SymbolBlock doesn't support Parameter '{name}' because its storage type is row_sparse"
            )
            requests = {"grad_req": "null"} if name in auxiliary else {}  # others keep what `params` has
            dtype = _declared(attributes.get(name, {}))
            self._params.get(name, allow_deferred_init=True, dtype=dtype, **requests)
        parameters = {name: self._params[name] for name in outputs.list_inputs() if name not in names}
        # Files of structured names leave out what all names begin with.
        start = len(os.path.commonprefix(list(self._params.keys())))
        self._reg_params = {name[start:]: parameter for name, parameter in self._params.items()}
        self._traced_graph = Graph(outputs, out_format, [0] * len(names), names, parameters)
        self._active = True

    def _alias(self):
        return "symbolblock"

    def _run_blocks(self, *args):
        unknown = [name for name, one in self._params.items() if not shape_is_known(one.shape)]
        raise ArrayValueError(
            f"SymbolBlock: the shapes of {', '.join(unknown)} do not follow from those of the inputs "
            f"{', '.join(self._input_names)}; are these the variables that the outputs are made of?"
        )

    def _clear_cached_op(self):
        """The graph is what this block is: it stays."""

    def hybridize(self, active=True, *args, **kwargs):
        """Nothing to do: the graph is always compiled."""

    def forward(self, x, *args):
        """Runs the graph on arrays, or puts symbols in place of the inputs."""
        flat, _ = flatten((x, *args), lambda one: is_array(one) or isinstance(one, sym.Symbol))
        if is_array(flat[0]):
            is_nested = any(isinstance(one, list) for one in self._traced_graph.in_format)
            return self._run_traced_graph(x, *args) if is_nested else self._run_traced_graph(*flat)
        replaced = self._traced_graph.outputs(**dict(zip(self._input_names, flat)))
        if self._traced_graph.out_format == 0:
            return replaced
        return regroup(iter(replaced), self._traced_graph.out_format)

    def cast(self, dtype):
        """Converts all parameters and gradients to `dtype`; beside float16 and bfloat16 those of batch
        normalisations become float32.
        """
        of_norms = _parameters_of_batch_norms(self._traced_graph.outputs)
        for parameter in self._params.values():
            parameter.cast(statistics_dtype(dtype) if parameter.name in of_norms else dtype)

    def reset_ctx(self, ctx):
        """Moves all parameters to `ctx`, a context or a list of them."""
        self.collect_params().reset_ctx(ctx)

    def __repr__(self):
        inputs, outputs = len(self._input_names), len(self._traced_graph.outputs)
        return f"SymbolBlock(\n{self._traced_graph.outputs} : {inputs} -> {outputs}\n)"
