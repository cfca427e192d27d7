"""HybridBlock: a block whose computation can also be traced into a graph."""

import functools
import inspect
import warnings

from .. import _arrays as arrays
from .. import ndarray as nd
from .._semantics import is_np_array
from .._structure import flatten
from ..base import MXNetError
from .block import Block
from .cached_block import CachedBlock
from .graph import is_array, symbols
from .tracing import TracingError, forward_of_part

__all__ = ["HybridBlock"]

_block_call = Block.__call__  # programs that watch calls put another in its place


def _runs_graph(kind):
    """Whether calls of blocks of this class do nothing but run the graph, where there is one."""
    return kind.forward is kind._graph_forward and Block.__call__ is _block_call


def _type_name(value):
    kind = type(value)
    return kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"


def _is_value(one):
    return is_array(one) or isinstance(one, symbols().Symbol)


def _values_of(args):
    """The arrays and symbols of arguments, which may lie in lists."""
    flat, _ = flatten(args, lambda one: not isinstance(one, (list, tuple)))
    return [one for one in flat if _is_value(one)]


def _refuse_mixture(args):
    """ValueError: there are arrays as well as symbols."""
    if len({is_array(one) for one in _values_of(args)}) > 1:
        raise ValueError("In HybridBlock, we do not support mixed NDArrays and Symbols types for the input.")


class HybridBlock(CachedBlock):
    """A block that defines `hybrid_forward(self, F, x, ..., **parameters)`.

    `F` is the namespace to call operators of: `nd` on arrays, `sym` on symbols; `F.np` and `F.npx` in np
    mode. The block's own parameters arrive as keyword arguments under their attribute names, as arrays
    or symbols. After `hybridize()` the first call traces hybrid_forward with symbols; from then on calls
    run a compiled graph. All children must be HybridBlocks.

    A block may define `forward` on arrays instead. That runs as it is written, hybridized or not, and what it
    calls is compiled; `hybridize(trace=True)` compiles it as a whole.

    Examples
    --------
    >>> class Residual(gluon.HybridBlock):
    ...     def __init__(self, units, **kwargs):
    ...         super().__init__(**kwargs)
    ...         with self.name_scope():
    ...             self.dense = nn.Dense(units)
    ...     def hybrid_forward(self, F, x):
    ...         return F.relu(self.dense(x)) + x
    >>> net = Residual(2)
    >>> net.initialize(init.One())
    >>> net.hybridize()
    >>> net(nd.array([[1, 2]]))
    [[4. 5.]]
    <NDArray 1x2 @cpu(0)>
    """

    # --- structure ---

    _defines_forward = False
    _traces = False  # whether `forward`, where the class defines it, is compiled

    @property
    def _compiles(self):
        return self._active and (self._traces or not self._defines_forward)

    @property
    def _hybridize_call(self):
        return "hybridize(trace=True)" if self._defines_forward else "hybridize()"

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        if "forward" in vars(cls) and inspect.unwrap(cls.hybrid_forward) is HybridBlock.hybrid_forward:
            cls._defines_forward = True
            cls.forward = cls._graph_forward = _compiled(cls.forward)

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
        *,
        trace=False,
        **kwargs,
    ):
        """Traces the computation at the next call and runs it as a compiled graph; False goes back.

        With `trace`, `forward` is traced where a block defines that instead of hybrid_forward, and can then
        be exported: its code runs once, on arrays of the first call's shapes without values, and what it
        read then, of shapes, attributes and random numbers of Python, is part of the graph. One that cannot
        be compiled, as it looks at values, runs as it is written, with a warning.

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
        self._active, self._traces = active, trace
        self._flags = [
            ("static_alloc", static_alloc),
            ("static_shape", static_shape),
            ("inline_limit", inline_limit),
        ]
        bulks = (("forward_bulk_size", forward_bulk_size), ("backward_bulk_size", backward_bulk_size))
        self._flags += [bulk for bulk in bulks if bulk[1] is not None]
        if clear:
            self._clear_cached_op()
        self._warn_of_hooks()
        for child in self._children.values():
            child.hybridize(
                active,
                static_alloc=static_alloc,
                static_shape=static_shape,
                inline_limit=inline_limit,
                forward_bulk_size=forward_bulk_size,
                backward_bulk_size=backward_bulk_size,
                **({} if clear else {"clear": False}),
                **({"trace": True} if trace else {}),
            )

    def _warn_of_hooks(self):
        if self._forward_hooks or self._forward_pre_hooks:
            warnings.warn(
                f"{self} is being hybridized while still having forward hook/pre-hook. If it is a child of "
                "HybridBlock, the hooks will not take effect.",
                stacklevel=3,
            )

    def cast(self, dtype):
        """Converts all parameters and gradients to `dtype`."""
        self._clear_cached_op()
        super().cast(dtype)

    # --- running ---

    def __call__(self, *args):
        graph = self._traced_graph
        if (
            graph is None
            or graph.quick is None
            or not self._active
            or (self._defines_forward and not self._traces)  # `_compiles`, without a call
            or self._forward_hooks
            or self._forward_pre_hooks
            or self._op_hooks
            or (not graph.is_np and is_np_array())
        ):
            return super().__call__(*args)
        try:
            out = graph.quick.call_block(self, args, _runs_graph)
        except Exception:
            self._check_inputs(args)
            raise
        return super().__call__(*args) if out is None else out

    def forward(self, x, *args):
        """Calls hybrid_forward with arrays or symbols, or runs the compiled graph."""
        if isinstance(x, arrays.NDArray):
            if self._active and not x._is_abstract:
                return self._run_graph_or_blocks(x, *args)
            params = {}
            for name, param in self._reg_params.items():
                single = param._single
                params[name] = self._own(param, x.ctx, (x, *args)) if single is None else single
            try:
                return self.hybrid_forward(nd, x, *args, **params)
            except (TypeError, MXNetError):
                _refuse_mixture((x, *args))
                raise
        if not isinstance(x, symbols().Symbol):
            return self._forward_of_nested(x, *args)
        _refuse_mixture((x, *args))
        return self._forward_symbols(x, *args)

    _graph_forward = forward  # the one that does nothing but run the graph, once there is one

    def _run_graph_or_blocks(self, *args):
        """Runs the graph; where a part of it cannot be compiled, the block as it is written, for good."""
        try:
            return self._run_traced_graph(*args)
        except TracingError as refusal:
            self._active = False
            warnings.warn(
                f"{refusal}. {self.name} runs as it is written, its other parts compiled.", stacklevel=4
            )
        return self.forward(*args)

    def _forward_symbols(self, *args):
        params = {name: param.var() for name, param in self._reg_params.items()}
        with self.name_scope():
            return self.hybrid_forward(symbols(), *args, **params)

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
        values = _values_of(args)
        if not values:
            self._refuse_inputs(args)
        _refuse_mixture(args)
        if is_array(values[0]):
            if self._active:
                return self._run_graph_or_blocks(*args)
            ctx = values[0].ctx
            params = {name: self._own(param, ctx, args) for name, param in self._reg_params.items()}
            return self.hybrid_forward(nd, *args, **params)
        return self._forward_symbols(*args)

    def _check_inputs(self, args):
        if type(self).forward is not HybridBlock.forward:  # which takes what it likes
            return
        flat, _ = flatten(args, lambda one: not isinstance(one, (list, tuple)))
        if args and not any(map(_is_value, flat)):
            self._refuse_inputs(args)

    def _refuse_inputs(self, args):
        raise ValueError(
            f"{type(self).__name__} {self.name}: expected an array as first input, got "
            f"{', '.join(map(_type_name, args))}; there must be one NDArray or one Symbol in the input. "
            "Convert it with mx.nd.array(x), or with mx.np.array(x) in np mode."
        )

    # --- shapes ---

    def infer_shape(self, *args):
        """Completes the shapes of the parameters for inputs `args`.

        ValueError: the shapes do not follow from these inputs.
        """
        self._infer_attrs("infer_shape", "shape", *args)

    def infer_type(self, *args):
        """Sets the dtypes of the parameters for inputs `args`."""
        self._infer_attrs("infer_type", "type", *args)

    def _infer_attrs(self, infer_fn, attr, *args):
        """Completes the 'shape' or the 'type' of the parameters for inputs `args`."""
        graph, flat = self._graph_for(args)
        graph.infer(flat, attr)

    def _finish_deferred(self, *args):
        kept, self._traced_graph = (
            self._traced_graph,
            None,
        )  # traced for this block alone: children have their own calls
        try:
            self.infer_shape(*args)
        finally:
            self._traced_graph = kept
        for own in self._params.values():
            own._finish_deferred_init()

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
        self.hybridize(True, backend, clear, *options, trace=True, **kwargs)
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
    """`forward` of a class, which runs as a compiled graph when `hybridize(trace=True)` asked for that.

    One that cannot be compiled, as it looks at values, runs as it is written, with a warning; what it calls
    is still compiled.
    """

    @functools.wraps(forward)
    def call(self, *args):
        if not is_array(args[0] if args else None):
            return forward_of_part(forward, self, args)
        if not self._compiles or args[0]._is_abstract:
            return forward(self, *args)
        try:
            return self._run_traced_graph(*args)
        except TracingError as refusal:
            out = forward(self, *args)
            self._active = False
            warnings.warn(f"{refusal}. It runs as it is written.", stacklevel=3)
            return out

    return call
