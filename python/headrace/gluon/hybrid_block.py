"""HybridBlock: a block whose computation can also be traced into a graph."""

import functools
import warnings

from .. import _arrays as arrays
from .. import _core, autograd
from .. import ndarray as nd
from .._semantics import is_np_array, is_np_shape
from .._structure import flatten, regroup
from ..base import MXNetError
from .block import Block
from .parameter import DeferredInitializationError

__all__ = ["HybridBlock"]


def _is_array(value):
    return isinstance(value, arrays.NDArray)


def _type_name(value):
    kind = type(value)
    return kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"


def _symbol_module():
    from .. import symbol

    return symbol


def value_of(parameter, ctx):
    """The array of a parameter on `ctx`."""
    single = parameter._single
    return parameter.data(ctx) if single is None else single


def as_one_symbol(out):
    """(symbol, format) of a symbol or nested symbols; a symbol of several outputs counts as a list."""
    symbol = _symbol_module()
    flat, out_format = flatten(out, lambda one: isinstance(one, symbol.Symbol))
    outputs = symbol.Group(flat) if len(flat) > 1 else flat[0]
    if out_format == 0 and len(outputs) > 1:
        out_format = [0] * len(outputs)
    return outputs, out_format


class Graph:
    """A traced computation: a symbol, and where each of its inputs comes from."""

    def __init__(self, outputs, out_format, in_format, data_names, parameters):
        self.outputs, self.out_format, self.in_format = outputs, out_format, in_format
        self.data_names = [name for name in data_names if name is not None]
        self.op = _core.CachedOp(outputs._handle)
        places = {name: i for i, name in enumerate(data_names)}
        self.sources = []  # of each input of the op: a number (which argument) or a Parameter
        for name in outputs.list_inputs():
            if name not in places:
                assert name in parameters, f"Unknown input to HybridBlock: {name}"
            self.sources.append(places.get(name, parameters.get(name)))
        used = set(outputs.list_inputs())
        for name in data_names:
            if name not in used:
                warnings.warn(f"The {name} is not used by the computation. Is this intended?", stacklevel=5)
        for name in parameters:
            if name not in used:
                warnings.warn(
                    f"Parameter {name} is not used by any computation. Is this intended?", stacklevel=5
                )
        self.takes_one = in_format == [0]
        self.template = [None if isinstance(one, int) else one for one in self.sources]

    def __reduce_ex__(self, protocol):
        try:
            self.outputs.tojson()
        except RuntimeError:  # it holds an array: the block of the copy traces anew
            return type(None), ()
        return super().__reduce_ex__(protocol)

    def __getstate__(self):
        return {name: value for name, value in vars(self).items() if name != "op"}

    def __setstate__(self, state):
        vars(self).update(state)
        self.op = _core.CachedOp(self.outputs._handle)

    def inputs(self, data, ctx):
        """The arrays to run on; DeferredInitializationError: a parameter has none yet."""
        return [data[source] if isinstance(source, int) else value_of(source, ctx) for source in self.sources]

    def run(self, inputs):
        """The outputs for arrays in the order of the symbol's inputs, nested as hybrid_forward gave them."""
        outputs = self.op(inputs, is_np_array())
        return outputs[0] if self.out_format == 0 else regroup(iter(outputs), self.out_format)


class HybridBlock(Block):
    """A block that defines `hybrid_forward(self, F, x, ..., **parameters)`.

    `F` is the namespace to call operators of: `nd` on arrays, `sym` on symbols; `F.np` and `F.npx` in np
    mode. The block's own parameters arrive as keyword arguments under their attribute names, as arrays
    or symbols. After `hybridize()` the first call traces hybrid_forward with symbols; from then on calls
    run a compiled graph. All children must be HybridBlocks.
    """

    def __init__(self, prefix=None, params=None):
        self._graph = None
        self._active = False
        self._flags = []  # the options of hybridize
        self._op_hooks = []
        super().__init__(prefix=prefix, params=params)

    # --- structure ---

    _defines_forward = False

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        if "forward" in vars(cls) and cls.hybrid_forward is HybridBlock.hybrid_forward:
            cls._defines_forward = True
            cls.forward = _compiled(cls.forward)

    def __setattr__(self, name, value):
        super().__setattr__(name, value)
        if isinstance(value, Block):
            self._clear_cached_op()

    def register_child(self, block, name=None):
        """Adds a child. ValueError: it is no HybridBlock."""
        if not isinstance(block, HybridBlock):
            raise ValueError(
                f"Children of HybridBlock must also be HybridBlock, but {block} has type {type(block)}. "
                "If you are using Sequential, please try HybridSequential instead."
            )
        super().register_child(block, name)
        self._clear_cached_op()

    def _clear_cached_op(self):
        object.__setattr__(self, "_graph", None)

    def hybridize(
        self,
        active=True,
        backend=None,
        clear=True,
        static_alloc=False,
        static_shape=False,
        inline_limit=2,
        forward_bulk_size=None,
        backward_bulk_size=None,
        **kwargs,
    ):
        """Traces the computation at the next call and runs it as a compiled graph; False goes back.

        `clear` drops earlier traces. The other options are MXNet's, and no result and no plan depends on
        them: a plan places all intermediate values in one block before it runs (`static_alloc`), is made once
        for every kind of input (`static_shape`), and is one task, whose blocks are inlined
        (`inline_limit`, `forward_bulk_size`, `backward_bulk_size`); `backend` and further keywords, its
        options, choose among compilers, of which there is one. MXNetError: `static_shape` without
        `static_alloc`, or an option of another type.
        """
        _check_options(
            static_alloc,
            static_shape,
            inline_limit=inline_limit,
            forward_bulk_size=forward_bulk_size,
            backward_bulk_size=backward_bulk_size,
        )
        self._active = active
        self._flags = [
            ("static_alloc", static_alloc),
            ("static_shape", static_shape),
            ("inline_limit", inline_limit),
        ]
        bulks = (("forward_bulk_size", forward_bulk_size), ("backward_bulk_size", backward_bulk_size))
        self._flags += [bulk for bulk in bulks if bulk[1] is not None]
        if clear:
            self._clear_cached_op()
        if self._forward_hooks or self._forward_pre_hooks:
            warnings.warn(
                f"{self} is being hybridized while still having forward hook/pre-hook. If it is a child of "
                "HybridBlock, the hooks will not take effect.",
                stacklevel=2,
            )
        for child in self._children.values():
            child.hybridize(
                active,
                None,
                clear,
                static_alloc,
                static_shape,
                inline_limit,
                forward_bulk_size,
                backward_bulk_size,
            )

    def cast(self, dtype):
        """Converts all parameters and gradients to `dtype`."""
        self._clear_cached_op()
        super().cast(dtype)

    # --- running ---

    def forward(self, x, *args):
        """Calls hybrid_forward with arrays or symbols, or runs the compiled graph."""
        if isinstance(x, arrays.NDArray):
            if self._active and not x._is_abstract:
                return self._run_graph(x, *args)
            params = {}
            for name, param in self._reg_params.items():
                single = param._single
                params[name] = self._own(param, x.ctx, (x, *args)) if single is None else single
            return self.hybrid_forward(nd, x, *args, **params)
        symbol = _symbol_module()
        if not isinstance(x, symbol.Symbol):
            return self._forward_of_nested(x, *args)
        return self._forward_symbols(symbol, (x, *args))

    def _own(self, param, ctx, args):
        """An array of this block's own; finishes a deferred initialization first."""
        if param._deferred_init:
            self._finish_deferred(*args)
        return param.data(ctx)

    def hybrid_forward(self, F, x, *args, **kwargs):
        """Computes the output with the operators of `F`; every subclass defines it."""
        raise NotImplementedError(f"{type(self).__name__} has no hybrid_forward(self, F, x, ...) method")

    def _forward_of_nested(self, *args):
        """`x` is a list of arrays or symbols, or None: what the first of them is decides."""
        symbol = _symbol_module()
        flat, _ = flatten(args, lambda one: not isinstance(one, (list, tuple)))
        kinds = {_is_array(one) for one in flat if _is_array(one) or isinstance(one, symbol.Symbol)}
        if not kinds:
            self._check_inputs(args)
        if len(kinds) > 1:
            raise ValueError(
                "In HybridBlock, we do not support mixed NDArrays and Symbols types for the input."
            )
        if kinds == {True}:
            if self._active:
                return self._run_graph(*args)
            ctx = next(one for one in flat if _is_array(one)).ctx
            params = {name: self._own(param, ctx, args) for name, param in self._reg_params.items()}
            return self.hybrid_forward(nd, *args, **params)
        return self._forward_symbols(symbol, args)

    def _check_inputs(self, args):
        flat, _ = flatten(args, lambda one: not isinstance(one, (list, tuple)))
        if args and not any(_is_array(one) or isinstance(one, _symbol_module().Symbol) for one in flat):
            got = ", ".join(map(_type_name, args))
            raise ValueError(
                f"{type(self).__name__} {self.name}: expected an array as first input, got {got}; there "
                "must be one NDArray or one Symbol in the input. Convert it with mx.nd.array(x), or with "
                "mx.np.array(x) in np mode."
            )

    def _run_graph(self, *args):
        graph = self._graph
        if graph is not None and graph.takes_one and len(args) == 1 and not self._op_hooks:
            x = args[0]
            # Nearly every call: one array, and parameters with one replica each.
            inputs = [x if source is None else source._single for source in graph.template]
            for one in inputs:
                if one is None:
                    break
            else:
                return graph.run(inputs)
        return self._run_any_graph(args)

    def _run_any_graph(self, args):
        flat, in_format = flatten(args, _is_array)
        graph = self._graph
        if graph is None:
            graph = self._graph = self._trace(flat, in_format)
        elif graph.in_format != in_format:
            flat = _fit(flat, in_format, graph.in_format)
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
            self._call_op_hooks(graph, inputs)
        return out

    def _inputs_of(self, graph, flat, ctx):
        """The arrays that the graph runs on; finishes deferred initializations first."""
        try:
            return graph.inputs(flat, ctx)
        except DeferredInitializationError:
            self._infer(graph, flat, "shape")
            for param in self.collect_params().values():
                param._finish_deferred_init()
            return graph.inputs(flat, ctx)

    def _plan_text(self, args):
        """Compiles the graph for `args` in the current mode, without running it, and says what would run."""
        leaves, _ = flatten(args, lambda one: not isinstance(one, (list, tuple)))
        ctx = next((one.ctx for one in leaves if _is_array(one)), None)
        if ctx is None:
            raise ValueError(
                f"{self.name}: arrays are needed, a graph is compiled for their shapes and dtypes"
            )
        graph, flat = self._graph_for(args)
        return graph.op.explain(self._inputs_of(graph, flat, ctx))

    # --- tracing ---

    def _trace(self, flat, in_format):
        """The Graph of hybrid_forward for arguments of this nesting."""
        symbol = _symbol_module()
        count = sum(one is not None for one in flat)
        fresh = iter(["data"] if count == 1 else [f"data{i}" for i in range(count)])
        names = [None if one is None else next(fresh) for one in flat]
        if self._defines_forward:
            outputs, out_format = self._trace_forward(flat, in_format, names)
        else:
            args = regroup(iter([None if name is None else symbol.var(name) for name in names]), in_format)
            with autograd.pause(autograd.is_training()):
                out = self._forward_symbols(symbol, args)
            outputs, out_format = as_one_symbol(out)
        return Graph(outputs, out_format, in_format, names, dict(self.collect_params().items()))

    def _trace_forward(self, flat, in_format, names):
        from ..symbol.calls import wrap
        from .tracing import trace_forward

        args = regroup(iter(flat), in_format)
        if any(param._deferred_init for param in self.collect_params().values()):
            self._active = False
            try:
                self.forward(*args)  # completes the shapes of the parameters
            finally:
                self._active = True
        handle, out_format = trace_forward(self, args, [name for name in names if name])
        return wrap(handle, is_np_array()), out_format

    def _forward_symbols(self, symbol, args):
        params = {name: param.var() for name, param in self._reg_params.items()}
        with self.name_scope():
            return self.hybrid_forward(symbol, *args, **params)

    def _graph_for(self, args):
        flat, in_format = flatten(args, _is_array)
        if self._graph is None:
            self._graph = self._trace(flat, in_format)
        return self._graph, flat

    def infer_shape(self, *args):
        """Completes the shapes of the parameters for inputs `args`.

        ValueError: the shapes do not follow from these inputs.
        """
        self._infer_attrs("infer_shape", "shape", *args)

    def infer_type(self, *args):
        """Sets the dtypes of the parameters for inputs `args`."""
        self._infer_attrs("infer_type", "type", *args)

    def _infer(self, graph, flat, what):
        symbol = graph.outputs
        names = symbol.list_inputs()
        data = {name: flat[source] for name, source in zip(names, graph.sources) if isinstance(source, int)}
        shapes = {name: one.shape for name, one in data.items()}
        dtypes = {name: one._dtype_name for name, one in data.items()}
        if what == "shape":
            dtypes |= {name: one.dtype for name, one in zip(names, graph.sources) if not isinstance(one, int)}
        try:
            inputs, _ = symbol._handle.infer(shapes, dtypes)
        except Exception as error:
            raise ValueError(
                f"Deferred initialization failed because {what} cannot be inferred. {error}"
            ) from error
        for source, (shape, dtype) in zip(graph.sources, inputs):
            if isinstance(source, int):
                continue
            if what == "type":
                source.dtype = dtype
            elif shape is not None and source.shape != shape:
                source.shape = tuple(-1 if e == -1 and is_np_shape() else max(e, 0) for e in shape)

    def _infer_attrs(self, infer_fn, attr, *args):
        """Completes the 'shape' or the 'type' of the parameters for inputs `args`."""
        self._infer(*self._graph_for(args), attr)

    # What MXNet's block has as fields and programs read: parts of the graph.

    @property
    def _cached_graph(self):
        """(variables of the inputs, outputs) as symbols, or () before the first call after hybridize()."""
        if self._graph is None:
            return ()
        symbol = _symbol_module()
        return [symbol.var(name) for name in self._graph.data_names], self._graph.outputs

    @property
    def _cached_op(self):
        return None if self._graph is None else self._graph.op

    @property
    def _in_format(self):
        """How the arguments are nested: 0 for an array, -1 for None, a list for a list."""
        return None if self._graph is None else self._graph.in_format

    @_in_format.setter
    def _in_format(self, value):
        if self._graph is not None:
            self._graph.in_format, self._graph.takes_one = value, value == [0]

    @property
    def _out_format(self):
        """How the outputs are nested."""
        return None if self._graph is None else self._graph.out_format

    @_out_format.setter
    def _out_format(self, value):
        if self._graph is not None:
            self._graph.out_format = value

    def _finish_deferred(self, *args):
        kept, self._graph = self._graph, None  # traced for this block alone: children have their own calls
        try:
            self.infer_shape(*args)
        finally:
            self._graph = kept
        for own in self._params.values():
            own._finish_deferred_init()

    # --- looking inside, files ---

    def explain(self, *args):
        """What runs for these inputs in the current mode (autograd.record or not), as text: the steps,
        which of them were fused, memory and estimated time. RuntimeError: the block is not hybridized.
        """
        if not self._active:
            raise RuntimeError(
                f"{self.name}: call hybridize() first; a block that is not hybridized has no plan"
            )
        return self._plan_text(args)

    def register_op_hook(self, callback, monitor_all=False):
        """As that of Block."""
        self._op_hooks.append((callback, monitor_all))
        super().register_op_hook(callback, monitor_all)

    def _call_op_hooks(self, graph, inputs):
        from .._watching import Watch

        watch = Watch(graph.outputs)
        by_name = dict(zip(graph.outputs.list_inputs(), inputs))
        changed = set(graph.outputs.list_auxiliary_states())
        values = [by_name[name].copy() if name in changed else by_name[name] for name in watch.inputs]
        for operator, reads, writes in watch.run(values):
            operator = operator.encode()
            for callback, monitor_all in self._op_hooks:
                for _, name, value in reads if monitor_all else ():
                    callback(name.encode(), operator, value)
                for name, value in writes:
                    callback(name.encode(), operator, value)

    def export(self, path, epoch=0, remove_amp_cast=True):
        """Writes `path-symbol.json` and `path-0000.params` (`epoch` with four digits), which
        SymbolBlock.imports, Module and MXNet read; the casts of mixed precision are left out on request.
        RuntimeError: not hybridized, or not called yet.
        """
        if self._graph is None:
            raise RuntimeError(
                "Please first call block.hybridize() and then run forward with this block at least "
                "once before "
                "calling export."
            )
        symbol = self._graph.outputs
        symbol.save(f"{path}-symbol.json", remove_amp_cast)
        auxiliary = set(symbol.list_auxiliary_states())
        arguments = set(symbol.list_arguments())
        saved = {}
        for name, param in self.collect_params().items():
            if name in auxiliary or name in arguments:
                saved[f"{'aux' if name in auxiliary else 'arg'}:{name}"] = param._reduce()
        arrays.save(f"{path}-{epoch:04d}.params", saved)

    def optimize_for(
        self,
        x,
        *args,
        backend=None,
        clear=False,
        static_alloc=False,
        static_shape=False,
        inline_limit=2,
        forward_bulk_size=None,
        backward_bulk_size=None,
        **kwargs,
    ):
        """Hybridizes the block and compiles it for these inputs in the current mode, without running it.

        `clear` traces it anew. `backend` and its options `kwargs` change nothing: there is one compiler. The
        other options are those of hybridize.
        """
        options = (static_alloc, static_shape, inline_limit, forward_bulk_size, backward_bulk_size)
        self.hybridize(True, backend, clear, *options, **kwargs)
        self._plan_text((x, *args))


def _check_options(static_alloc, static_shape, **sizes):
    for name, value in {"static_alloc": static_alloc, "static_shape": static_shape}.items():
        if value not in (True, False):
            raise MXNetError(f"hybridize: {name} expects a boolean, got {value!r}")
    for name, value in sizes.items():
        if value is not None and (not isinstance(value, int) or value < 0):
            raise MXNetError(f"hybridize: {name} expects a non-negative integer, got {value!r}")
    if static_shape and not static_alloc:
        raise MXNetError("hybridize: static_alloc must be True when static_shape is True")


def _compiled(forward):
    """`forward` of a class, which runs as a compiled graph when the block is hybridized."""

    @functools.wraps(forward)
    def call(self, *args):
        if self._active and _is_array(args[0] if args else None) and not args[0]._is_abstract:
            return self._run_graph(*args)
        return forward(self, *args)

    return call


def _fit(flat, given, wanted):
    """Arguments of another nesting as the graph wants them: Nones at the end may come and go."""
    if isinstance(given, list) and isinstance(wanted, list):
        if given[: len(wanted)] == wanted and all(one == -1 for one in given[len(wanted) :]):
            return flat[: len(flat) - (len(given) - len(wanted))]
        if wanted[: len(given)] == given and all(one == -1 for one in wanted[len(given) :]):
            return flat + [None] * (len(wanted) - len(given))
    raise ValueError(
        f"The argument structure of HybridBlock does not match the cached version. Stored format = {wanted}, "
        f"input format = {given}"
    )
