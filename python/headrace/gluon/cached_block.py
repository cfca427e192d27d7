"""CachedBlock: a block that keeps the graph of its computation: runs, watches, explains and exports it."""

import contextlib

from .. import autograd
from .._arrays import shape_is_known
from .._structure import flatten, regroup
from .block import Block
from .export import write_network
from .graph import is_array, symbols
from .parameter import DeferredInitializationError
from .tracing import trace

__all__ = ["CachedBlock"]


class CachedBlock(Block):
    """What a HybridBlock is once it is hybridized.

    While `_active`, subclasses answer calls on arrays by `_run_traced_graph`, which traces `_traced_graph`
    when there is none. They call `_clear_cached_op` when what the graph was traced from changes.
    """

    _is_hybrid = True
    _hybridize_call = "hybridize()"  # after which calls run the graph

    def __init__(self, prefix=None, params=None):
        self._traced_graph = None
        self._active = False
        self._flags = []  # the options of hybridize
        self._op_hooks = []
        super().__init__(prefix=prefix, params=params)

    @property
    def _compiles(self):
        """Whether a call runs the graph."""
        return self._active

    @property
    def _hides_children(self):
        return self._compiles

    def _clear_cached_op(self):
        object.__setattr__(self, "_traced_graph", None)

    # --- running ---

    def _graph_for(self, args):
        flat, in_format = flatten(args, is_array)
        graph = self._traced_graph
        if graph is None:
            graph = self._traced_graph = trace(self, flat, in_format)
        elif graph.in_format != in_format:
            flat = graph.fitted(flat, in_format)
        return graph, flat

    def _run_traced_graph(self, *args):
        graph = self._traced_graph
        if graph is not None and graph.quick is not None and not self._op_hooks:
            out = graph.quick(args)
            if out is not None:
                return out
        return self._run_any_graph(args)

    def _run_any_graph(self, args):
        graph, flat = self._graph_for(args)
        ctx = next(one for one in flat if one is not None).ctx
        for one in flat:
            if one is not None and one.ctx != ctx:
                raise ValueError(
                    "Find multiple contexts in the input, After hybridized, the HybridBlock only supports "
                    "one input context. You can print the ele.ctx in the input arguments to inspect their "
                    "contexts. "
                    f"Found {ctx} and {one.ctx}."
                )
        inputs = self._inputs_of(graph, flat, ctx)
        out = graph.run(inputs)
        if self._op_hooks:
            graph.call_hooks(self._op_hooks, inputs)
        return out

    def _inputs_of(self, graph, flat, ctx):
        """The arrays that the graph runs on; finishes deferred initializations first."""
        with contextlib.suppress(DeferredInitializationError):
            return graph.inputs(flat, ctx)
        graph.infer(flat, "shape")
        parameters = self.collect_params().values()
        if any(param._deferred_init and not shape_is_known(param.shape) for param in parameters):
            self._run_blocks(*regroup(iter(flat), graph.in_format))
        # Random numbers are drawn in the order in which the graph reads the parameters.
        read = [source for source in graph.sources if not isinstance(source, int)]
        for param in dict.fromkeys([*read, *parameters]):
            param._finish_deferred_init()
        return graph.inputs(flat, ctx)

    def _run_blocks(self, *args):
        """Runs all blocks one by one: some know the shapes of their parameters where these do not follow from
        the graph.
        """
        with self._called_one_by_one(), autograd.pause():
            self.forward(*args)

    def _plan_text(self, args):
        """Compiles the graph for `args` in the current mode, without running it, and says what would run."""
        leaves, _ = flatten(args, lambda one: not isinstance(one, (list, tuple)))
        ctx = next((one.ctx for one in leaves if is_array(one)), None)
        if ctx is None:
            raise ValueError(
                f"{self.name}: arrays are needed, a graph is compiled for their shapes and dtypes"
            )
        graph, flat = self._graph_for(args)
        return graph.op.explain(self._inputs_of(graph, flat, ctx))

    # --- looking inside, files ---

    def explain(self, *args):
        """What runs for these inputs in the current mode (autograd.record or not), as text: the steps,
        which of them were fused, memory and estimated time. RuntimeError: the block is not hybridized.
        """
        if not self._compiles:
            raise RuntimeError(
                f"{self.name}: call {self._hybridize_call} first; a block that is not hybridized has no plan"
            )
        return self._plan_text(args)

    def register_op_hook(self, callback, monitor_all=False):
        """As that of Block."""
        self._op_hooks.append((callback, monitor_all))
        super().register_op_hook(callback, monitor_all)

    def export(self, path, epoch=0, remove_amp_cast=True):
        """Writes `path-symbol.json` and `path-0000.params` (`epoch` with four digits), which
        SymbolBlock.imports, Module and MXNet read; the casts of mixed precision are left out on request.
        RuntimeError: not hybridized, or not called yet.
        """
        if self._traced_graph is None:
            raise RuntimeError(
                f"Please first call block.{self._hybridize_call} and then run forward with this block at "
                "least once before calling export."
            )
        write_network(self._traced_graph.outputs, self.collect_params(), path, epoch, remove_amp_cast)

    # What MXNet's block has as fields and programs read: parts of the graph.

    @property
    def _cached_graph(self):
        """(variables of the inputs, outputs) as symbols, or () before the first call after hybridize()."""
        if self._traced_graph is None:
            return ()
        return [symbols().var(name) for name in self._traced_graph.data_names], self._traced_graph.outputs

    @property
    def _cached_op(self):
        return None if self._traced_graph is None else self._traced_graph.op

    @property
    def _in_format(self):
        """How the arguments are nested: 0 for an array, -1 for None, a list for a list."""
        return None if self._traced_graph is None else self._traced_graph.in_format

    @_in_format.setter
    def _in_format(self, value):
        if self._traced_graph is not None:
            self._traced_graph.set_in_format(value)

    @property
    def _out_format(self):
        """How the outputs are nested."""
        return None if self._traced_graph is None else self._traced_graph.out_format

    @_out_format.setter
    def _out_format(self, value):
        if self._traced_graph is not None:
            self._traced_graph.out_format = value
