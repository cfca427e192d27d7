"""Tracing blocks into graphs: `hybrid_forward` is called with symbols; where a block defines `forward` on
arrays instead, that runs once on arrays without values.
"""

import contextlib
import json

from .. import _core, autograd
from .._semantics import is_np_array, is_np_shape
from .._structure import flatten, regroup
from .._thread_flag import ThreadFlag
from ..base import MXNetError
from .graph import Graph, as_one_symbol, is_array, symbols

__all__ = ["TracingError", "forward_of_part", "trace"]


class TracingError(MXNetError):
    """A block's `forward` on arrays cannot be made a graph of."""


def trace(block, flat, in_format):
    """The Graph of a HybridBlock for the arguments `flat`, nested as `in_format` says.

    A block that defines `forward` gets its parameters initialized first, where they are deferred.
    """
    count = sum(one is not None for one in flat)
    fresh = iter(["data"] if count == 1 else [f"data{i}" for i in range(count)])
    names = [None if one is None else next(fresh) for one in flat]
    traced = _trace_forward if block._defines_forward else _trace_hybrid_forward
    outputs, out_format = traced(block, flat, in_format, names)
    return Graph(outputs, out_format, in_format, names, dict(block.collect_params().items()))


def _trace_hybrid_forward(block, flat, in_format, names):
    """(symbol, format of the output) of `block.hybrid_forward`."""
    variables = [None if name is None else _variable(name, one) for name, one in zip(names, flat)]
    with _composing.raised():
        out = block._forward_symbols(*regroup(iter(variables), in_format))
    return as_one_symbol(out)


_composing = ThreadFlag()  # blocks are called with symbols to make a graph of one that contains them


def forward_of_part(forward, block, args):
    """What `forward`, which the block's class defines for arrays, gives for symbols of a block around it.

    TracingError: it cannot do without arrays; the block that contains it cannot be compiled then.
    """
    try:
        with autograd.functions_need_arrays.raised():
            return forward(block, *args)
    except TracingError:
        raise
    except Exception as error:
        if not _composing.is_set:
            raise
        raise TracingError(
            f"{block.name}: forward, which the class defines for arrays, cannot be made a part of a graph: "
            f"{error}"
        ) from error


def _variable(name, array):
    """The symbol that stands for an array: of np where the array is."""
    variable = symbols().var(name)
    return variable.as_np_ndarray() if array._is_np else variable.as_nd_ndarray()


def _trace_forward(block, flat, in_format, names):
    """(symbol, format of the output) of `block.forward`, whose tuples stay tuples.

    TracingError: forward reads values, writes in place, gives something that does not depend on its inputs,
    or computes something else while training.
    """
    args = regroup(iter(flat), in_format)
    if any(param._deferred_init for param in block.collect_params().values()):
        block._active = False
        try:
            block.forward(*args)  # completes the shapes of the parameters
        finally:
            block._active = True
    unknown = -1 if is_np_shape() else 0
    parameters = block.collect_params().values()
    known = [one for one in parameters if unknown not in (one.shape or (unknown,))]  # others are not used
    other_mode = autograd.predict_mode() if autograd.is_training() else autograd.train_mode()
    with _traced(known):
        with other_mode:
            other, _ = _run_forward(block, flat, in_format, names)
        outputs, out_format = _run_forward(block, flat, in_format, names)
    if _operators_of(other) != _operators_of(outputs):
        raise TracingError(
            f"{block.name}: forward cannot be compiled: it computes something else each time, or while "
            "training (autograd.is_training())"
        )
    return outputs, out_format


def _run_forward(block, flat, in_format, names):
    """(symbol, format of the output) of what `block.forward` computes of arrays without values."""
    from ..symbol.calls import wrap

    stand_ins = [
        one if one is None else _core.trace_variable(name, one.shape, one._dtype_name, {}, one._is_np)
        for name, one in zip(names, flat)
    ]
    try:
        out = block.forward(*regroup(iter(stand_ins), in_format))
        flat_out, out_format = flatten(out, is_array, keeps_tuples=True)
        handle = _core.SymbolHandle.from_arrays(flat_out)
    except (MXNetError, ValueError) as error:
        raise TracingError(f"{block.name}: forward cannot be compiled: {error}") from error
    return wrap(handle, flat_out[0]._is_np), out_format


def _operators_of(outputs):
    """What a graph computes, whatever its operators are named; None where it holds an array's values."""
    try:
        graph = json.loads(outputs.tojson())
    except RuntimeError:
        return None
    nodes = [
        (node["op"], node.get("attrs"), node["inputs"], node["op"] == "null" and node["name"])
        for node in graph["nodes"]
    ]
    return nodes, graph["heads"]


@contextlib.contextmanager
def _traced(parameters):
    """Meanwhile, the parameters' `data()` gives arrays that stand for them in the graph."""
    kept = []
    try:
        with _core.tracing():
            for parameter in parameters:
                kept.append((parameter, parameter._replicas, parameter._single))
                attributes = parameter.var().list_attr()
                stand_in = _core.trace_variable(
                    parameter.name, parameter.shape, parameter.dtype, attributes, is_np_array()
                )
                parameter._replicas, parameter._single = [stand_in] * len(parameter._ctx_list), stand_in
            yield
    finally:
        for parameter, replicas, single in kept:
            parameter._replicas, parameter._single = replicas, single
