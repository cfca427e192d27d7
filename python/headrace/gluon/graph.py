"""Graph: what a hybridized block computes, traced once and run as one compiled operator.

It knows parameters and symbols, and no blocks.
"""

import functools
import warnings

from .. import _arrays as arrays
from .. import _core
from .._semantics import is_np_shape
from .._structure import flatten, regroup
from .._watching import Watch, WatchedRun
from ..base import ArrayValueError

__all__ = ["Graph", "as_one_symbol", "is_array", "symbols"]


def is_array(value):
    return isinstance(value, arrays.NDArray)


def symbols():
    """The module `symbol`, which is imported when it is first used."""
    from .. import symbol

    return symbol


def as_one_symbol(out):
    """(symbol, format) of a symbol or nested symbols; a symbol of several outputs counts as a list."""
    symbol = symbols()
    flat, out_format = flatten(out, lambda one: isinstance(one, symbol.Symbol))
    if not flat or any(one is None for one in flat):
        raise TypeError(
            f"a hybridized block must give arrays, alone or nested in lists and tuples; got {out!r}"
        )
    if len({one._is_np for one in flat}) > 1:
        raise TypeError(
            "a block gave both nd and np symbols; make all outputs of one kind with as_np_ndarray() or "
            "as_nd_ndarray()"
        )
    outputs = symbol.Group(flat) if len(flat) > 1 else flat[0]
    if out_format == 0 and len(outputs) > 1:
        out_format = [0] * len(outputs)
    return outputs, out_format


def _nested(out_format, outputs):
    """The list of outputs as hybrid_forward nested them."""
    return outputs[0] if out_format == 0 else regroup(iter(outputs), out_format)


def _value_of(parameter, ctx):
    """The array of a parameter on `ctx`."""
    single = parameter._single
    return parameter.data(ctx) if single is None else single


class Graph:
    """A traced computation: a symbol, and where each of its inputs comes from.

    `data_names` are the names of the arguments, flat, with None for those that were None; `parameters` has
    the others by name. `in_format` and `out_format` say how arguments and outputs are nested.
    """

    def __init__(self, outputs, out_format, in_format, data_names, parameters):
        self.outputs, self.in_format, self._out_format = outputs, in_format, out_format
        self.is_np = outputs._is_np
        self.data_names = [name for name in data_names if name is not None]
        self.op = _core.CachedOp(outputs._handle)
        places = {name: i for i, name in enumerate(data_names)}
        self.sources = []  # of each input of the op: a number (which argument) or a Parameter
        for name in outputs.list_inputs():
            if name not in places:
                assert name in parameters, f"Unknown input to HybridBlock: {name}"
            self.sources.append(places.get(name, parameters.get(name)))
        used = set(outputs.list_inputs())
        for name in self.data_names:
            if name not in used:
                warnings.warn(f"The {name} is not used by the computation. Is this intended?", stacklevel=5)
        unused = [name for name in parameters if name not in used]
        if unused:
            warnings.warn(
                f"Parameter {', '.join(unused)} is not used by any computation. Is this intended?",
                stacklevel=5,
            )
        self._prepare()

    def _prepare(self):
        """Makes what runs nearly every call: `quick`, which takes flat arguments only; else it is None."""
        self.quick = None
        if isinstance(self.in_format, list) and not any(self.in_format):
            nest = None if self._out_format == 0 else functools.partial(_nested, self._out_format)
            self.quick = _core.GraphCall(self.op, self.sources, len(self.in_format), self.is_np, nest)

    def set_in_format(self, in_format):
        self.in_format = in_format
        self._prepare()

    @property
    def out_format(self):
        return self._out_format

    @out_format.setter
    def out_format(self, value):
        self._out_format = value
        self._prepare()

    def __reduce_ex__(self, protocol):
        try:
            self.outputs.tojson()
        except RuntimeError:  # it holds an array: the block of the copy traces anew
            return type(None), ()
        return super().__reduce_ex__(protocol)

    def __getstate__(self):
        return {name: value for name, value in vars(self).items() if name not in ("op", "quick")}

    def __setstate__(self, state):
        vars(self).update(state)
        self.op = _core.CachedOp(self.outputs._handle)
        self._prepare()

    def fitted(self, flat, in_format):
        """Arguments of another nesting as the graph wants them: Nones at the end may come and go."""
        wanted = self.in_format
        if isinstance(in_format, list) and isinstance(wanted, list):
            if in_format[: len(wanted)] == wanted and all(one == -1 for one in in_format[len(wanted) :]):
                return flat[: len(flat) - (len(in_format) - len(wanted))]
            if wanted[: len(in_format)] == in_format and all(one == -1 for one in wanted[len(in_format) :]):
                return flat + [None] * (len(wanted) - len(in_format))
        raise ValueError(
            "The argument structure of HybridBlock does not match the cached version. Stored format = "
            f"{wanted}, input format = {in_format} (0: an array, -1: None). Give the arguments of the first "
            "call, or call hybridize() again in between"
        )

    def inputs(self, data, ctx):
        """The arrays to run on; DeferredInitializationError: a parameter has none yet."""
        return [
            data[source] if isinstance(source, int) else _value_of(source, ctx) for source in self.sources
        ]

    def run(self, inputs):
        """The outputs for arrays in the order of the symbol's inputs, nested as hybrid_forward gave them."""
        return _nested(self._out_format, self.op(inputs, self.is_np))

    def call_hooks(self, hooks, inputs):
        """Calls `hooks`, (callback, monitor_all) as register_op_hook takes them, for what run() reads and
        writes. The graph runs once more for it.
        """
        names, changed = self.outputs.list_inputs(), set(self.outputs.list_auxiliary_states())
        values = [array.copy() if name in changed else array for name, array in zip(names, inputs)]
        for operator, reads, writes in WatchedRun(Watch(self.outputs), values, is_train=_core.is_training()):
            operator = operator.encode()
            for callback, monitor_all in hooks:
                for _, name, value in reads if monitor_all else ():
                    callback(name.encode(), operator, value)
                for name, value in writes:
                    callback(name.encode(), operator, value)

    def infer(self, data, what):
        """Completes the 'shape' or sets the 'type' of the parameters for the arguments `data`, flat.

        ValueError: it does not follow from them. MXNetError: dtypes do not go together.
        """
        names = self.outputs.list_inputs()
        given = {name: data[source] for name, source in zip(names, self.sources) if isinstance(source, int)}
        shapes = {name: one.shape for name, one in given.items()}
        dtypes = {name: one._dtype_name for name, one in given.items()}
        if what == "shape":
            dtypes |= {name: one.dtype for name, one in zip(names, self.sources) if not isinstance(one, int)}
        try:
            inputs, _ = self.outputs._handle.infer(shapes, dtypes)
        except Exception as error:
            if what == "shape" and self._fit(shapes):
                raise error from None
            raise ArrayValueError(
                f"Deferred initialization failed because {what} cannot be inferred. {error}"
            ) from None
        for source, (shape, dtype) in zip(self.sources, inputs):
            if isinstance(source, int):
                continue
            if what == "type":
                source._dtype = dtype
            elif shape is not None and source.shape != shape:
                source.shape = tuple(-1 if e == -1 and is_np_shape() else max(e, 0) for e in shape)

    def _fit(self, shapes):
        """Whether the shapes of arguments, by name, go together, whatever the dtypes are."""
        try:
            self.outputs._handle.infer(shapes, {})
        except Exception:
            return False
        return True
